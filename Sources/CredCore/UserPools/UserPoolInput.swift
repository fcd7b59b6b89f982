/// Checks of what a request carries, before it is sent. They are those that any pool makes; the
/// rules of one pool are its own to judge.
enum UserPoolInput {
  /// Sent as it is, never trimmed.
  static func password(_ password: Secret) throws(InvalidInput) -> Secret {
    try text(password, "password", 1...Limits.UserPool.passwordLength)
  }

  /// Without the blanks that people type or paste between its digits.
  static func code(_ code: Secret) throws(InvalidInput) -> Secret {
    let plain = Secret(code.bytes.filter { !$0.isWhiteSpace })
    guard (1...Limits.UserPool.codeLength).contains(UTF8Sequence.codePoints(plain.bytes)) else {
      throw InvalidInput(
        field: "code", reason: "is empty or over \(Limits.UserPool.codeLength) characters")
    }
    return plain
  }

  static func attribute(_ attribute: SignUp.Attribute) throws(InvalidInput) -> SignUp.Attribute {
    _ = try attributeName(attribute.name)
    guard UTF8Sequence.codePoints(attribute.value.bytes) <= Limits.UserPool.attributeLength else {
      throw InvalidInput(
        field: "attribute \(attribute.name.quoted)",
        reason: "is over \(Limits.UserPool.attributeLength) characters")
    }
    return attribute
  }

  /// The prefix of a pool's own attributes does not count.
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
