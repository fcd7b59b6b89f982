/// Classes of ASCII bytes. A byte beyond ASCII is in no class.
extension UInt8 {
  public var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

  var isLowercase: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }

  public var isLetterOrDigit: Bool { isDigit || (self | 0x20).isLowercase }

  var isHexDigit: Bool { Hex.value(of: self) != nil }

  /// Printable, and not a space.
  public var isVisible: Bool { (0x21...0x7E).contains(self) }

  /// A space or a tab: white space within a line.
  var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

  /// A carriage return or a line feed.
  var isLineBreak: Bool { self == UInt8(ascii: "\r") || self == UInt8(ascii: "\n") }

  /// A space or one of the controls from tab to carriage return.
  public var isWhiteSpace: Bool { self == UInt8(ascii: " ") || (0x09...0x0D).contains(self) }
}

extension BidirectionalCollection<UInt8> {
  /// The bytes without white space at either end.
  public var trimmed: SubSequence { trimmed(of: \.isWhiteSpace) }

  /// The bytes without spaces and tabs at either end.
  var trimmedOfBlanks: SubSequence { trimmed(of: \.isBlank) }

  private func trimmed(of isSpace: (UInt8) -> Bool) -> SubSequence {
    guard let first = firstIndex(where: { !isSpace($0) }),
      let last = lastIndex(where: { !isSpace($0) })
    else { return self[startIndex..<startIndex] }
    return self[first...last]
  }
}

// The standard library's search for a text within a text needs its regular expressions, which would
// be an eighth of the daemon's size.

extension Collection<UInt8> {
  /// Whether `other` occurs in these bytes. If it is empty, it does.
  func contains(bytes other: some Collection<UInt8>) -> Bool {
    var rest = self[...]
    while rest.count >= other.count {
      if rest.starts(with: other) { return true }
      rest = rest.dropFirst()
    }
    return false
  }
}

extension StringProtocol {
  /// Whether `other` occurs in this text, byte for byte.
  public func contains(bytesOf other: String) -> Bool { utf8.contains(bytes: other.utf8) }

  /// Whether every byte is an ASCII letter, a digit or one of `others`.
  public func containsOnlyLettersDigits(or others: String) -> Bool {
    utf8.allSatisfy { $0.isLetterOrDigit || others.utf8.contains($0) }
  }
}

extension Span<UInt8> {
  /// The bytes as an array. Appending them one by one would take 25 times as long, because each
  /// append is checked.
  public var copied: [UInt8] {
    #if compiler(>=6.3)
      [UInt8](capacity: count) { copy in
        for index in indices { copy.append(self[index]) }
      }
    #else
      indices.map { self[$0] }
    #endif
  }
}

/// Well-formed UTF-8, byte by byte (Unicode 16, table 3-7).
enum UTF8Sequence {
  /// Length of the sequence that starts at `index`: 1 to 4 bytes, or nil if it is overlong, cut
  /// short, a surrogate, beyond U+10FFFF, or a stray continuation byte.
  static func length(in bytes: [UInt8], at index: Int) -> Int? {
    let lead = bytes[index]
    let length: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch lead {
    case 0x00...0x7F: return 1
    case 0xC2...0xDF: length = 2
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: length = 3
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: length = 4
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: return nil
    }
    guard index + length <= bytes.count, second.contains(bytes[index + 1]) else { return nil }
    for continuation in bytes[(index + 2)..<(index + length)]
    where continuation & 0xC0 != 0x80 {
      return nil
    }
    return length
  }

  /// The number of code points of a text, counted without decoding: all bytes that are no
  /// continuation bytes.
  static func codePoints(_ bytes: [UInt8]) -> Int {
    bytes.reduce(0) { $1 & 0xC0 == 0x80 ? $0 : $0 + 1 }
  }
}

extension [UInt8] {
  /// Whether a line has exactly these bytes. All bytes are compared even if the first ones differ:
  /// without an early end, the compiler compares sixteen bytes at a time.
  public func isEqual(to line: borrowing Span<UInt8>) -> Bool {
    guard count == line.count else { return false }
    var difference: UInt8 = 0
    let known = span
    for index in 0..<known.count { difference |= known[index] ^ line[index] }
    return difference == 0
  }
}
