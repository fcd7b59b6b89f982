/// Checks a password's length, and whether it is the user's name or one of the most common
/// passwords. Nothing else: rules about kinds of characters make passwords weaker (NIST SP 800-63B
/// §5.1.1).
public enum PasswordRules {
  /// The same text for every keyboard on which it was typed: composed letters (NFC).
  public static func normal(_ password: String) -> String {
    password.composed
  }

  /// What is wrong with a password; nil for a good one.
  public static func fault(of password: String, username: String) -> String? {
    let count = password.unicodeScalars.count
    if count < Limits.shortestPassword {
      return "the password has less than \(Limits.shortestPassword) characters"
    }
    if count > Limits.longestPassword {
      return "the password has more than \(Limits.longestPassword) characters"
    }
    if Identifier.fold(password) == Identifier.fold(username) {
      return "the password is the user name"
    }
    if isCommon(password) { return "the password is one of the most common ones" }
    return nil
  }

  /// Even with digits or marks behind the word, because people make a refused password longer in
  /// this way.
  static func isCommon(_ password: String) -> Bool {
    let folded = Identifier.fold(password)
    if common.contains(folded) || isRun(folded) { return true }
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
