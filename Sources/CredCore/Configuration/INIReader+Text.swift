extension INIReader {
  /// The first thing in a line that no text has: a control character other than a tab, or bytes
  /// that are not UTF-8. The column counts characters from 1.
  static func foreignCharacter(in line: ArraySlice<UInt8>) -> (column: Int, message: String)? {
    if line.allSatisfy({ (0x20...0x7E).contains($0) || $0 == UInt8(ascii: "\t") }) { return nil }
    var parser = Unicode.UTF8.ForwardParser()
    var bytes = line.makeIterator()
    var column = 0
    while true {
      column += 1
      switch parser.parseScalar(from: &bytes) {
      case .emptyInput:
        return nil
      case .error:
        return (column, "the line is not valid UTF-8")
      case .valid(let encoded):
        let scalar = Unicode.UTF8.decode(encoded)
        guard scalar.properties.generalCategory == .control, scalar != "\t" else { continue }
        let code = String(scalar.value, radix: 16, uppercase: true)
        let padded = String(repeating: "0", count: max(0, 4 - code.count)) + code
        return (column, "the line holds the control character U+\(padded)")
      }
    }
  }

  /// A value up to its comment; nil if a double quote is not closed.
  static func withoutComment(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var isQuoted = false
    var isEscaped = false
    var followsBlank = true
    for (index, byte) in zip(value.indices, value) {
      if isEscaped {
        isEscaped = false
      } else if isQuoted {
        isEscaped = byte == UInt8(ascii: "\\")
        isQuoted = byte != UInt8(ascii: "\"")
      } else if followsBlank, byte.startsComment {
        return value[..<index]
      } else {
        isQuoted = byte == UInt8(ascii: "\"")
      }
      followsBlank = byte.isBlank
    }
    return isQuoted ? nil : value
  }
}

extension UInt8 {
  /// White space within a line.
  var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

  var startsComment: Bool { self == UInt8(ascii: ";") || self == UInt8(ascii: "#") }
}

extension ArraySlice<UInt8> {
  /// Without white space at either end.
  var trimmed: ArraySlice<UInt8> {
    guard let first = firstIndex(where: { !$0.isBlank }),
      let last = lastIndex(where: { !$0.isBlank })
    else { return self[startIndex..<startIndex] }
    return self[first...last]
  }
}
