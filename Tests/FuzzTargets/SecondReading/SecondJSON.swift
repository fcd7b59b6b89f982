import CredCore
import FoundationEssentials

/// JSON as FoundationEssentials reads it.
indirect enum SecondJSON: Decodable, Equatable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([SecondJSON])
  case object([String: SecondJSON])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let bool = try? container.decode(Bool.self) {
      self = .bool(bool)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else if let string = try? container.decode(String.self) {
      self = .string(string)
    } else if let array = try? container.decode([SecondJSON].self) {
      self = .array(array)
    } else {
      self = .object(try container.decode([String: SecondJSON].self))
    }
  }
}

/// The second reading of a JSON text.
enum SecondJSONReading: Equatable {
  case value(SecondJSON)
  case refused
  /// A number is beyond the range of a Double, which Foundation refuses and credd keeps as written.
  case outOfRange

  /// Reads what Foundation reads, and refuses what credd's documentation says it refuses beyond RFC
  /// 8259: duplicate keys, deep nesting, too many values and NUL.
  init(_ bytes: [UInt8], limits: JSONLimits = .standard) {
    self = .refused
    // Foundation also reads UTF-16, UTF-32 and a byte order mark.
    guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0),
      !bytes.starts(with: [0xEF, 0xBB, 0xBF])
    else { return }
    let frame = JSONFrame(bytes)
    // Foundation reads commas before a closing bracket.
    guard limits.allowsTrailingComma || !frame.hasTrailingComma else { return }
    guard let value = try? JSONDecoder().decode(SecondJSON.self, from: Data(bytes)) else {
      self = frame.hasOddNumber ? .outOfRange : .refused
      return
    }
    let hasDuplicates = frame.colons != value.members
    guard !hasDuplicates, value.depth <= limits.depth, value.count <= limits.values,
      !value.hasNUL
    else { return }
    self = .value(value)
  }

  var value: SecondJSON? { if case .value(let value) = self { value } else { nil } }
}

/// A JSON text without its strings: what Foundation's value no longer shows.
private struct JSONFrame {
  /// As many as members of objects.
  private(set) var colons = 0
  private(set) var hasTrailingComma = false
  /// Whether a number may be out of a Double's range, or is `0e1`, which Foundation refuses though RFC
  /// 8259 allows it.
  private(set) var hasOddNumber = false

  init(_ bytes: [UInt8]) {
    var outside: [Unicode.Scalar] = []
    var isInside = false
    var isEscaped = false
    for character in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      if isEscaped {
        isEscaped = false
      } else if isInside, character == "\\" {
        isEscaped = true
      } else if character == "\"" {
        isInside.toggle()
        outside.append("\"")
      } else if !isInside {
        outside.append(character)
      }
    }
    colons = outside.count { $0 == ":" }
    let dense = outside.filter { !" \t\r\n".unicodeScalars.contains($0) }
    let ends: Set<Unicode.Scalar> = ["]", "}"]
    hasTrailingComma = zip(dense, dense.dropFirst()).contains { comma, next in
      comma == "," && ends.contains(next)
    }
    let numbers = outside.split { !"0123456789+-.eE".unicodeScalars.contains($0) }
    hasOddNumber = numbers.contains { number in
      let digits = number.drop { $0 == "-" }
      let hasExponent = number.contains { $0 == "e" || $0 == "E" }
      return number.count > 300 || hasExponent && (number.count > 4 || digits.first == "0")
    }
  }
}

extension SecondJSON {
  /// The member of that name, byte for byte. A dictionary also finds canonically equivalent keys.
  subscript(_ name: String) -> SecondJSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.key.utf8.elementsEqual(name.utf8) }?.value
  }

  var object: [String: SecondJSON]? { if case .object(let members) = self { members } else { nil } }
  var text: String? { if case .string(let text) = self { text } else { nil } }
  var number: Double? { if case .number(let number) = self { number } else { nil } }
  var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }

  /// A string that is not empty.
  var fullText: String? { text.flatMap { $0.isEmpty ? nil : $0 } }

  private var children: [SecondJSON] {
    switch self {
    case .array(let elements): elements
    case .object(let members): Array(members.values)
    default: []
    }
  }

  /// Members of this and all inner objects.
  fileprivate var members: Int {
    (object?.count ?? 0) + children.reduce(0) { $0 + $1.members }
  }

  /// Values, this one included.
  fileprivate var count: Int { 1 + children.reduce(0) { $0 + $1.count } }

  fileprivate var depth: Int {
    switch self {
    case .array, .object: 1 + (children.map(\.depth).max() ?? 0)
    default: 0
    }
  }

  fileprivate var hasNUL: Bool {
    let isHere = text?.utf8.contains(0) ?? false
    let isInKey = object?.keys.contains { $0.utf8.contains(0) } ?? false
    return isHere || isInKey || children.contains { $0.hasNUL }
  }

  /// Whether credd read the same value.
  func isSame(as value: JSONValue) -> Bool {
    switch (self, value) {
    case (.null, .null): true
    case (.bool(let one), .bool(let other)): one == other
    case (.number(let one), .number(let digits)): one == Double(digits)
    case (.string(let one), .string(let other)): Array(one.utf8) == other.bytes
    case (.array(let one), .array(let other)):
      one.count == other.count && zip(one, other).allSatisfy { $0.isSame(as: $1) }
    case (.object(let one), .object(let other)):
      one.count == other.count
        && other.allSatisfy { self[$0.key]?.isSame(as: $0.value) ?? false }
    default: false
    }
  }
}
