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

/// One name and value of a JSON object, in the order of the text.
public struct JSONMember: Sendable, Equatable {
  public var key: String
  /// Where the key's opening quote stands: bytes from the start of the text.
  public var keyOffset: Int
  public var value: JSONValue

  public init(key: String, keyOffset: Int, value: JSONValue) {
    self.key = key
    self.keyOffset = keyOffset
    self.value = value
  }

  /// Whether the key is this name, byte for byte. `==` on strings would also take the Kelvin sign
  /// for a K.
  func isNamed(_ name: String) -> Bool {
    key.utf8.elementsEqual(name.utf8)
  }
}

/// Why a text is not JSON, and where. Never quotes a value, because values may be secret.
public struct JSONError: Error, Equatable, Sendable {
  /// Bytes from the start of the text, counted from 0.
  public var offset: Int
  /// Lower-case, without a full stop: `expected ':' after the key`.
  public var message: String

  public init(offset: Int, message: String) {
    self.offset = offset
    self.message = message
  }
}

/// What ``JSONValue/parse(_:limits:)`` takes. The size of a text is its owner's limit.
public struct JSONLimits: Sendable, Equatable {
  /// How many arrays and objects may stand inside each other. The parser recurses this deep.
  public var depth: Int

  /// How many values there may be in all, each element and member counted. What half a megabyte of
  /// tiny ones costs to build (some 20 ms) is time that everybody else waits.
  public var values: Int

  /// Takes `[1,]` and `{"a":1,}`: the developer authentication sample server writes them.
  public var allowsTrailingComma: Bool

  public init(depth: Int = 32, values: Int = 10_000, allowsTrailingComma: Bool = false) {
    self.depth = depth
    self.values = values
    self.allowsTrailingComma = allowsTrailingComma
  }

  /// 32 levels, 10,000 values, no trailing commas: far more than any reply that credd reads.
  public static let standard = JSONLimits()
}
