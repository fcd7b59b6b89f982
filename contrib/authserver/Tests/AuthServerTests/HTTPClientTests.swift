import AuthCore
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

@testable import AuthServer

/// A server that sends the same bytes back to whatever ends in `}`.
private final class Script: Sendable {
  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let reply: String

    init(_ reply: String) { self.reply = reply }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard String(buffer: unwrapInboundIn(data)).hasSuffix("}") else { return }
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: reply)), promise: nil)
    }
  }

  private let accepted = Mutex(0)
  private let server = Mutex<(any Channel)?>(nil)

  var connections: Int { accepted.withLock { $0 } }

  func start(_ reply: String) async throws -> HTTPClient.Origin {
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { [self] channel in
        accepted.withLock { $0 += 1 }
        return channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Handler(reply))
        }
      }.bind(host: "127.0.0.1", port: 0).get()
    server.withLock { $0 = channel }
    return try #require(HTTPClient.Origin("http://127.0.0.1:\(channel.localAddress?.port ?? 0)"))
  }

  func stop() { server.withLock { $0 }?.close(promise: nil) }
}

/// The server's own calls.
struct HTTPClientTests {
  private func calls(
    _ reply: String, count: Int = 2
  ) async throws -> (replies: [HTTPClient.Reply], connections: Int) {
    let script = Script()
    let origin = try await script.start(reply)
    defer { script.stop() }
    let http = try HTTPClient(calls: 4)
    defer { http.close() }
    var replies: [HTTPClient.Reply] = []
    for _ in 0..<count {
      replies.append(
        try await http.send(
          .POST, "/", to: origin, headers: ["Host": "x"], body: Array("{}".utf8),
          within: .seconds(60), upTo: 10))
    }
    return (replies, script.connections)
  }

  @Test func aConnectionIsKeptForTheNextCall() async throws {
    let (replies, connections) = try await calls("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    #expect(replies.map(\.body) == [Array("ok".utf8), Array("ok".utf8)])
    #expect(connections == 1)
  }

  @Test func aConnectionThatTheServerEndsIsNot() async throws {
    let (_, connections) = try await calls(
      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
    #expect(connections == 2)
  }

  /// Who knows what became of the first merge?
  @Test func whatChangesSomethingIsAskedForOnce() async throws {
    let script = Script()
    let origin = try await script.start("rubbish\r\n\r\n")
    defer { script.stop() }
    let http = try HTTPClient(calls: 4)
    defer { http.close() }
    let keys = AWSCredentials(
      .environment(["AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"]),
      now: { Timestamp(milliseconds: 1_700_000_000_000) })
    let client = CognitoClient(
      http: http, endpoint: "http://127.0.0.1:\(origin.port)", credentials: keys,
      metrics: Metrics(), now: { Timestamp(milliseconds: 1_700_000_000_000) })
    let text = "[pool work]\nidentity_pool_id = us-east-1:11\ndeveloper_provider = login.x\n"
    let configuration = try AuthCore.Configuration.read([(name: "test", text: text)])
    let pool = try #require(configuration.pools["work"])
    await #expect(throws: CognitoFailure.self) {
      try await client.merge("a", into: "b", pool: pool)
    }
    #expect(script.connections == 1)
    await #expect(throws: CognitoFailure.self) {
      try await client.unlink("a", from: "us-east-1:22", pool: pool)
    }
    #expect(script.connections == 2)
    await #expect(throws: CognitoFailure.self) {
      try await client.identity(ofUser: "a", pool: pool)
    }
    #expect(script.connections == 4)
  }

  @Test func noRedirectIsFollowed() async throws {
    let (replies, connections) = try await calls(
      "HTTP/1.1 307 Over there\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
      count: 1)
    #expect(replies.map(\.status) == [307] && connections == 1)
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world", "rubbish\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
  ])
  func whatIsNoReplyIsAFailure(_ reply: String) async throws {
    await #expect(throws: HTTPClient.Failure.self) { try await calls(reply) }
  }

  @Test func aConnectionTakesNoLongerThanTheCallMay() async throws {
    // Nobody accepts, and one connection fills the queue: the next one has no answer.
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: 0).serverChannelOption(.autoRead, value: false)
      .bind(host: "127.0.0.1", port: 0).get()
    let address = try #require(server.localAddress)
    let first = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(to: address).get()
    let http = try HTTPClient(calls: 1)
    let origin = try #require(HTTPClient.Origin("http://127.0.0.1:\(address.port ?? 0)"))
    await #expect {
      try await http.send(
        .GET, "/", to: origin, headers: [:], body: [], within: Interval(milliseconds: 200), upTo: 1)
    } throws: { !"\($0)".contains("\(Limits.connectTime.milliseconds)000000") }
    http.close()
    try await first.close()
    try await server.close()
  }

  @Test func aServerWithoutACertificateOfTheSystemsIsNotBelieved() async throws {
    let certificates = try TestCertificates()
    try certificates.issue("server", "DNS:localhost,IP:127.0.0.1")
    let gate = Gate()
    gate.open()
    let server = try await Loopback(
      gate, tls: try TLSContexts(certificates.configuration, metrics: Metrics()))
    await #expect(throws: HTTPClient.Failure.self) { try await server.get("/") }
    server.http.close()
    await server.listener.close(within: .seconds(0))
  }

  /// In virtual time.
  private struct Slow {
    let channel = EmbeddedChannel()
    let outcome: EventLoopFuture<HTTPCall.Outcome>

    init() throws {
      try channel.pipeline.syncOperations.addHTTPClientHandlers()
      let handler = HTTPCallHandler()
      try channel.pipeline.syncOperations.addHandler(handler)
      channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
      let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/")
      let end = channel.eventLoop.now + .seconds(8)
      outcome = handler.start(HTTPCall(head: head, body: [], limit: 10, end: end))
    }

    func failure() throws -> String {
      do {
        _ = try outcome.wait()
        return "none"
      } catch { return "\(error)" }
    }
  }

  @Test func aReplyThatDripsEndsWithItsTime() throws {
    let call = try Slow()
    for byte in "HTTP/1.1" {
      try call.channel.writeInbound(ByteBuffer(string: String(byte)))
      #expect(call.channel.isActive)
      call.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    }
    #expect(!call.channel.isActive)
    #expect(try call.failure().contains("in time"))
  }

  @Test func aConnectionThatBreaksIsNoReply() throws {
    let call = try Slow()
    try call.channel.writeInbound(
      ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"))
    _ = try? call.channel.finish()
    #expect(try call.failure() != "none")
  }
}
