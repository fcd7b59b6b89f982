import FoundationEssentials

/// A JSON value as the sandbox reads and writes it.
///
/// The sandbox has a JSON type of its own, on another reader than the daemon's, so that a fault in
/// one of the two cannot hide in the other.
public enum JSON: Sendable, Equatable {
  case null
  case bool(Bool)
  case number(Double)
  /// Written as Cognito writes timestamps: epoch seconds with an exponent, as 1.7E9.
  case timestamp(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  /// Reads one document; nil for what is not JSON.
  public init?(parsing bytes: [UInt8]) {
    guard let value = try? JSONDecoder().decode(JSON.self, from: Data(bytes)) else { return nil }
    self = value
  }

  /// Member of an object; nil for an absent member and for a null one, which AWS treats alike.
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
