/// What a balancer says of a connection before the client's bytes (PROXY protocol, version 2:
/// haproxy's doc/proxy-protocol.txt). The reader is stricter than that document: it takes only TCP,
/// and only what adds up.
public struct ProxyHeader: Sendable, Equatable {
  /// The client's address. Nil if the balancer speaks for itself, to see whether the server is
  /// well.
  public let client: IPAddress?
  /// Of the header, in bytes: the connection's own follow.
  public let length: Int

  /// Why this is no such header.
  public struct Invalid: Error, Equatable {
    public let reason: String
  }

  private static let signature: [UInt8] = [
    0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
  ]
  private static let fixed = 16

  /// - Returns: nil while more bytes are needed. ``Limits/proxyHeaderBytes`` bytes are always
  ///   enough.
  public static func read(_ bytes: [UInt8]) throws(Invalid) -> ProxyHeader? {
    let start = bytes.prefix(signature.count)
    guard signature.starts(with: start) else { throw Invalid(reason: "it is none") }
    guard bytes.count >= fixed else { return nil }
    let length = fixed + (Int(bytes[14]) << 8) + Int(bytes[15])
    guard length <= Limits.proxyHeaderBytes else { throw Invalid(reason: "it is too long") }
    let isLocal: Bool
    switch bytes[12] {
    case 0x20: isLocal = true
    case 0x21: isLocal = false
    default: throw Invalid(reason: "its version or command is unknown")
    }
    guard bytes.count >= length else { return nil }
    let header = Array(bytes.prefix(length))
    guard !isLocal else { return ProxyHeader(client: nil, length: length) }
    let (client, end) = try client(header)
    try checkRest(header, from: end)
    return ProxyHeader(client: client, length: length)
  }

  /// Addresses and ports of both ends, the client's first.
  private static func client(_ header: [UInt8]) throws(Invalid) -> (IPAddress?, end: Int) {
    let width: Int
    switch header[13] {
    case 0x11: width = 4
    case 0x21: width = 16
    default: throw Invalid(reason: "it is of no TCP connection")
    }
    let end = fixed + 2 * width + 4
    guard header.count >= end else { throw Invalid(reason: "its addresses are cut off") }
    return (IPAddress(bytes: header[fixed..<(fixed + width)]), end)
  }

  /// Additions, each with its kind and length. A checksum among them must be right.
  private static func checkRest(_ header: [UInt8], from start: Int) throws(Invalid) {
    var index = start
    while index < header.count {
      guard index + 3 <= header.count else { throw Invalid(reason: "an addition is cut off") }
      let start = index + 3
      let value = start..<(start + (Int(header[index + 1]) << 8) + Int(header[index + 2]))
      guard value.upperBound <= header.count else {
        throw Invalid(reason: "an addition is cut off")
      }
      if header[index] == 0x03 { try checkSum(header, value) }
      index = value.upperBound
    }
  }

  /// CRC32c over the header with zeros in the checksum's place.
  private static func checkSum(_ header: [UInt8], _ place: Range<Int>) throws(Invalid) {
    var blank = header
    for index in place { blank[index] = 0 }
    let expected = header[place].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    guard place.count == 4, crc32c(blank) == expected else {
      throw Invalid(reason: "its checksum is wrong")
    }
  }

  static func crc32c(_ bytes: [UInt8]) -> UInt32 {
    let polynomial: UInt32 = 0x82F6_3B78
    var sum = UInt32.max
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 {
        let isOdd = sum & 1 == 1
        sum >>= 1
        if isOdd { sum ^= polynomial }
      }
    }
    return ~sum
  }
}
