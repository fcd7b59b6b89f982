import AuthCore
import Testing

/// What a balancer says of a connection, and addresses.
struct ProxyTests {
  private static let signature: [UInt8] = [
    0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
  ]

  private static func header(
    _ command: UInt8, _ family: UInt8, _ rest: [UInt8], length: Int? = nil
  ) -> [UInt8] {
    let length = length ?? rest.count
    return signature + [command, family, UInt8(length >> 8), UInt8(length & 255)] + rest
  }

  private static let ports: [UInt8] = [0xC0, 0x00, 0x01, 0xBB]
  private static let v4 = header(0x21, 0x11, [192, 0, 2, 1, 198, 51, 100, 7] + ports)
  private static let v6 = header(
    0x21, 0x21,
    [0x20, 0x01, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [1]
      + Array(repeating: 9, count: 16) + ports)

  @Test func theClientIsTheFirstAddress() throws {
    let v4 = try #require(try ProxyHeader.read(Self.v4 + Array("GET".utf8)))
    #expect(v4.client == IPAddress("192.0.2.1") && v4.length == 28)
    let v6 = try #require(try ProxyHeader.read(Self.v6))
    #expect(v6.client == IPAddress("2001:db8::1") && v6.length == 52)
    // The balancer's own look at the server, with whatever behind it.
    let local = try #require(try ProxyHeader.read(Self.header(0x20, 0x00, [1, 2, 3])))
    #expect(local.client == nil && local.length == 19)
  }

  @Test func aHeaderMayComeInPieces() throws {
    for header in [Self.v4, Self.v6] {
      for count in 0..<header.count {
        #expect(try ProxyHeader.read(Array(header.prefix(count))) == nil)
      }
    }
  }

  /// Amazon's network balancers add a checksum.
  @Test func aChecksumMustBeRight() throws {
    let additions: [UInt8] = [0x03, 0, 4, 0, 0, 0, 0, 0x04, 0, 2, 0, 0]
    var header = Self.header(0x21, 0x11, [192, 0, 2, 1, 198, 51, 100, 7] + Self.ports + additions)
    // Computed with another implementation of CRC32c.
    header.replaceSubrange(31..<35, with: Self.checksum)
    #expect(try ProxyHeader.read(header)?.client == IPAddress("192.0.2.1"))
    // Not the command, the length, and the kind that says that it is a checksum.
    for index in header.indices where ![12, 14, 15, 28].contains(index) {
      var changed = header
      changed[index] ^= 1
      #expect(throws: ProxyHeader.Invalid.self) { try ProxyHeader.read(changed) }
    }
  }

  private static let checksum: [UInt8] = [0xA8, 0x42, 0x86, 0xEB]

  @Test(arguments: [
    Array("PROXY TCP4 192.0.2.1 198.51.100.7 1 2\r\n".utf8), Array("GET / HTTP/1.1\r\n".utf8),
    [0x0D, 0x0A, 0x0D, 0x0A, 0x0D],
    // Another version, another command, datagrams, Unix sockets, no family.
    header(0x11, 0x11, Array(repeating: 1, count: 12)),
    header(0x22, 0x11, Array(repeating: 1, count: 12)),
    header(0x21, 0x12, Array(repeating: 1, count: 12)),
    header(0x21, 0x31, Array(repeating: 1, count: 216)), header(0x21, 0x00, []),
    // Addresses or an addition that are cut off, and what is too long.
    header(0x21, 0x11, Array(repeating: 1, count: 11)), header(0x21, 0x21, v4),
    header(0x21, 0x11, Array(repeating: 1, count: 12) + [4]),
    header(0x21, 0x11, Array(repeating: 1, count: 12) + [4, 0, 2, 0]),
    header(0x21, 0x11, [], length: 65_535), header(0x20, 0x00, [], length: 2033),
  ])
  func whatIsNoHeaderIsRefused(_ bytes: [UInt8]) {
    #expect(throws: ProxyHeader.Invalid.self) { try ProxyHeader.read(bytes) }
  }

  @Test func addressesOfBothFamiliesCompareAlike() {
    #expect(IPAddress("::ffff:192.0.2.1") == IPAddress("192.0.2.1"))
    #expect(IPAddress("192.0.2.1")?.source == "192.0.2.1")
    // Whoever has one address there has all that begin so.
    #expect(IPAddress("2001:db8::1")?.source == IPAddress("2001:db8::ffff:1")?.source)
    #expect(IPAddress("2001:db8:0:1::1")?.source != IPAddress("2001:db8::1")?.source)
    for loopback in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
      #expect(IPAddress(loopback)?.isLoopback == true)
    }
    for other in ["128.0.0.1", "::2", "::", "::127.0.0.1"] {
      #expect(IPAddress(other)?.isLoopback == false)
    }
    for text in ["", "192.0.2", "192.0.2.1.", "0x7f.1", "::1%lo", "localhost"] {
      #expect(IPAddress(text) == nil)
    }
  }

  @Test(arguments: [
    ("192.0.2.0/24", "192.0.2.255", "192.0.3.0"), ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
    ("2001:db8::/33", "2001:db8:7fff::", "2001:db8:8000::"),
    ("10.0.0.0/9", "10.127.9.9", "10.128.0.0"),
    ("::/0", "192.0.2.1", ""), ("2001:db8::1", "2001:db8::1", "192.0.2.1"),
  ])
  func aNetworkHoldsWhatBeginsLikeIt(_ text: String, _ inside: String, _ outside: String) throws {
    let network = try #require(IPNetwork(text))
    #expect(network.contains(try #require(IPAddress(inside))))
    if let other = IPAddress(outside) { #expect(!network.contains(other)) }
  }

  @Test(arguments: [
    "192.0.2.1/24", "192.0.2.0/33", "192.0.2.0/-1", "192.0.2.0/", "/24", "a", "::/129",
    "1.2.3.4/1/2",
  ])
  func whatIsNoNetworkIsNotTakenForOne(_ text: String) { #expect(IPNetwork(text) == nil) }
}

/// How often one source may try.
struct SourceAllowanceTests {
  private let start = Timestamp(milliseconds: 1_700_000_000_000)

  @Test func afterItsBurstASourceGoesStepByStep() {
    var allowance = SourceAllowance(burst: 3, pause: .seconds(10))
    for _ in 0..<3 { #expect(allowance.take("a", at: start) == nil) }
    #expect(allowance.take("a", at: start) == .seconds(10))
    #expect(allowance.take("a", at: start + .seconds(4)) == .seconds(6))
    // Another one is not held up, and a refused try makes no pause longer.
    #expect(allowance.take("b", at: start) == nil)
    #expect(allowance.take("a", at: start + .seconds(10)) == nil)
    #expect(allowance.take("a", at: start + .seconds(10)) == .seconds(10))
    // A clock that is set back locks nobody out for longer than a burst.
    #expect(allowance.take("a", at: start + .days(-1)) == .seconds(10))
    for _ in 0..<3 { #expect(allowance.take("a", at: start + .hours(1)) == nil) }
  }

  @Test func itsMemoryHasALimit() {
    var allowance = SourceAllowance(burst: 1, pause: .seconds(10), most: 100)
    #expect(allowance.take("a", at: start) == nil)
    for index in 0..<98 { _ = allowance.take("\(index)", at: start + .seconds(-60)) }
    // Those that have their burst again make room first.
    #expect(allowance.take("b", at: start) == nil)
    #expect(allowance.take("c", at: start) == nil)
    #expect(allowance.take("a", at: start) != nil)
  }
}
