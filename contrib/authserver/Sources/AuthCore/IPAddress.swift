import Glibc

/// An IPv6 address, or an IPv4 address in IPv6's form, so that both compare alike.
public struct IPAddress: Sendable, Hashable, CustomStringConvertible {
  /// 16 bytes.
  public let bytes: [UInt8]

  private static let prefixOfV4: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

  /// - Parameter bytes: 4 or 16; nil for any other number.
  public init?(bytes: some Collection<UInt8>) {
    switch bytes.count {
    case 4: self.bytes = Self.prefixOfV4 + bytes
    case 16: self.bytes = Array(bytes)
    default: return nil
    }
  }

  /// Reads the usual spelling, `192.0.2.1` or `2001:db8::1`; nil for anything else.
  public init?(_ text: some StringProtocol) {
    // C's reader stops at a null byte.
    guard !text.utf8.contains(0) else { return nil }
    var four = in_addr()
    var six = in6_addr()
    if unsafe inet_pton(AF_INET, String(text), &four) == 1 {
      self.init(bytes: unsafe withUnsafeBytes(of: four) { unsafe Array($0) })
    } else if unsafe inet_pton(AF_INET6, String(text), &six) == 1 {
      self.init(bytes: unsafe withUnsafeBytes(of: six) { unsafe Array($0) })
    } else {
      return nil
    }
  }

  public var isV4: Bool { bytes.starts(with: Self.prefixOfV4) }

  public var isLoopback: Bool {
    isV4 ? bytes[12] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
  }

  /// In the usual spelling.
  public var description: String {
    guard !isV4 else { return dotted }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    _ = unsafe inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count))
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private var dotted: String { bytes.suffix(4).map { String($0) }.joined(separator: ".") }

  /// The address under which tries are counted. Of an IPv6 address these are the first 64 bits,
  /// because a client that has one address has all addresses with these bits.
  public var source: String {
    isV4 ? dotted : Hex.encode(bytes.prefix(8)) + "/64"
  }
}

/// Addresses that begin alike: `192.0.2.0/24`, or one alone.
public struct IPNetwork: Sendable, Hashable {
  private let address: IPAddress
  /// Of the 128 that an address has here.
  private let bits: Int

  /// Nil for anything else, and for a network with address bits behind its length.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let address = IPAddress(parts[0]) else { return nil }
    let width = address.isV4 && !parts[0].contains(":") ? 32 : 128
    guard let length = parts.count == 1 ? width : Int(parts[1]), (0...width).contains(length) else {
      return nil
    }
    self.address = address
    bits = 128 - width + length
    guard masked(address) == address.bytes else { return nil }
  }

  public func contains(_ other: IPAddress) -> Bool { masked(other) == address.bytes }

  /// With zeros behind the network's bits.
  private func masked(_ other: IPAddress) -> [UInt8] {
    other.bytes.enumerated().map { index, byte in
      let kept: Int = max(0, min(8, bits - index * 8))
      let mask: UInt8 = kept == 0 ? 0 : UInt8.max << UInt8(8 - kept)
      return byte & mask
    }
  }
}
