import AuthCore
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

@testable import AuthServer

/// A responder that holds its requests until the test lets them go.
final class Gate: Responder {
  private let entered = AsyncStream.makeStream(of: Void.self)
  private let opened = AsyncStream.makeStream(of: Void.self)

  func respond(to request: Request) async -> Response {
    entered.continuation.yield()
    for await _ in opened.stream { break }
    return Response(200, json: ["Path": request.path])
  }

  func waitForRequest() async { for await _ in entered.stream { break } }

  func open() { opened.continuation.yield() }
}

/// A listener on loopback, and a client of it.
struct Loopback {
  let listener: Listener
  let origin: TestClient.Origin
  let http: TestClient

  init(
    _ responder: any Responder, tls: TLSContexts? = nil,
    proxies: AuthCore.Configuration.Proxies = .init(),
    connections: OpenConnections = OpenConnections(limit: 100, metrics: nil)
  ) async throws {
    let setUp = ConnectionSetUp(
      responder: responder, tls: tls, connections: connections, proxies: proxies,
      faults: ProxyFaults(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
    listener = try await Listener(.address(.network(host: "127.0.0.1", port: 0)), setUp)
    let scheme = tls == nil ? "http" : "https"
    origin = try TestClient.Origin("\(scheme)://127.0.0.1:\(listener.address?.port ?? 0)")
    http = try TestClient()
  }

  func get(_ path: String) async throws -> TestClient.Reply {
    try await http.send(.GET, path, to: origin)
  }
}

/// What a client sends as soon as it is connected: on a busy machine, a test that writes it later may come
/// after the server's deadline.
final class Opening: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer
  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  func channelActive(context: ChannelHandlerContext) {
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    context.fireChannelActive()
  }
}

/// How a server ends: requests under way are answered, and nobody holds up the end.
struct ShutdownTests {
  @Test func aRequestUnderWayIsAnsweredFirst() async throws {
    let gate = Gate()
    let server = try await Loopback(gate)
    async let reply = server.get("/a")
    await gate.waitForRequest()
    // A connection without a request is closed at once.
    let idle = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(host: server.origin.host, port: server.origin.port).get()
    async let end: Void = server.listener.close(within: .seconds(600))
    try await idle.closeFuture.get()
    gate.open()
    #expect(try await reply.status == 200)
    await end
    // Nobody listens any more.
    await #expect(throws: TestClient.Failure.self) { try await server.get("/b") }
  }

  @Test func aRequestThatDoesNotEndIsCutOff() async throws {
    let gate = Gate()
    let server = try await Loopback(gate)
    let call = Task { try await server.get("/a") }
    await gate.waitForRequest()
    await server.listener.close(within: .seconds(0))
    await #expect(throws: TestClient.Failure.self) { try await call.value }
    gate.open()
  }
}

/// What the server reads and writes on one connection.
struct ExchangeTests {
  private struct Echo: Responder {
    func respond(to request: Request) async -> Response {
      guard request.path != "/early" else { return Response(401, json: [:]) }
      let body = (try? await request.body.collect(upTo: 100_000)) ?? []
      return Response(
        200,
        json: ["Path": request.path, "Query": request.query, "Length": String(body.count)])
    }
  }

  /// Counts the requests that it is given, and answers with more than a kernel takes at once.
  private final class Long: Responder {
    static let length = 16 << 20
    let requests = Mutex(0)

    func respond(to request: Request) async -> Response {
      requests.withLock { $0 += 1 }
      return Response(
        status: 200, headers: [:], body: Array(repeating: UInt8(ascii: "x"), count: Self.length))
    }
  }

  /// On one connection, which the last request closes.
  private func exchange(
    _ requests: String, _ responder: any Responder = Echo()
  ) async throws -> String {
    let server = try await Loopback(responder)
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(host: server.origin.host, port: server.origin.port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Opening(Array(requests.utf8)))
          return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    let text = try await channel.executeThenClose { inbound, _ in
      var text = ""
      for try await part in inbound { text += String(buffer: part) }
      return text
    }
    await server.listener.close(within: .seconds(0))
    return text
  }

  private static let last = "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

  @Test(arguments: [
    "GET /a HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
    "GET /a HTTP/1.1\r\nHost: x\r\nUpgrade: x\r\n\r\n",
    "CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n",
  ])
  func aRequestForAnotherProtocolIsTheLast(_ request: String) async throws {
    let text = try await exchange(request)
    #expect(text.hasPrefix("HTTP/1.1 200") && text.contains("Connection: close"))
  }

  /// They come in one packet with it.
  @Test(arguments: [
    "GET /a HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n",
    "GET /a HTTP/1.1\r\nHost: x\r\nUpgrade: x\r\n\r\n",
    "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
  ])
  func requestsBehindTheLastAreNotDone(_ request: String) async throws {
    let more = String(repeating: "GET /more HTTP/1.1\r\nHost: x\r\n\r\n", count: 3)
    let responder = Long()
    let text = try await exchange(request + more, responder)
    #expect(responder.requests.withLock { $0 } == 1)
    #expect(text.utf8.count { $0 == UInt8(ascii: "x") } == Long.length)
  }

