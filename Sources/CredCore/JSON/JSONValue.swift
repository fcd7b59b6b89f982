/// A JSON text as a value (RFC 8259), the one representation credd reads lines and replies into.
///
/// credd has a reader of its own because the line protocol needs the position of every key, exact
/// limits, and strings that stay secrets. Numbers are kept as they were written.
public enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case number(String)
  case string(Secret)
  case array([JSONValue])
  case object([JSONMember])

  /// Reads exactly one JSON text; white space may surround it, nothing else may.
  ///
  /// Stricter than RFC 8259 asks: duplicate keys, nesting beyond `limits.depth`, unpaired
  /// surrogates and NUL are errors, because each has been used to make two readers disagree.
  public static func parse(
    _ bytes: [UInt8], limits: JSONLimits = .standard
  ) throws(JSONError) -> JSONValue {
    var parser = JSONParser(bytes: bytes, limits: limits)
    return try parser.parseText()
  }

  /// The value of a member, where this is an object that has one of that name.
  public subscript(_ key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.isNamed(key) }?.value
  }

  /// A string that is not secret.
  public var text: String? { secret?.exposedText() }

  /// A string.
  public var secret: Secret? {
    guard case .string(let secret) = self else { return nil }
    return secret
  }

  /// A number written without fraction and exponent that an `Int64` holds.
  public var integer: Int64? {
    guard case .number(let digits) = self else { return nil }
    return Int64(digits)
  }

  /// A number, unless it is too large for a `Double`.
  public var double: Double? {
    guard case .number(let digits) = self, let value = Double(digits), value.isFinite else {
      return nil
    }
    return value
  }

  public var bool: Bool? {
    guard case .bool(let value) = self else { return nil }
    return value
  }
}
