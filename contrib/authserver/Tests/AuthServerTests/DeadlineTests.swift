import AuthCore
import AuthTestSupport
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOSSL
import Synchronization
import Testing

@testable import AuthServer

/// What is written behind it does not arrive.
final class Dam: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  var isShut: Bool
  private var waiting: [EventLoopPromise<Void>] = []
  private(set) var reads = 0

  init(isShut: Bool) { self.isShut = isShut }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard isShut else { return context.write(data, promise: promise) }
    if let promise { waiting.append(promise) }
  }

  func read(context: ChannelHandlerContext) {
    reads += 1
    context.read()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    for promise in waiting { promise.fail(ChannelError.ioOnClosedChannel) }
  }
}

/// A responder whose answers the test gives.
final class Desk: Responder {
  private let waiting = Mutex<[CheckedContinuation<Response, Never>]>([])
  private let asked = Mutex(0)

  /// Requests so far.
  var requests: Int { asked.withLock { $0 } }

  func respond(to request: Request) async -> Response {
    asked.withLock { $0 += 1 }
    return await withCheckedContinuation { request in waiting.withLock { $0.append(request) } }
  }

  /// Answers the oldest request.
  func answer() {
    waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }?
      .resume(returning: Response(status: 200, headers: [:], body: Array("{}".utf8)))
  }
}

extension ConnectionSetUp {
  /// A connection from loopback in virtual time, behind handlers of the test.
  func embedded(behind handlers: any ChannelHandler...) throws -> EmbeddedChannel {
    let channel = EmbeddedChannel()
    for handler in handlers { try channel.pipeline.syncOperations.addHandler(handler) }
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
    channel.localAddress = address
    channel.remoteAddress = address
    try self(channel)
    channel.connect(to: address, promise: nil)
    return channel
  }
}

/// What closes a connection on which something takes too long, in virtual time: slow heads, bodies,
/// handshakes and readers, and clients that send nothing.
struct DeadlineTests {
  private struct Client {
    let channel: EmbeddedChannel
    private let desk = Desk()
    private let dam: Dam

