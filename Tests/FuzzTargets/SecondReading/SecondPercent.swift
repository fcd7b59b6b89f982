/// The second reading of `%XX` (RFC 3986 section 2.1): what lies between percent signs.
public enum SecondPercent {
  /// - Parameter isForm: whether a `+` is a space.
  /// - Returns: nil where a `%` is no escape.
  public static func decode(_ text: some Sequence<UInt8>, isForm: Bool = true) -> [UInt8]? {
    let parts = Array(text).split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false)
    let plain = parts.enumerated().map { index, part in
      part.dropFirst(index > 0 ? 2 : 0).map { isForm && $0 == UInt8(ascii: "+") ? 0x20 : $0 }
    }
    var bytes = plain[0]
    for (part, rest) in zip(parts, plain).dropFirst() {
      let code = String(decoding: part.prefix(2), as: UTF8.self)
      guard SecondRules.isMade(code, of: "0123456789abcdefABCDEF", 2...2),
        let byte = UInt8(code, radix: 16)
      else { return nil }
      bytes += [byte] + rest
    }
    return bytes
  }
}
