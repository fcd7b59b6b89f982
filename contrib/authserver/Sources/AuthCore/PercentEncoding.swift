extension StringProtocol {
  /// Percent-encoded UTF-8 as plain text; nil where it is none.
  ///
  /// - Parameter isForm: a plus stands for a blank.
  public func percentDecoded(isForm: Bool = false) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(utf8)[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+") where isForm: bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let pair = Hex.decode(String(decoding: rest.prefix(2), as: UTF8.self)),
          pair.count == 1
        else { return nil }
        bytes += pair
        rest = rest.dropFirst(2)
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
