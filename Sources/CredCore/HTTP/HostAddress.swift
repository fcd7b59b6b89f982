/// The host of a URL as an address, in every spelling that resolvers take for one.
enum HostAddress: Equatable {
  case v4(UInt32)
  /// Eight groups.
  case v6([UInt16])

  /// - Parameter host: in lower case, without brackets. Nil if it is a name.
  init?(_ host: String) {
    if host.utf8.contains(UInt8(ascii: ":")) {
      guard let groups = Self.groups(of: host) else { return nil }
      self = .v6(groups)
    } else {
      guard let number = Self.number(of: host[...]) else { return nil }
      self = .v4(number)
    }
  }

  /// Whether a connection to it ends on this host: loopback, or the unspecified address, for which Linux
  /// takes loopback.
  var isOfThisHost: Bool {
    switch self {
    case .v4(let number): return Self.isOfThisHost(number)
    case .v6(let groups):
      let last = UInt32(groups[6]) << 16 | UInt32(groups[7])
      guard groups.prefix(5).allSatisfy({ $0 == 0 }) else { return false }
      // IPv4 in IPv6, as ::ffff:127.0.0.1 and, formerly, ::127.0.0.1 (RFC 4291, 2.5.5).
      return groups[5] == 0xFFFF && Self.isOfThisHost(last)
        || groups[5] == 0 && (last <= 1 || last >> 24 == 127)
    }
  }

  private static func isOfThisHost(_ number: UInt32) -> Bool {
    number >> 24 == 127 || number >> 24 == 0
  }

  // MARK: IPv4

  /// As inet_aton(3) reads it: one to four numbers. The last number fills the bytes that the others
  /// leave.
  private static func number(of text: Substring) -> UInt32? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let numbers = parts.compactMap(value(of:))
    guard (1...4).contains(parts.count), numbers.count == parts.count, let last = numbers.last,
      last >> (8 * (5 - UInt64(parts.count))) == 0, numbers.dropLast().allSatisfy({ $0 <= 0xFF })
    else { return nil }
    let leading = numbers.dropLast().enumerated().reduce(0 as UInt64) { sum, part in
      sum | part.element << (24 - 8 * UInt64(part.offset))
    }
    return UInt32(leading | last)
  }

  /// A decimal number, an octal one after 0, or a hexadecimal one after 0x.
  private static func value(of text: Substring) -> UInt64? {
    let (digits, radix) =
      text.hasPrefix("0x")
      ? (text.dropFirst(2), 16)
      : text.hasPrefix("0") && text.utf8.count > 1 ? (text, 8) : (text, 10)
    // A sign is none of a number's digits.
    guard digits.utf8.allSatisfy(\.isHexDigit) else { return nil }
    return UInt64(digits, radix: radix)
  }

  // MARK: IPv6

  /// In full, or with `::` for the groups that are zero.
  private static func groups(of text: String) -> [UInt16]? {
    let bytes = Array(text.utf8)
    let colon = UInt8(ascii: ":")
    let gap = bytes.indices.first {
      $0 + 1 < bytes.count && bytes[$0] == colon && bytes[$0 + 1] == colon
    }
    guard let gap else { return parts(of: bytes[...]).flatMap { $0.count == 8 ? $0 : nil } }
    guard let head = parts(of: bytes[..<gap]), let tail = parts(of: bytes[(gap + 2)...]),
      head.count + tail.count < 8
    else { return nil }
    return head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail
  }

  private static func parts(of bytes: ArraySlice<UInt8>) -> [UInt16]? {
    guard !bytes.isEmpty else { return [] }
    let texts = bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    var groups: [UInt16] = []
    for (index, part) in texts.enumerated() {
      let text = String(decoding: part, as: UTF8.self)
      if index == texts.count - 1, part.contains(UInt8(ascii: ".")) {
        guard let number = number(of: text[...]) else { return nil }
        groups += [UInt16(number >> 16), UInt16(number & 0xFFFF)]
      } else {
        guard part.count <= 4, part.allSatisfy(\.isHexDigit), let group = UInt16(text, radix: 16)
        else { return nil }
        groups.append(group)
      }
    }
    return groups
  }
}
