/// Reads the members of one request and collects all violations, because AWS reports them together.
struct CognitoInput {
  private let body: JSON
  /// The error code under which a service reports violations.
  private let violationCode: String
  private var violations: [String] = []
  private var known: Set<String> = []

  init(
    _ bytes: [UInt8], violationCode: String = "ValidationException"
  ) throws(ServiceError) {
    self.violationCode = violationCode
    guard let body = JSON(parsing: bytes.isEmpty ? Array("{}".utf8) : bytes), body.members != nil
    else { throw ServiceError("SerializationException", "Unexpected end or form of the JSON body") }
    self.body = body
  }

  /// Throws the collected violations.
  func check() throws(ServiceError) {
    guard !violations.isEmpty else { return }
    throw ServiceError(violationCode, CognitoInput.summary(of: violations))
  }

  /// Checks like `check`, and refuses members that were not read.
  func finish() throws(ServiceError) {
    try check()
    guard let unknown = body.members?.keys.filter({ !known.contains($0) }).min() else { return }
    throw ServiceError(violationCode, "The operation has no member \(unknown).")
  }

  /// A member of any type.
  mutating func value(_ name: String) -> JSON? {
    known.insert(name)
    return body[name]
  }

  /// Reports a violation in a part of a member.
  mutating func report(_ violation: String) { violations.append(violation) }

  /// A required text. If it is absent, it is empty here, and `check` reports it.
  mutating func text(_ name: String, _ rule: InputRule) throws(ServiceError) -> String {
    if let text = try optionalText(name, rule) { return text }
    reportMissing(name)
    return ""
  }

  mutating func optionalText(_ name: String, _ rule: InputRule) throws(ServiceError) -> String? {
    guard let value = value(name) else { return nil }
    guard let text = value.text else { throw CognitoInput.wrongType(name, "a string") }
    if let violation = rule.violation(of: text, at: member(name)) { violations.append(violation) }
    return text
  }

  mutating func optionalInteger(
    _ name: String, in range: ClosedRange<Int>
  ) throws(ServiceError) -> Int? {
    guard let value = value(name) else { return nil }
    guard let number = value.integer else { throw CognitoInput.wrongType(name, "an integer") }
    let start = "Value '\(number)' at '\(member(name))' failed to satisfy constraint: Member must "
    if number > range.upperBound {
      violations.append(start + "have value less than or equal to \(range.upperBound)")
    } else if number < range.lowerBound {
      violations.append(start + "have value greater than or equal to \(range.lowerBound)")
    }
    return number
  }

  /// A map of texts: Logins, PrincipalTags. Empty if it is absent.
  mutating func map(
    _ name: String, keys: InputRule, values: InputRule, limit: Int, required: Bool = false
  ) throws(ServiceError) -> [String: String] {
    guard let value = value(name) else {
      if required { reportMissing(name) }
      return [:]
    }
    guard let members = value.members else { throw CognitoInput.wrongType(name, "a map") }
    if members.count > limit {
      violations.append(
        "Value at '\(member(name))' failed to satisfy constraint: "
          + "Member must have length less than or equal to \(limit)")
    }
    var map: [String: String] = [:]
    for (key, value) in members.sorted(by: { $0.key < $1.key }) {
      guard let text = value.text else { throw CognitoInput.wrongType(name, "a map of strings") }
      let place = member(name)
      if let violation = keys.violation(of: key, at: place) { violations.append(violation) }
      if let violation = values.violation(of: text, at: place + "." + key + ".member") {
        violations.append(violation)
      }
      map[key] = text
    }
    return map
  }

  mutating func logins(required: Bool = false) throws(ServiceError) -> [String: String] {
    try map("Logins", keys: .providerName, values: .token, limit: 10, required: required)
  }

  mutating func texts(_ name: String, _ rule: InputRule) throws(ServiceError) -> [String] {
    guard let value = value(name) else {
      reportMissing(name)
      return []
    }
    guard let elements = value.elements else { throw CognitoInput.wrongType(name, "a list") }
    var texts: [String] = []
    for element in elements {
      guard let text = element.text else { throw CognitoInput.wrongType(name, "a list of strings") }
      if let violation = rule.violation(of: text, at: member(name)) { violations.append(violation) }
      texts.append(text)
    }
    return texts
  }

  /// `2 validation errors detected: …; …`, as AWS puts it.
  static func summary(of violations: [String]) -> String {
    let plural = violations.count == 1 ? "" : "s"
    return "\(violations.count) validation error\(plural) detected: "
      + violations.joined(separator: "; ")
  }

  mutating func reportMissing(_ name: String) {
    violations.append(
      "Value null at '\(member(name))' failed to satisfy constraint: Member must not be null")
  }

  /// AWS prints member names with a small first letter.
  func member(_ name: String) -> String {
    name.prefix(1).lowercased() + name.dropFirst()
  }

  static func wrongType(_ name: String, _ expected: String) -> ServiceError {
    ServiceError("SerializationException", "\(name) must be \(expected)")
  }
}

/// The constraints of one member in the service model of Cognito Identity (2014-06-30).
struct InputRule: Sendable {
  let length: ClosedRange<Int>
  /// The pattern in the form that AWS prints.
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

  /// AWS's message about a value that breaks the rule; nil for a valid value.
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
