import AuthCore
import FuzzTargets

/// What a reading of a header comes to.
private enum ProxyReading: Equatable {
  case more
  case refused
  case header(client: [UInt8]?, length: Int)

  init(_ bytes: [UInt8]) {
    do throws(ProxyHeader.Invalid) {
      let header = try ProxyHeader.read(bytes)
      self = header.map { .header(client: $0.client?.bytes, length: $0.length) } ?? .more
    } catch { self = .refused }
  }

  /// By haproxy's document, chapter 2.2, and the server's rules: TCP alone, no more than 2048 bytes.
  init(second bytes: [UInt8]) {
    let signature: [UInt8] = Array("\r\n\r\n\0\r\nQUIT\n".utf8)
    self = .refused
    guard zip(signature, bytes).allSatisfy(==) else { return }
    guard bytes.count >= 16 else {
      self = .more
      return
    }
    let length = 16 + Int(bytes[14]) * 256 + Int(bytes[15])
    guard length <= 2048, bytes[12] == 0x20 || bytes[12] == 0x21 else { return }
    guard bytes.count >= length else {
      self = .more
      return
    }
    let payload = Array(bytes[16..<length])
    if bytes[12] == 0x20 {
      self = .header(client: nil, length: length)
      return
    }
    let width = [0x11: 4, 0x21: 16][bytes[13]] ?? Int.max / 4
    guard payload.count >= 2 * width + 4,
      Self.areAdditions(Array(payload[(2 * width + 4)...]), Array(bytes[..<length]))
    else { return }
    let client = Array(payload[..<width])
    self = .header(
      client: width == 4 ? Array(repeating: 0, count: 10) + [255, 255] + client : client,
      length: length)
  }

  /// Whether kind, length and value follow each other to the end, and each checksum is right.
  private static func areAdditions(_ additions: [UInt8], _ header: [UInt8]) -> Bool {
    guard !additions.isEmpty else { return true }
    guard additions.count >= 3 else { return false }
    let count = Int(additions[1]) * 256 + Int(additions[2])
    guard additions.count >= 3 + count else { return false }
    if additions[0] == 3 {
      var blank = header
      let start = header.count - additions.count + 3
      for index in 0..<count { blank[start + index] = 0 }
      guard Array(additions[3..<(3 + count)]) == Dice.crc32c(blank) else { return false }
    }
    return areAdditions(Array(additions[(3 + count)...]), header)
  }
}

extension AuthFuzzTarget {
  func judgeProxyHeader(_ bytes: [UInt8]) -> Verdict {
    let (reading, second) = (ProxyReading(bytes), ProxyReading(second: bytes))
    guard reading == second else {
      return .fault("read as \(reading), by the second reading as \(second)")
    }
    for count in [0, 1, 11, 12, 15, 16, 17, bytes.count / 2, bytes.count - 1]
    where 0..<bytes.count ~= count {
      let part = ProxyReading(Array(bytes.prefix(count)))
      var isRight = part == .more
      if case .header(_, let length) = reading, count >= length { isRight = part == reading }
      if reading == .refused { isRight = isRight || part == .refused }
      guard isRight else { return .fault("\(count) bytes are \(part)") }
    }
    guard case .header(let client, let length) = reading else { return .refused }
    return .all([
      .check(length <= Limits.proxyHeaderBytes, "a header of \(length) bytes"),
      .check(ProxyReading(bytes + [0]) == reading, "a byte behind the header counts"),
      client.map(judgeAddress) ?? .accepted,
    ])
  }

  /// An address is read again from how it is shown, and lies in its own networks.
  private func judgeAddress(_ bytes: [UInt8]) -> Verdict {
    guard let address = IPAddress(bytes: bytes) else { return .fault("no address") }
    let network = IPNetwork("\(address)")
    return .all([
      .check(IPAddress("\(address)") == address, "\(address) is read as another"),
      .check(network?.contains(address) == true, "\(address) is not in its own network"),
      .check(!address.isV4 || address.source == "\(address)", "\(address) is \(address.source)"),
      .accepted,
    ])
  }
}

extension Dice {
  /// CRC32c by dividing bit after bit, the first bit of a byte being its lowest; big-endian.
  static func crc32c(_ bytes: [UInt8]) -> [UInt8] {
    var remainder: UInt32 = 0xFFFF_FFFF
    for byte in bytes {
      for bit in 0..<8 {
        let top = remainder >> 31
        remainder <<= 1
        if top != UInt32(byte >> UInt8(bit) & 1) { remainder ^= 0x1EDC_6F41 }
      }
    }
    var sum: UInt32 = 0
    for bit in 0..<32 where remainder >> UInt32(bit) & 1 == 1 { sum |= 1 << UInt32(31 - bit) }
    return [24, 16, 8, 0].map { UInt8(~sum >> $0 & 0xFF) }
  }

  mutating func proxyHeader() -> [UInt8] {
    let isV4 = once(in: 2)
    var payload = bytes(isV4 ? 12 : 36)
    if once(in: 4) { payload.replaceSubrange(0..<4, with: [127, 0, 0, 1]) }
    var checksum: Int?
    for _ in 0..<number(4) {
      let kind: UInt8 = pick([1, 2, 3, 4, 5, 0x20, 0xEE])
      let value = kind == 3 ? [0, 0, 0, 0] : bytes(number(20))
      if kind == 3, checksum == nil { checksum = 16 + payload.count + 3 }
      payload += [kind, 0, UInt8(value.count)] + value
    }
    let count = once(in: 16) ? number(3000) : payload.count
    let command: UInt8 = once(in: 8) ? pick([0x20, 0x20, 0x22, 0x11]) : 0x21
    let family: UInt8 = once(in: 16) ? UInt8(number(256)) : isV4 ? 0x11 : 0x21
    var header =
      Array("\r\n\r\n\0\r\nQUIT\n".utf8) + [command, family, UInt8(count >> 8), UInt8(count & 255)]
      + payload
    if let checksum, !once(in: 8) {
      header.replaceSubrange(checksum..<(checksum + 4), with: Self.crc32c(header))
    }
    return header + (once(in: 2) ? Array("GET / HTTP/1.1\r\n".utf8) : [])
  }
}
