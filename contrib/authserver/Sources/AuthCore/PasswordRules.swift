import CredCore

/// Checks a password's length, and whether it is the user's name or one of the most common
/// passwords. Nothing else: rules about kinds of characters make passwords weaker (NIST SP 800-63B
/// §5.1.1).
public struct PasswordRules: Sendable {
  /// What is wrong with a list of common passwords.
  public struct BadLine: Error, Equatable {
    /// From 1.
    public let line: Int
    public let reason: String
  }

  /// Folded.
  private let common: Set<String>

  /// - Parameter list: common passwords, one a line, in any case. Blanks at the ends of a line and
  ///   empty lines do not count.
  public init(list: [UInt8]) throws(BadLine) {
    var words: Set<String> = []
    let lines = list.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      guard let word = String(validating: line.trimmed, as: UTF8.self) else {
        throw BadLine(line: index + 1, reason: "the password is not UTF-8")
      }
      if word.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
        throw BadLine(line: index + 1, reason: "the password holds a control character")
      }
      if word.unicodeScalars.count > Limits.longestPassword {
        throw BadLine(line: index + 1, reason: Self.tooLong)
      }
      if !word.isEmpty { words.insert(Identifier.fold(word)) }
    }
    guard !words.isEmpty else { throw BadLine(line: 1, reason: "there is no password") }
    common = words
  }

  private static let tooLong = "the password has more than \(Limits.longestPassword) characters"

  /// The same text for every keyboard on which it was typed: composed letters (NFC).
  public static func normal(_ password: String) -> String {
    password.composed
  }

  /// What is wrong with a password; nil for a good one.
  public func fault(of password: String, username: String) -> String? {
    let count = password.unicodeScalars.count
    if count < Limits.shortestPassword {
      return "the password has less than \(Limits.shortestPassword) characters"
    }
    if count > Limits.longestPassword { return Self.tooLong }
    if Identifier.fold(password) == Identifier.fold(username) {
      return "the password is the user name"
    }
    if isCommon(password) { return "the password is one of the most common ones" }
    return nil
  }

  /// Even with digits or marks behind the word, because people make a refused password longer in
  /// this way.
  private func isCommon(_ password: String) -> Bool {
    let folded = Identifier.fold(password)
    if common.contains(folded) || Self.isRun(folded) { return true }
    let stem = String(folded.reversed().drop { !$0.isLetter }.reversed())
    return stem.count >= 5 && common.contains(stem) && folded.count - stem.count <= 6
  }

  /// The same character again and again, or characters in order: 11111111, 12345678, abcdefgh.
  private static func isRun(_ text: String) -> Bool {
    let values = text.unicodeScalars.map { Int($0.value) }
    let steps = Set(zip(values, values.dropFirst()).map { $1 - $0 })
    return steps.count == 1 && (steps.first.map { abs($0) <= 1 } ?? false)
  }
}
