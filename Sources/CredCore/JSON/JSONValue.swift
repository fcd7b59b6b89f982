/// A JSON text as a value (RFC 8259): request lines and replies are read into it.
///
/// credd has its own reader because the line protocol needs the position of every key, exact
/// limits, and strings that stay secrets. Numbers are kept as they were written.
public enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case number(String)
  case string(Secret)
  case array([JSONValue])
  case object([JSONMember])

  /// Reads exactly one JSON text; only white space may surround it.
  ///
  /// Stricter than RFC 8259: duplicate keys, nesting beyond `limits.depth`, unpaired surrogates and
  /// NUL are errors, because two readers may understand each of them differently.
  public static func parse(
    _ bytes: [UInt8], limits: JSONLimits = .standard
  ) throws(JSONError) -> JSONValue {
    var parser = JSONParser(bytes: bytes, limits: limits)
    return try parser.parseText()
  }

  /// Parses a text that somebody else wrote to a file or a stream. The text may begin with a byte order
  /// mark, which readers may ignore (RFC 8259, 8.1). Positions count from behind the mark.
  public static func parse(
    foreign text: Secret, limits: JSONLimits = .standard
  ) throws(JSONError) -> JSONValue {
    let plain = text.bytes.withoutByteOrderMark
    return try parse(plain.count == text.count ? text.bytes : Array(plain), limits: limits)
  }

  /// The value of the member with that name; nil if this is no object or has no such member.
  public subscript(_ key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.isNamed(key) }?.value
  }

  /// A string that is no secret; nil if this is no string.
  public var text: String? { secret?.exposedText() }

  /// A string; nil if this is none.
  public var secret: Secret? {
    guard case .string(let secret) = self else { return nil }
    return secret
  }

  /// A number without fraction and exponent that fits into an `Int64`.
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

/// The reason why a text is not JSON, and the position. It never quotes a value, which may be a
/// secret.
public struct JSONError: Error, Equatable, Sendable {
  /// Bytes from the start of the text, counted from 0.
  public var offset: Int
  /// Lower-case, without a full stop: `expected ':' after the key`.
  public var message: String

  public init(offset: Int, message: String) {
    self.offset = offset
    self.message = message
  }

  /// The beginning of the message about a key that an object has twice.
  static let duplicateKey = "duplicate key"

  /// Whether an object has a key twice: then there is JSON, but nobody knows which value is meant.
  var isOfDuplicateKey: Bool { message.hasPrefix(Self.duplicateKey) }
}

/// Limits of ``JSONValue/parse(_:limits:)``. The caller limits the size of the text.
public struct JSONLimits: Sendable, Equatable {
  /// The most arrays and objects within each other. The parser recurses as deep.
  public var depth: Int

  /// The most values, counting each element and member. Half a megabyte of tiny values takes some
  /// 20 ms to build, and all other clients wait that long.
  public var values: Int

  /// Whether `[1,]` and `{"a":1,}` are read: AWS's sample server writes them.
  public var allowsTrailingComma: Bool

  public init(depth: Int = 32, values: Int = 10_000, allowsTrailingComma: Bool = false) {
    self.depth = depth
    self.values = values
    self.allowsTrailingComma = allowsTrailingComma
  }

  /// 32 levels, 10,000 values, no trailing commas: far above any honest reply.
  public static let standard = JSONLimits()
}
