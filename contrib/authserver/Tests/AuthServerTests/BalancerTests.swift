import AuthCore
import AuthTestSupport
import Foundation
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import NIOSSL
import Testing

@testable import AuthServer

/// Clients behind a balancer that says who they are.
struct BalancerTests {
  private static func header(_ client: String) -> [UInt8] {
    let address = IPAddress(client)?.bytes.suffix(4) ?? []
    return [0x0D, 0x0A, 0x0D, 0x0A, 0, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A, 0x21, 0x11, 0, 12]
      + address + [127, 0, 0, 1, 0xC0, 0, 1, 0xBB]
  }

  /// The answer to one request; nothing where the server closes the connection.
  ///
  /// - Parameters:
  ///   - source: the balancer's own address.
  ///   - client: of whom it speaks; nil where it sends no header.
  private static func request(
    _ port: Int, _ text: String, client: String?, source: String = "127.0.0.1",
    tls: NIOSSLContext? = nil
  ) async throws -> String {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .bind(to: try SocketAddress(ipAddress: source, port: 0))
      .connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          let header = client.map(header) ?? []
          try pipeline.addHandler(Opening(header + (tls == nil ? Array(text.utf8) : [])))
          if let tls {
            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: nil))
          }
          return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    return try await channel.executeThenClose { inbound, outbound in
      if tls != nil { try? await outbound.write(ByteBuffer(string: text)) }
      var reply = ""
      do { for try await part in inbound { reply += String(buffer: part) } } catch {}
      return reply
    }
  }

  private static let health = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

  private static func registration(_ name: String) -> String {
    let body = #"{"Username":"\#(name)","Password":"three plain words"}"#
    return "POST /v1/register HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      + "Connection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  private static func proxies(_ text: String) throws -> AuthCore.Configuration.Proxies {
    var proxies = AuthCore.Configuration.Proxies()
    proxies.networks = [try #require(IPNetwork(text))]
    return proxies
  }

  @Test func eachClientHasTriesOfItsOwn() async throws {
    // No pause ends between the tries, however busy the machine.
    let now = Timestamp(Date.now)
    let proxies = try Self.proxies("127.0.0.1")
    try await TestServer.run(
      .sqlite, now: { now }, { $0.proxies = proxies },
      { test in
        let port = try #require(URL(string: test.base)?.port)
        func register(_ name: String, from client: String) async throws -> String {
          let reply = try await Self.request(port, Self.registration(name), client: client)
          return String(reply.prefix(12))
        }
        for index in 0..<5 {
          #expect(try await register("zoe\(index)", from: "192.0.2.1") == "HTTP/1.1 201")
        }
        #expect(try await register("zoe5", from: "192.0.2.1") == "HTTP/1.1 429")
        #expect(try await register("zoe6", from: "192.0.2.2") == "HTTP/1.1 201")
      })
  }

  @Test func aHeaderIsWantedFromThoseAndBelievedOfNobodyElse() async throws {
    let proxies = try Self.proxies("127.0.0.1")
    try await TestServer.run(
      .sqlite, { $0.proxies = proxies },
      { test in
        let port = try #require(URL(string: test.base)?.port)
        #expect(
          try await Self.request(port, Self.health, client: "192.0.2.1").hasPrefix("HTTP/1.1 200"))
        #expect(try await Self.request(port, Self.health, client: nil).isEmpty)
        // Not from there: what begins so is no request.
        let forged = try await Self.request(
          port, Self.health, client: "192.0.2.1", source: "127.0.0.2")
        #expect(!forged.contains("200 OK"))
        let plain = try await Self.request(port, Self.health, client: nil, source: "127.0.0.2")
        #expect(plain.hasPrefix("HTTP/1.1 200"))
      })
  }

  /// Tokens are taken in clear on this machine alone, and only the socket says what is on it.
  @Test func whatABalancerSaysMakesNoConnectionPrivate() throws {
    let channel = EmbeddedChannel()
    channel.localAddress = try SocketAddress(ipAddress: "192.0.2.1", port: 8443)
    channel.remoteAddress = try SocketAddress(ipAddress: "192.0.2.9", port: 1)
    let balancer = try #require(Peer(of: channel))
    let client = Peer(try #require(IPAddress("127.0.0.1")), behind: balancer)
    #expect(client.address == "127.0.0.1")
    #expect(!Connection(peer: client, isTLS: false, certificate: nil).isPrivate)
    #expect(Connection(peer: client, isTLS: true, certificate: nil).isPrivate)
  }

  @Test func theHeaderStandsBeforeTLS() async throws {
    let certificates = try TestCertificates()
    try certificates.issue("server", "DNS:localhost")
    let gate = Gate()
    gate.open()
    let server = try await Loopback(
      gate, tls: try TLSContexts(certificates.configuration, metrics: Metrics()),
      proxies: try Self.proxies("127.0.0.0/8"))
    var client = TLSConfiguration.makeClientConfiguration()
    client.certificateVerification = .none
    let reply = try await Self.request(
      server.origin.port, Self.health, client: "192.0.2.1",
      tls: try NIOSSLContext(configuration: client))
    #expect(reply.hasPrefix("HTTP/1.1 200"))
    await server.listener.close(within: .seconds(0))
  }

  @Test func manyConnectionsOfOneClientShutNoOtherOut() async throws {
    let gate = Gate()
    gate.open()
    let server = try await Loopback(
      gate, proxies: try Self.proxies("127.0.0.1"),
      connections: OpenConnections(limit: 16, metrics: nil))
    var closed = 0
    var open: [any Channel] = []
    for _ in 0..<20 {
      let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Opening(Self.header("192.0.2.1")))
          }
        }.connect(host: "127.0.0.1", port: server.origin.port).get()
      // Half of them, and one more.
      if open.count < 9 {
        open.append(channel)
      } else {
        try await channel.closeFuture.get()
        closed += 1
      }
    }
    #expect(closed == 11)
    let reply = try await Self.request(server.origin.port, Self.health, client: "192.0.2.2")
    #expect(reply.hasPrefix("HTTP/1.1 200"))
    for channel in open { try? await channel.close() }
    await server.listener.close(within: .seconds(0))
  }
}

