/// The character classes of the configuration's values. All of them are ASCII: what goes into a
/// URL, an ARN or a header has no other letters.
extension UInt8 {
  public var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

  var isLowercase: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }

  public var isLetterOrDigit: Bool { isDigit || (self | 0x20).isLowercase }

  var isHexDigit: Bool {
    isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20)
  }

  /// Space, tab, line feed, vertical tab, form feed and carriage return.
  public var isWhiteSpace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }

  /// Printable and no space.
  public var isVisible: Bool { (0x21...0x7E).contains(self) }
}

extension StringProtocol {
  /// Whether every byte is an ASCII letter, a digit or one of `others`.
  public func holdsOnlyLettersDigits(or others: String) -> Bool {
    utf8.allSatisfy { $0.isLetterOrDigit || others.utf8.contains($0) }
  }
}

extension BidirectionalCollection<UInt8> {
  /// The bytes without the white space before and after them.
  public var trimmingWhiteSpace: SubSequence {
    let start = drop { $0.isWhiteSpace }
    guard let last = start.lastIndex(where: { !$0.isWhiteSpace }) else { return start }
    return start[...last]
  }
}

// The standard library's own look for a text in a text belongs to the module of regular expressions,
// which would be an eighth of the daemon.

extension Collection<UInt8> {
  /// Whether `other` stands somewhere in these bytes; an empty one does.
  func holds(_ other: some Collection<UInt8>) -> Bool {
    var rest = self[...]
    while rest.count >= other.count {
      if rest.starts(with: other) { return true }
      rest = rest.dropFirst()
    }
    return false
  }
}

extension StringProtocol {
  /// Whether `other` stands somewhere in this text, byte for byte.
  func holds(_ other: String) -> Bool { utf8.holds(other.utf8) }
}

extension Span<UInt8> {
  /// The same bytes as an array. Appending them to one takes 25 times as long: each has it checked.
  public var copied: [UInt8] {
    [UInt8](capacity: count) { copy in
      for index in indices { copy.append(self[index]) }
    }
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
}
