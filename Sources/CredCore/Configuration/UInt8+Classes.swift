/// The character classes of the configuration's values. All of them are ASCII: what goes into a
/// URL, an ARN or a header has no other letters.
extension UInt8 {
  var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

  var isLowercase: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }

  var isLetterOrDigit: Bool { isDigit || (self | 0x20).isLowercase }

  var isHexDigit: Bool {
    isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20)
  }
}

extension StringProtocol {
  /// Whether every byte is an ASCII letter, a digit or one of `others`.
  func holdsOnlyLettersDigits(or others: String) -> Bool {
    utf8.allSatisfy { $0.isLetterOrDigit || others.utf8.contains($0) }
  }
}
