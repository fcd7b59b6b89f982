/// Members of requests to a user pool that are not plain texts.
extension CognitoInput {
  init(userPool bytes: [UInt8]) throws(ServiceError) {
    try self.init(bytes, violationCode: "InvalidParameterException")
  }

  mutating func optionalBool(_ name: String) throws(ServiceError) -> Bool? {
    guard let value = value(name) else { return nil }
    guard let bool = value.bool else { throw CognitoInput.wrongType(name, "true or false") }
    return bool
  }

  /// A list of `{"Name", "Value"}`; nil if it is absent.
  mutating func attributes(_ name: String) throws(ServiceError) -> [(name: String, value: String)]?
  {
    guard let value = value(name) else { return nil }
    guard let elements = value.elements else { throw CognitoInput.wrongType(name, "a list") }
    var attributes: [(name: String, value: String)] = []
    for element in elements {
      guard let attribute = element["Name"]?.text,
        Set(element.members?.keys ?? [:].keys).isSubset(of: ["Name", "Value"])
      else { throw CognitoInput.wrongType(name, "a list of Name and Value") }
      guard element["Value"] == nil || element["Value"]?.text != nil else {
        throw CognitoInput.wrongType(name, "a list of strings")
      }
      let text = element["Value"]?.text ?? ""
      let place = member(name) + ".member"
      for violation in [
        InputRule.attributeName.violation(of: attribute, at: place + ".name"),
        InputRule.attributeValue.violation(of: text, at: place + ".value"),
      ] {
        if let violation { report(violation) }
      }
      attributes.append((attribute, text))
    }
    return attributes
  }

  /// A map of strings; empty if it is absent.
  mutating func parameters(_ name: String) throws(ServiceError) -> [String: String] {
    try map(name, keys: .anyText, values: .anySecret, limit: .max)
  }

  /// A structure of true and false, such as `{"Enabled": true}`; nil if it is absent.
  mutating func switches(
    _ name: String, _ members: Set<String>
  ) throws(ServiceError) -> [String: Bool]? {
    guard let value = value(name) else { return nil }
    var switches: [String: Bool] = [:]
    for (key, value) in value.members ?? ["": .null] {
      guard members.contains(key), let bool = value.bool else {
        throw CognitoInput.wrongType(
          name, "an object of " + members.sorted().joined(separator: ", "))
      }
      switches[key] = bool
    }
    return switches
  }

  /// Takes members that every SDK may add and that no operation here needs: metrics, fingerprints,
  /// and the strings for triggers.
  mutating func takeCommonMembers() throws(ServiceError) {
    _ = try parameters("AnalyticsMetadata")
    _ = try parameters("UserContextData")
    _ = try parameters("ClientMetadata")
  }
}

/// The constraints of the service model of Cognito user pools (2016-04-18).
extension InputRule {
  static let anyText = InputRule(0...131_072)
  static let anySecret = InputRule(0...131_072, isSensitive: true)
  static let clientID = InputRule(1...128, pattern: #"[\w+]+"#, isSensitive: true, matches: isKey)
  static let clientSecret = InputRule(
    24...64, pattern: #"[\w+]+"#, isSensitive: true, matches: isKey)
  static let secretHash = InputRule(1...128, pattern: #"[\w+=/]+"#, isSensitive: true) {
    $0.utf8.allSatisfy { isWord($0) || "+=/".utf8.contains($0) }
  }
  static let poolUser = InputRule(
    1...128, pattern: #"[\p{L}\p{M}\p{S}\p{N}\p{P}]+"#, isSensitive: true
  ) { $0.unicodeScalars.allSatisfy(isVisible) }
  static let password = InputRule(1...256, pattern: #"[\S]+"#, isSensitive: true, matches: isSolid)
  static let attributeName = InputRule(
    1...32, pattern: #"[\p{L}\p{M}\p{S}\p{N}\p{P}]+"#
  ) { $0.unicodeScalars.allSatisfy(isVisible) }
  static let attributeValue = InputRule(0...2048, isSensitive: true)
  static let confirmationCode = InputRule(
    1...2048, pattern: #"[\S]+"#, isSensitive: true, matches: isSolid)
  static let session = InputRule(20...4096, isSensitive: true)
  static let sessionID = InputRule(28...28, pattern: "^(tkn|sso)[a-z0-9]{25}$") {
    ($0.hasPrefix("tkn") || $0.hasPrefix("sso"))
      && $0.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789".utf8.contains($0) }
  }
  static let poolPage = InputRule(1...131_072, pattern: #"[\S]+"#, matches: isSolid)
  static let poolToken = InputRule(
    1...131_072, pattern: #"[A-Za-z0-9-_=.]+"#, isSensitive: true
  ) { $0.utf8.allSatisfy { isWord($0) || "-=.".utf8.contains($0) } }
  static let deviceKey = InputRule(1...55, pattern: #"[\w-]+_[0-9a-f-]+"#) { text in
    let region = text.utf8.prefix { $0 != UInt8(ascii: "_") }
    let rest = text.utf8.dropFirst(region.count + 1)
    return !region.isEmpty && !rest.isEmpty
      && region.allSatisfy { isWord($0) || $0 == UInt8(ascii: "-") }
      && rest.allSatisfy { "0123456789abcdef-".utf8.contains($0) }
  }
  static let deviceName = InputRule(1...1024)
  static let userCode = InputRule(6...6, pattern: "[0-9]+", isSensitive: true) {
    $0.utf8.allSatisfy { "0123456789".utf8.contains($0) }
  }

  private static let isKey: @Sendable (String) -> Bool = { text in
    text.utf8.allSatisfy { isWord($0) || $0 == UInt8(ascii: "+") }
  }

  private static let isSolid: @Sendable (String) -> Bool = { text in
    !text.unicodeScalars.contains(where: \.properties.isWhitespace)
  }

  /// Letters, marks, symbols, numbers and punctuation.
  private static let isVisible: @Sendable (Unicode.Scalar) -> Bool = { scalar in
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .spaceSeparator, .lineSeparator,
      .paragraphSeparator:
      false
    default: true
    }
  }
}
