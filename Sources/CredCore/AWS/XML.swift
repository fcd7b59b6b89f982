/// An element of a reply of STS.
struct XMLElement: Equatable {
  var name: String
  var children: [XMLElement] = []
  /// The decoded text. If the element has children, it is the text between them.
  var text = Secret([])

  /// The only child of that name; nil if there is none or more than one.
  subscript(_ name: String) -> XMLElement? {
    let found = children.filter { $0.name == name }
    return found.count == 1 ? found[0] : nil
  }
}

extension XMLElement {
  /// The text of a child that must exist and not be empty.
  func required(_ name: String) throws(InvalidInput) -> Secret {
    guard let child = self[name] else { throw InvalidInput(field: name, reason: "is missing") }
    guard child.children.isEmpty, !child.text.isEmpty else {
      throw InvalidInput(field: name, reason: "is empty or no text")
    }
    return child.text
  }

  /// Like ``required(_:)``, for a text that is no secret.
  func requiredText(_ name: String) throws(InvalidInput) -> String {
    guard let text = try required(name).exposedText() else {
      throw InvalidInput(field: name, reason: "is not UTF-8")
    }
    return text
  }
}

/// The reason why ``XMLReader`` cannot read a text.
struct XMLError: Error, Equatable {
  /// The position, in bytes from the start of the text.
  let offset: Int
  let reason: String
}

/// Reads the XML of AWS's Query protocol: elements, attributes (skipped), text, the five entities
/// and character references. It refuses DTDs, comments, CDATA and processing instructions, so a
/// text can neither name a file nor expand.
struct XMLReader {
  static let maximumDepth = 16
  static let maximumElements = 256

  private let input: [UInt8]
  private var offset = 0
  private var elements = 0

  static func parse(_ input: [UInt8]) throws(XMLError) -> XMLElement {
    var reader = XMLReader(input)
    return try reader.document()
  }

  private init(_ input: [UInt8]) {
    self.input = input
    offset = input.count - input.withoutByteOrderMark.count
  }

  private mutating func document() throws(XMLError) -> XMLElement {
    skipSpace()
    if looking(at: "<?xml ") {
      while !looking(at: "?>") {
        guard offset < input.count else { throw failure("ends within the XML declaration") }
        offset += 1
      }
      offset += 2
      skipSpace()
    }
    let root = try element(depth: 1)
    skipSpace()
    guard offset == input.count else { throw failure("goes on after its root element") }
    return root
  }

  private mutating func element(depth: Int) throws(XMLError) -> XMLElement {
    guard depth <= Self.maximumDepth else { throw failure("is nested too deeply") }
    elements += 1
    guard elements <= Self.maximumElements else { throw failure("has too many elements") }
    try expect("<")
    var element = XMLElement(name: try name())
    if try attributesEndEmpty() { return element }
    var text: [UInt8] = []
    while !looking(at: "</") {
      guard let byte = peek else { throw failure("ends within an element") }
      switch byte {
      case UInt8(ascii: "<"): element.children.append(try self.element(depth: depth + 1))
      case UInt8(ascii: "&"): text.append(contentsOf: try reference())
      default:
        text.append(byte)
        offset += 1
      }
    }
    offset += 2
    guard try name() == element.name else { throw failure("closes another element") }
    skipSpace()
    try expect(">")
    element.text = Secret(text)
    return element
  }

  /// Skips attributes and the end of the tag. Returns true for `/>`, false for `>`.
  private mutating func attributesEndEmpty() throws(XMLError) -> Bool {
    while true {
      skipSpace()
      if looking(at: "/>") {
        offset += 2
        return true
      }
      if peek == UInt8(ascii: ">") {
        offset += 1
        return false
      }
      _ = try name()
      try expect("=")
      guard let quote = peek, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
        let end = input[(offset + 1)...].firstIndex(of: quote)
      else { throw failure("has an attribute without its value in quotes") }
      offset = end + 1
    }
  }

  private mutating func name() throws(XMLError) -> String {
    let start = offset
    while let byte = peek, Self.isNameByte(byte) { offset += 1 }
    guard offset > start else { throw failure("lacks a name") }
    return String(decoding: input[start..<offset], as: UTF8.self)
  }

  /// The character of an entity such as `&amp;`, as UTF-8.
  private mutating func reference() throws(XMLError) -> [UInt8] {
    let window = input[(offset + 1)...].prefix(12)
    guard let end = window.firstIndex(of: UInt8(ascii: ";")) else {
      throw failure("has an & that starts no entity")
    }
    let name = String(decoding: input[(offset + 1)..<end], as: UTF8.self)
    guard let scalar = Self.scalar(name) else { throw failure("has an unknown entity") }
    offset = end + 1
    return Array(String(Character(scalar)).utf8)
  }

  private static func scalar(_ name: String) -> Unicode.Scalar? {
    switch name {
    case "amp": return "&"
    case "lt": return "<"
    case "gt": return ">"
    case "quot": return "\""
    case "apos": return "'"
    default:
      let digits = name.dropFirst(name.hasPrefix("#x") ? 2 : 1)
      guard name.hasPrefix("#"), digits.utf8.first.map({ $0 > 0x2F }) == true,
        let value = UInt32(digits, radix: name.hasPrefix("#x") ? 16 : 10), value != 0
      else { return nil }
      return Unicode.Scalar(value)
    }
  }

  private var peek: UInt8? { offset < input.count ? input[offset] : nil }

  private func looking(at text: StaticString) -> Bool {
    input[offset...].starts(with: text.description.utf8)
  }

  private mutating func expect(_ text: StaticString) throws(XMLError) {
    guard looking(at: text) else { throw failure("lacks a \(text)") }
    offset += text.utf8CodeUnitCount
  }

  private mutating func skipSpace() {
    while let byte = peek, byte.isBlank || byte.isLineBreak {
      offset += 1
    }
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "-_.:".utf8.contains(byte)
  }

  private func failure(_ reason: String) -> XMLError {
    XMLError(offset: offset, reason: reason)
  }
}