/// What one source or one host may take of the server.
struct ShareTests {
  /// A balancer's connection is counted once it has said whose that is.
  @Test(arguments: [true, false])
  func aSourceHasItsShareOfTheConnections(_ isBalancers: Bool) {
    let connections = OpenConnections(limit: 16, metrics: nil)
    var open: [EmbeddedChannel] = []
    func takes(_ source: String) -> Bool {
      let channel = EmbeddedChannel()
      do {
        try connections.enter(channel, from: isBalancers ? nil : source)
        if isBalancers { try connections.name(channel, source) }
        open.append(channel)
        return true
      } catch {
        _ = try? channel.finish()
        return false
      }
    }
    // Half of them, and one more.
    #expect((0..<20).filter { _ in takes("a") } == Array(0..<9))
    #expect(takes("b"))
  }

  @Test func madeUpInvitationsCostNoHash() async throws {
    let now = Timestamp(Date.now)
    try await TestServer.run(
      .sqlite, now: { now }, { $0.registration = .invite },
      { test in
        var random = SystemRandomNumberGenerator()
        var statuses: [Int] = []
        for _ in 0..<25 {
          let invitation = Ticket(.invitation, random: &random).text
          let reply = try await test.json(
            "/v1/register",
            ["Username": "zoe", "Password": "three plain words", "Invitation": invitation])
          statuses.append(reply.status)
        }
        // Nobody is told more than that.
        #expect(Set(statuses) == [403, 429] && statuses == statuses.sorted())
        #expect(test.server.metrics.value(of: .hashes) == 0)
      })
  }

  /// Before anything is read, and whatever becomes of it.
  @Test func eachTryToRegisterCounts() async throws {
    let now = Timestamp(Date.now)
    try await TestServer.run(.sqlite, now: { now }) { test in
      var statuses: [Int] = []
      for _ in 0...Limits.registrations.burst {
        statuses.append(try await test.json("/v1/register", ["Username": "zoe"]).status)
      }
      #expect(statuses.dropLast().allSatisfy { $0 == 400 } && statuses.last == 429)
    }
  }

  @Test func longBodiesOfOneHostLeaveRoomForAnothers() async throws {
    try await TestServer.run { test in
      let one = try await test.enrol(link: true)
      let other = try await test.enrol("web2", link: true)
      let port = try #require(URL(string: test.base)?.port)
      let head =
        "POST /v1/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        + "Authorization: Bearer \(one)\r\nContent-Length: 100000\r\n\r\n{"
      var open: [any Channel] = []
      let long = ["accounts.google.com": String(repeating: "x", count: 20_000)]
      var status = 200
      // An unfinished body that arrives during a callback may find no place, and is refused then. So each
      // callback that succeeds is followed by another unfinished body.
      while status == 200, open.count < 100 {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
          .connect(host: "127.0.0.1", port: port).get()
        try await channel.writeAndFlush(ByteBuffer(string: head))
        open.append(channel)
        status = try await test.callback(one, logins: long).status
      }
      #expect(status == 503 && open.count >= Limits.longBodiesPerHost)
      #expect(try await test.callback(other, logins: long).status == 200)
      #expect(try await test.callback(one).status == 200)
      for channel in open { try? await channel.close() }
    }
  }
}

/// Where the server listens.
struct ListenerTests {
  @Test func aStarIsBothFamilies() async throws {
    try await TestServer.run(
      .sqlite, { $0.listen = .network(host: "*", port: 0) },
      { test in
        let port = try #require(URL(string: test.base)?.port)
        for host in ["127.0.0.1", "[::1]"] {
          let reply = try await test.http.send(
            .GET, "/healthz", to: TestClient.Origin("http://\(host):\(port)"))
          #expect(reply.status == 200)
        }
      })
  }

  @Test func aStarIsNotOneFamilyAloneWhereTheOtherIsTaken() async throws {
    let taken = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(
        ChannelOptions.Types.SocketOption(level: .ipv6, name: .ipv6_v6only), value: 1
      )
      .bind(host: "::1", port: 0).get()
    let port = try #require(taken.localAddress?.port)
    await #expect {
      try await listener(.network(host: "*", port: port))
    } throws: { "\($0)".contains("*:\(port) cannot be listened on") }
    try await taken.close()
  }

  private func listener(
    _ address: AuthCore.Configuration.ListenAddress
  ) async throws -> Listener {
    let faults = ProxyFaults(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    return try await Listener(
      .address(address),
      ConnectionSetUp(
        responder: Gate(), connections: OpenConnections(limit: 10, metrics: nil), faults: faults))
  }

  @Test func aSecondServerTakesNoSocketOfTheFirst() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/socket"
    let first = try await listener(.unixSocket(path: path))
    await #expect {
      try await listener(.unixSocket(path: path))
    } throws: { "\($0)".contains(path) }
    await first.close(within: .seconds(0))
    // One that has ended leaves its socket behind.
    let second = try await listener(.unixSocket(path: path))
    await second.close(within: .seconds(0))
  }

  @Test func anAddressThatIsTakenIsNamed() async throws {
    let server = try await Loopback(Gate())
    let port = server.origin.port
    await #expect {
      try await listener(.network(host: "127.0.0.1", port: port))
    } throws: { "\($0)".contains("127.0.0.1:\(port)") }
    await server.listener.close(within: .seconds(0))
  }
}
