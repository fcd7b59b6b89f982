import FoundationEssentials

/// A JSON value that the sandbox reads or writes.
///
/// The sandbox has a separate JSON type, with another reader than the daemon's, so that the two do
/// not share a fault.
public enum JSON: Sendable, Equatable {
  case null
  case bool(Bool)
  case number(Double)
  /// Written like Cognito's timestamps: epoch seconds with an exponent, such as 1.7E9.
  case timestamp(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  /// Reads one document; nil if it is not JSON.
  public init?(parsing bytes: [UInt8]) {
    guard let value = try? JSONDecoder().decode(JSON.self, from: Data(bytes)) else { return nil }
    self = value
  }

  /// A member of an object; nil if the member is absent or null, which are the same for AWS.
  public subscript(_ key: String) -> JSON? {
    guard case .object(let members) = self, let value = members[key], value != .null else {
      return nil
    }
    return value
  }

  public var text: String? {
    if case .string(let text) = self { text } else { nil }
  }

  public var number: Double? {
    if case .number(let number) = self { number } else { nil }
  }

  public var integer: Int? { number.flatMap { Int(exactly: $0) } }

  public var bool: Bool? {
    if case .bool(let bool) = self { bool } else { nil }
  }

  public var elements: [JSON]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  public var members: [String: JSON]? {
    if case .object(let members) = self { members } else { nil }
  }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByDictionaryLiteral,
  ExpressibleByArrayLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByStringInterpolation
{
  public init(stringLiteral text: String) { self = .string(text) }
  public init(booleanLiteral bool: Bool) { self = .bool(bool) }
  public init(integerLiteral number: Int) { self = .number(Double(number)) }
  public init(arrayLiteral elements: JSON...) { self = .array(elements) }
  public init(dictionaryLiteral members: (String, JSON)...) {
    self = .object(Dictionary(members) { _, last in last })
  }
}

extension JSON: Decodable {
  private struct FieldKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  public init(from decoder: any Decoder) throws {
    if let object = try? decoder.container(keyedBy: FieldKey.self) {
      var members: [String: JSON] = [:]
      for key in object.allKeys {
        members[key.stringValue] = try object.decode(JSON.self, forKey: key)
      }
      self = .object(members)
      return
    }
    if var list = try? decoder.unkeyedContainer() {
      var elements: [JSON] = []
      while !list.isAtEnd { elements.append(try list.decode(JSON.self)) }
      self = .array(elements)
      return
    }
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let text = try? value.decode(String.self) {
      self = .string(text)
    } else if let bool = try? value.decode(Bool.self) {
      self = .bool(bool)
    } else {
      self = .number(try value.decode(Double.self))
    }
  }
}

extension JSON {
  /// The value as UTF-8 JSON without white space, members in the order of their names.
  public var bytes: [UInt8] {
    var output: [UInt8] = []
    write(to: &output)
    return output
  }

  private func write(to output: inout [UInt8]) {
    switch self {
    case .null: output += "null".utf8
    case .bool(let bool): output += (bool ? "true" : "false").utf8
    case .number(let number): output += JSON.spelling(of: number).utf8
    case .timestamp(let seconds): output += JSON.exponentSpelling(of: seconds).utf8
    case .string(let text): JSON.write(text, to: &output)
    case .array(let elements):
      output.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        element.write(to: &output)
      }
      output.append(UInt8(ascii: "]"))
    case .object(let members):
      output.append(UInt8(ascii: "{"))
      for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        JSON.write(member.key, to: &output)
        output.append(UInt8(ascii: ":"))
        member.value.write(to: &output)
      }
      output.append(UInt8(ascii: "}"))
    }
  }

  private static func spelling(of number: Double) -> String {
    Int(exactly: number).map(String.init) ?? String(number)
  }

  /// As Java's `Double.toString` spells an epoch: 1469653534 is `1.469653534E9`. Cognito uses this
  /// form, and readers that expect plain digits have failed on it.
  private static func exponentSpelling(of seconds: Double) -> String {
    guard seconds >= 1e7 else { return String(seconds) }
    var digits = String(Int(seconds))
    let exponent = digits.count - 1
    while digits.count > 2, digits.hasSuffix("0") { digits.removeLast() }
    digits.insert(".", at: digits.index(after: digits.startIndex))
    return digits + "E\(exponent)"
  }

  private static func write(_ text: String, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""): output += "\\\"".utf8
      case UInt8(ascii: "\\"): output += "\\\\".utf8
      case UInt8(ascii: "\n"): output += "\\n".utf8
      case 0..<0x20:
        let digits = String(byte, radix: 16)
        output += ("\\u00" + (digits.count == 1 ? "0" : "") + digits).utf8
      default: output.append(byte)
      }
    }
    output.append(UInt8(ascii: "\""))
  }
}