  @Test func anAnswerToHEADHasNoBody() async throws {
    let text = try await exchange("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n" + Self.last)
    #expect(text.components(separatedBy: "HTTP/1.1 200 OK").count == 3)
    #expect(!text.contains("\"/a\"") && text.contains("\"/last\""))
  }

  @Test func whatNobodyAskedForIsReadAndDropped() async throws {
    let body = String(repeating: "x", count: 300_000)
    let text = try await exchange(
      "POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n" + body + Self.last)
    #expect(text.hasPrefix("HTTP/1.1 401") && text.contains("\"/last\""))
  }

  @Test(arguments: [
    ("Content-Length: 6\r\n\r\nabcdef", "6"),
    ("Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "5"),
    ("Content-Length: 90000\r\n\r\n" + String(repeating: "y", count: 90_000), "90000"),
    ("\r\n", "0"),
  ])
  func aBodyIsReadWhole(_ rest: String, _ length: String) async throws {
    let text = try await exchange("POST /a?b=c&d HTTP/1.1\r\nHost: x\r\n" + rest + Self.last)
    #expect(text.contains(#"{"Length":"\#(length)","Path":"/a","Query":"b=c&d"}"#))
    #expect(text.contains("\"/last\""))
  }

  @Test func theFormForProxiesIsReadToo() async throws {
    let text = try await exchange(
      "GET http://x/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    #expect(text.contains(#""Path":"/a""#))
  }

  /// The statuses of all answers. A body ends without a line's end.
  private static func answers(_ text: String) -> [String] {
    text.components(separatedBy: "HTTP/1.1 ").dropFirst().compactMap { rest in
      rest.prefix(4).last == " " ? String(rest.prefix(3)) : nil
    }
  }

  /// What is no request of HTTP comes behind the last one, or breaks a body off that is answered already.
  @Test(arguments: [
    ("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "200"),
    ("GET /a HTTP/1.0\r\n\r\n", "200"),
    ("POST /early HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "401"),
    ("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "200"),
  ])
  func nothingIsAnsweredBehindAFinalAnswer(_ request: String, _ status: String) async throws {
    let text = try await exchange(request + "zz zz\r\n\r\n")
    #expect(Self.answers(text) == [status])
  }

  @Test func whatIsNoRequestIsSaidOnce() async throws {
    let text = try await exchange("GET /a HTTP/1.1\r\nHost: x\r\n\r\nzz zz\r\n\r\nzz zz\r\n\r\n")
    #expect(Self.answers(text) == ["200", "400"])
    #expect(text.contains("this is no request of HTTP/1.1") && text.contains("Connection: close"))
  }

  /// What stands behind is not read: others on the way may have taken the request for another one.
  @Test(arguments: [
    ("GET /a HTTP/1.1\r\n\r\n", "400"), ("GET /a HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", "400"),
    ("GET /a HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n", "400"), ("GET /a HTTP/1.0\r\n\r\n", "200"),
    ("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "501"),
    (
      "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "0\r\n\r\n", "501"
    ),
    ("POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "501"),
  ])
  func aRequestThatOthersMayReadInAnotherWayIsRefused(
    _ request: String, _ status: String
  ) async throws {
    let text = try await exchange(request + Self.last)
    #expect(Self.answers(text) == [status])
    #expect(text.contains("Connection: close"))
  }

  @Test func whoSendsTooManyRequestsAtOnceIsTold() async throws {
    let request = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
    let text = try await exchange(String(repeating: request, count: 500))
    let answered = Array(repeating: "200", count: Limits.unansweredRequests)
    #expect(Self.answers(text) == answered + ["400"] && text.contains("TooManyRequests"))
  }

  /// `*:PORT` on a kernel without IPv6. An address that this host does not have is refused in its way.
  @Test func withoutIPv6ItListensOnIPv4() async throws {
    let setUp = ConnectionSetUp(
      responder: Echo(), connections: OpenConnections(limit: 100, metrics: nil),
      faults: ProxyFaults(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
    let server = try await Listener.bindAll(0, setUp, both: "2001:db8::1")
    #expect(server.localAddress?.protocol == .inet)
    try await server.close()
  }
}

/// The address of the administrator's machines.
struct AdminAddressTests {
  @Test func aPageOfABrowserGetsNothing() async throws {
    try await TestServer.run { test in
      let (metrics, log) = (Metrics(), Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      let now: @Sendable () -> Timestamp = { Timestamp(Date.now) }
      let admin = AdminRoutes(
        store: test.store, metrics: metrics,
        faults: DatabaseFaults(log: log, metrics: metrics, now: now), now: now)
      let loopback = try await Loopback(admin)
      func status(_ host: String) async throws -> Int {
        try await loopback.http.send(
          .GET, "/metrics", to: loopback.origin, headers: ["Host": host]
        ).status
      }
      for host in ["127.0.0.1:9464", "127.0.0.1", "localhost:9464", "[::1]:9464", "192.0.2.7"] {
        #expect(try await status(host) == 200, "\(host)")
      }
      for host in ["a.example:9464", "127.0.0.1.a.example", "localhost.example", "x y", ""] {
        #expect(try await status(host) == 421, "\(host)")
      }
      await loopback.listener.close(within: .seconds(0))
    }
  }
}