    /// With the handlers that a listener gives a connection.
    ///
    /// - Parameters:
    ///   - isProxied: a balancer's header comes first.
    ///   - reads: what is written to it arrives.
    init(tls: TLSContexts? = nil, isProxied: Bool = false, reads: Bool = true) throws {
      dam = Dam(isShut: !reads)
      var proxies = AuthCore.Configuration.Proxies()
      if isProxied { proxies.networks = [try #require(IPNetwork("127.0.0.1"))] }
      let setUp = ConnectionSetUp(
        responder: desk, tls: tls, connections: OpenConnections(limit: 100, metrics: nil),
        proxies: proxies,
        faults: ProxyFaults(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
      channel = try setUp.embedded(behind: dam)
    }

    /// Requests that were not refused.
    var requests: Int { desk.requests }

    func send(_ text: String) throws {
      try channel.writeInbound(ByteBuffer(string: text))
      channel.embeddedEventLoop.run()
    }

    func answer(isWhole: Bool = true) {
      if !isWhole { dam.isShut = true }
      desk.answer()
      channel.embeddedEventLoop.run()
    }

    func pass(_ seconds: Int64) { channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

    var isOpen: Bool { channel.isActive }

    /// Whether the connection is open until just before, and closed then.
    func closes(after seconds: Int64) -> Bool {
      pass(seconds - 1)
      guard isOpen else { return false }
      pass(1)
      return !isOpen
    }
  }

  private static let request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
  private static let requestTime = Limits.requestTime.milliseconds / 1000
  private static let idleTime = Limits.idleTime.milliseconds / 1000
  private static let answerTime = Limits.answerTime.milliseconds / 1000

  @Test func whoSendsNothingIsClosed() throws {
    #expect(try Client().closes(after: Self.requestTime))
  }

  @Test(arguments: [
    "GET /healthz HTTP/1.1\r\n", "POST /v1/token HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
  ])
  func aRequestThatDripsHasNoMoreTimeThanAnother(_ start: String) throws {
    let client = try Client()
    try client.send(start)
    for _ in 1..<Self.requestTime {
      client.pass(1)
      #expect(client.isOpen)
      try client.send(start.hasPrefix("GET") ? "X: y\r\n" : "")
    }
    client.pass(1)
    #expect(!client.isOpen)
  }

  @Test func aLaterRequestHasItsTimeFromItsFirstByte() throws {
    let client = try Client()
    try client.send(Self.request)
    client.answer()
    client.pass(Self.idleTime - 1)
    try client.send("GET /healthz")
    #expect(client.closes(after: Self.requestTime))
  }

  @Test func anIdleConnectionIsClosed() throws {
    let client = try Client()
    try client.send(Self.request)
    client.answer()
    #expect(client.closes(after: Self.idleTime))
  }

  /// The rest of an answer waits until the client has read what was sent.
  @Test func whoReadsNothingIsClosed() throws {
    let client = try Client()
    try client.send(Self.request)
    client.answer(isWhole: false)
    #expect(client.closes(after: Self.answerTime))
  }

  @Test func furtherRequestsGiveAReaderOfNothingNoMoreTime() throws {
    let client = try Client(reads: false)
    for _ in 0..<12 {
      try client.send(Self.request)
      client.answer()
      client.pass(Self.answerTime / 12 - 1)
      #expect(client.isOpen)
      client.pass(1)
    }
    #expect(!client.isOpen)
  }

  @Test func whoReadsNothingHasFewAnswersWaiting() throws {
    let client = try Client(reads: false)
    for _ in 0..<Limits.unansweredRequests {
      try client.send(Self.request)
      client.answer()
    }
    // The error waits behind them, and what comes then is dropped.
    try client.send(Self.request)
    try client.send(Self.request)
    #expect(client.requests == Limits.unansweredRequests)
    #expect(client.closes(after: Self.answerTime))
  }

  @Test func nothingIsReadWhileAnswersWait() throws {
    let dam = Dam(isShut: false)
    let setUp = ConnectionSetUp(
      responder: Desk(), connections: OpenConnections(limit: 100, metrics: nil),
      faults: ProxyFaults(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
    let channel = try setUp.embedded(behind: dam)
    let before = dam.reads
    channel.isWritable = false
    channel.pipeline.fireChannelWritabilityChanged()
    channel.pipeline.read()
    #expect(dam.reads == before)
    channel.isWritable = true
    channel.pipeline.fireChannelWritabilityChanged()
    #expect(dam.reads == before + 1)
  }

  /// HTTP's parser stops there, and what comes is kept.
  @Test(arguments: ["GET /", "CONNECT x:1"])
  func whatFollowsAnotherProtocolIsNotKept(_ request: String) throws {
    let client = try Client()
    try client.send(
      "\(request) HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
    let raw = String(repeating: "x", count: Limits.headerBytes)
    for _ in 0..<4 { try client.send(raw) }
    #expect(!client.isOpen)
  }

  @Test func whatWasAnsweredBeforeItsEndHasAnEndToo() throws {
    let head = "POST /v1/token HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"
    let client = try Client()
    try client.send(head)
    client.answer()
    #expect(client.closes(after: Self.requestTime))
    let other = try Client()
    try other.send(head)
    other.answer()
    other.pass(Self.requestTime - 1)
    try other.send("0123456789")
    #expect(other.closes(after: Self.idleTime))
  }

  @Test func aSecondRequestOfTheSamePacketHasATimeOfItsOwn() throws {
    let client = try Client()
    try client.send(Self.request)
    try client.send("GET /hea")
    client.pass(Self.answerTime - 1)
    client.answer()
    #expect(client.closes(after: Self.requestTime))
  }

  private static let chunked =
    "POST /v1/token HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

  @Test func aRequestThatBeginsWithTheEndOfAnotherHasItsTime() throws {
    let client = try Client()
    try client.send(Self.request + Self.chunked)
    client.answer()
    #expect(client.closes(after: Self.requestTime))
    let answered = try Client()
    try answered.send(Self.chunked)
    answered.answer()
    try answered.send("0\r\n\r\n" + Self.chunked)
    #expect(answered.closes(after: Self.requestTime))
  }

  /// No answer is waited for any more.
  @Test func whatWasAnsweredBeforeItsEndIsNotCountedTwice() throws {
    let client = try Client()
    try client.send(Self.request + Self.chunked)
    client.answer()
    client.answer()
    try client.send("0\r\n\r\n")
    client.pass(Self.answerTime)
    #expect(client.isOpen)
    try client.send(Self.request)
    client.answer()
    #expect(client.closes(after: Self.idleTime))
  }

  @Test func aBalancersHeaderThatDripsIsClosed() throws {
    let client = try Client(isProxied: true)
    let header: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    for byte in header {
      try client.channel.writeInbound(ByteBuffer(bytes: [byte]))
      client.pass(1)
      #expect(client.isOpen)
    }
    #expect(client.closes(after: Self.requestTime - Int64(header.count)))
  }

  @Test func aHandshakeThatDripsIsClosed() throws {
    let certificates = try TestCertificates()
    try certificates.issue("server", "DNS:localhost")
    let tls = try TLSContexts(certificates.configuration, metrics: Metrics())
    let client = try Client(tls: tls)
    // A record of 512 bytes that holds a ClientHello; a byte of it each second.
    let hello: [UInt8] = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3] + Array(repeating: 7, count: 32)
    for byte in hello.prefix(Int(Self.requestTime) - 1) {
      try client.channel.writeInbound(ByteBuffer(bytes: [byte]))
      client.pass(1)
      #expect(client.isOpen)
    }
    client.pass(1)
    #expect(!client.isOpen)
  }
}
