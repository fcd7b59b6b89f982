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
