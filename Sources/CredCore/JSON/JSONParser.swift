/// The recursive descent parser of ``JSONValue/parse(_:limits:)``; recursion ends at
/// `limits.depth`.
struct JSONParser: Redacted {
  let bytes: [UInt8]
  let limits: JSONLimits
  var position = 0
  private var depth = 0
  private var values = 0

  init(bytes: [UInt8], limits: JSONLimits) {
    self.bytes = bytes
    self.limits = limits
  }

  /// The byte at the position, nil at the end.
  var current: UInt8? { position < bytes.count ? bytes[position] : nil }

  mutating func parseText() throws(JSONError) -> JSONValue {
    skipWhiteSpace()
    let value = try parseValue()
    skipWhiteSpace()
    guard position == bytes.count else { throw error("unexpected text after the value") }
    return value
  }

  func error(_ message: String) -> JSONError {
    error(message, at: position)
  }

  func error(_ message: String, at offset: Int) -> JSONError {
    JSONError(offset: offset, message: message)
  }

  private mutating func parseValue() throws(JSONError) -> JSONValue {
    guard let first = current else { throw error("expected a value, found the end") }
    guard values < limits.values else { throw error("more than \(limits.values) values") }
    values += 1
    switch first {
    case UInt8(ascii: "{"): return .object(try parseMembers())
    case UInt8(ascii: "["): return .array(try parseElements())
    case UInt8(ascii: "\""): return .string(Secret(try parseString()))
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      return .number(try parseNumber())
    case UInt8(ascii: "t"): return try parseWord("true", as: .bool(true))
    case UInt8(ascii: "f"): return try parseWord("false", as: .bool(false))
    case UInt8(ascii: "n"): return try parseWord("null", as: .null)
    default: throw error("expected a value")
    }
  }
}

// MARK: Arrays and objects

extension JSONParser {
  /// Passes the opening bracket at the position and counts one more level.
  private mutating func descend() throws(JSONError) {
    guard depth < limits.depth else {
      throw error("nested deeper than \(limits.depth) levels")
    }
    depth += 1
    position += 1
    skipWhiteSpace()
  }

  private mutating func parseElements() throws(JSONError) -> [JSONValue] {
    let close = UInt8(ascii: "]")
    try descend()
    defer { depth -= 1 }
    var elements: [JSONValue] = []
    guard !skip(close) else { return elements }
    repeat {
      elements.append(try parseValue())
    } while try continuesAfterElement(close: close, expected: "expected ',' or ']'")
    return elements
  }

  private mutating func parseMembers() throws(JSONError) -> [JSONMember] {
    let close = UInt8(ascii: "}")
    try descend()
    defer { depth -= 1 }
    var members: [JSONMember] = []
    var keys = KeySet()
    guard !skip(close) else { return members }
    repeat {
      let keyOffset = position
      let key = try parseKey()
      guard keys.insert(key, after: members) else {
        throw error("\(JSONError.duplicateKey) \(key.quoted)", at: keyOffset)
      }
      members.append(JSONMember(key: key, keyOffset: keyOffset, value: try parseValue()))
    } while try continuesAfterElement(close: close, expected: "expected ',' or '}'")
    return members
  }

  /// A key. The position is then at the value after the colon.
  private mutating func parseKey() throws(JSONError) -> String {
    guard current == UInt8(ascii: "\"") else { throw error("expected a key in quotes") }
    let key = String(decoding: try parseString(), as: UTF8.self)
    skipWhiteSpace()
    guard skip(UInt8(ascii: ":")) else { throw error("expected ':' after the key") }
    skipWhiteSpace()
    return key
  }

  /// Takes the comma or the closing bracket after an element. Returns whether another element
  /// follows.
  private mutating func continuesAfterElement(
    close: UInt8, expected: String
  ) throws(JSONError) -> Bool {
    skipWhiteSpace()
    if skip(close) { return false }
    let comma = position
    guard skip(UInt8(ascii: ",")) else { throw error(expected) }
    skipWhiteSpace()
    guard current == close else { return true }
    guard limits.allowsTrailingComma else { throw error("trailing comma", at: comma) }
    position += 1
    return false
  }
}

// MARK: Words and white space

extension JSONParser {
  private mutating func parseWord(
    _ word: StaticString, as value: JSONValue
  ) throws(JSONError) -> JSONValue {
    for byte in "\(word)".utf8 {
      guard current == byte else { throw error("expected '\(word)'") }
      position += 1
    }
    return value
  }

  /// Passes the byte if it is at the position.
  private mutating func skip(_ byte: UInt8) -> Bool {
    guard current == byte else { return false }
    position += 1
    return true
  }

  private mutating func skipWhiteSpace() {
    while let byte = current, byte.isBlank || byte.isLineBreak {
      position += 1
    }
  }
}

/// The keys of an object so far. Few keys are compared one by one, many are hashed: an object with
/// 100,000 keys does not take quadratic time.
private struct KeySet {
  private static let hashedFrom = 8
  private var hashed: Set<String> = []

  /// Whether the key is new. Canonically equivalent spellings count as one key, because a Swift
  /// dictionary treats them as one.
  mutating func insert(_ key: String, after members: [JSONMember]) -> Bool {
    guard members.count >= Self.hashedFrom else {
      return !members.contains { $0.key == key }
    }
    if members.count == Self.hashedFrom { hashed = Set(members.map(\.key)) }
    return hashed.insert(key).inserted
  }
}

extension JSONParser {
  /// The number at the position, as written: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE][+-]?[0-9]+)?`.
  mutating func parseNumber() throws(JSONError) -> String {
    let start = position
    if current == UInt8(ascii: "-") { position += 1 }
    if current == UInt8(ascii: "0") {
      position += 1
      guard !isAtDigit else { throw error("a number must not start with 0", at: start) }
    } else {
      try skipDigits()
    }
    if current == UInt8(ascii: ".") {
      position += 1
      try skipDigits()
    }
    if let byte = current, byte | 0x20 == UInt8(ascii: "e") {
      position += 1
      if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
      try skipDigits()
    }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private var isAtDigit: Bool {
    current?.isDigit ?? false
  }

  /// Passes the digits at the position, at least one.
  private mutating func skipDigits() throws(JSONError) {
    guard isAtDigit else { throw error("expected a digit") }
    while isAtDigit { position += 1 }
  }
}
