/// Reads the fixed fields of a written time, one after the other.
struct TimeScanner {
  private var rest: ArraySlice<UInt8>

  init(_ text: String) {
    rest = Array(text.utf8)[...]
  }

  var isAtEnd: Bool { rest.isEmpty }

  /// Takes exactly `count` digits, or nothing.
  mutating func number(digits count: Int) -> Int? {
    let digits = rest.prefix(count)
    guard digits.count == count, digits.allSatisfy(Self.isDigit) else { return nil }
    rest = rest.dropFirst(count)
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  /// Takes all digits that follow, at least one.
  mutating func digits() -> String? {
    let digits = rest.prefix(while: Self.isDigit)
    guard !digits.isEmpty else { return nil }
    rest = rest[digits.endIndex...]
    return String(decoding: digits, as: UTF8.self)
  }

  /// Takes the text if it follows.
  mutating func take(_ text: String) -> Bool {
    guard rest.starts(with: text.utf8) else { return false }
    rest = rest.dropFirst(text.utf8.count)
    return true
  }

  /// Takes the first of the texts that follows.
  mutating func take(anyOf texts: String...) -> Bool {
    for text in texts where take(text) { return true }
    return false
  }

  /// Takes one of the names; its index.
  mutating func name(of names: [String]) -> Int? {
    guard let index = names.firstIndex(where: { rest.starts(with: $0.utf8) }) else { return nil }
    rest = rest.dropFirst(names[index].utf8.count)
    return index
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
