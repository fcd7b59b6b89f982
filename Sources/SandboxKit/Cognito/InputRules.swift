/// The constraints of one member in the service model of Cognito Identity (2014-06-30).
struct InputRule: Sendable {
  let length: ClosedRange<Int>
  /// The pattern as AWS prints it.
  let pattern: String?
  let matches: @Sendable (String) -> Bool
  /// Sensitive members are not repeated in the error text.
  let isSensitive: Bool

  init(
    _ length: ClosedRange<Int>, pattern: String? = nil, isSensitive: Bool = false,
    matches: @escaping @Sendable (String) -> Bool = { _ in true }
  ) {
    self.length = length
    self.pattern = pattern
    self.isSensitive = isSensitive
    self.matches = matches
  }

  /// IdentityId and IdentityPoolId.
  static let id = InputRule(1...55, pattern: #"[\w-]+:[0-9a-f-]+"#) { text in
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    return parts.count == 2 && !parts[0].isEmpty && !parts[1].isEmpty
      && parts[0].utf8.allSatisfy { isWord($0) || $0 == UInt8(ascii: "-") }
      && parts[1].utf8.allSatisfy {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
          || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) || $0 == UInt8(ascii: "-")
      }
  }

  static let accountID = InputRule(1...15, pattern: #"\d+"#) {
    $0.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  static let developerProvider = InputRule(1...128, pattern: #"[\w._-]+"#) {
    $0.utf8.allSatisfy { isWord($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
  }

  static let developerUser = InputRule(1...1024)
  static let arn = InputRule(20...2048)
  static let providerName = InputRule(1...128)
  static let token = InputRule(1...50_000, isSensitive: true)
  static let tagName = InputRule(1...128)
  static let tagValue = InputRule(1...256)
  static let pageToken = InputRule(1...65_535, pattern: #"[\S]+"#) {
    !$0.contains(where: \.isWhitespace)
  }

  /// What AWS says about a value that breaks the rule; nil for one that keeps it.
  func violation(of value: String, at member: String) -> String? {
    let count = value.unicodeScalars.count
    let shown = isSensitive ? "Value at" : "Value '\(value)' at"
    let start = "\(shown) '\(member)' failed to satisfy constraint: "
    if count > length.upperBound {
      return start + "Member must have length less than or equal to \(length.upperBound)"
    }
    if count < length.lowerBound {
      return start + "Member must have length greater than or equal to \(length.lowerBound)"
    }
    if let pattern, !matches(value) {
      return start + "Member must satisfy regular expression pattern: \(pattern)"
    }
    return nil
  }

  /// `\w` of a regular expression over ASCII.
  static func isWord(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
      || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
  }
}
