/// Checks the content of a request before it is sent. Every pool makes these checks. credd does not
/// check the rules of a single pool.
enum UserPoolInput {
  /// A user name as typed, or as the pool gave it. It is never changed.
  static func username(_ name: String) throws(InvalidInput) -> String {
    guard isName(name, upTo: Limits.UserPool.usernameLength) else {
      throw InvalidInput(
        field: "username",
        reason: "is not 1 to \(Limits.UserPool.usernameLength) characters without controls")
    }
    return name
  }

  /// Whether the text can be a user's name at a backend.
  static func isName(_ text: String, upTo most: Int) -> Bool {
    (1...most).contains(text.unicodeScalars.count)
      && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }

  /// Whether the text can be an app client's id.
  static func isClientID(_ text: String) -> Bool {
    (1...Limits.UserPool.clientIDLength).contains(text.utf8.count)
      && text.containsOnlyLettersDigits(or: "_+")
  }

  /// The form of an app client's id, for messages.
  static let clientIDForm = "1 to \(Limits.UserPool.clientIDLength) letters, digits, '_' or '+'"

  /// A password. It is sent unchanged, never trimmed.
  static func password(_ password: Secret) throws(InvalidInput) -> Secret {
    try text(password, "password", 1...Limits.UserPool.passwordLength)
  }

  /// A code, without the blanks that people type or paste between its digits.
  static func code(_ code: Secret) throws(InvalidInput) -> Secret {
    let plain = Secret(code.bytes.filter { !$0.isWhiteSpace })
    guard (1...Limits.UserPool.codeLength).contains(UTF8Sequence.codePoints(plain.bytes)) else {
      throw InvalidInput(
        field: "code", reason: "is empty or over \(Limits.UserPool.codeLength) characters")
    }
    return plain
  }

  /// The forms of a code that messages must hide: as typed, and as sent.
  static func forms(of code: Secret) -> [Secret] {
    let sent = try? Self.code(code)
    return [code] + (sent.map { $0 == code ? [] : [$0] } ?? [])
  }

  static func attribute(_ attribute: NamedSecret) throws(InvalidInput) -> NamedSecret {
    _ = try attributeName(attribute.name)
    guard UTF8Sequence.codePoints(attribute.value.bytes) <= Limits.UserPool.attributeLength else {
      throw InvalidInput(
        field: "attribute \(attribute.name.quoted)",
        reason: "is over \(Limits.UserPool.attributeLength) characters")
    }
    return attribute
  }

  /// The name of an attribute. The prefix of a pool's own attributes does not count for its length.
  static func attributeName(_ name: String) throws(InvalidInput) -> String {
    let prefix = "custom:"
    let own = name.hasPrefix(prefix) ? name.dropFirst(prefix.count) : name[...]
    guard (1...Limits.UserPool.attributeNameLength).contains(own.unicodeScalars.count),
      own.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
    else {
      throw InvalidInput(
        field: "the name of attribute \(name.quoted)",
        reason: "is empty or over \(Limits.UserPool.attributeNameLength) characters")
    }
    return name
  }

  static func text(
    _ text: Secret, _ name: String, _ lengths: ClosedRange<Int>
  ) throws(InvalidInput) -> Secret {
    guard lengths.contains(UTF8Sequence.codePoints(text.bytes)) else {
      throw InvalidInput(
        field: name, reason: "is not \(lengths.lowerBound) to \(lengths.upperBound) characters long"
      )
    }
    return text
  }
}
