import AuthCore
import AuthTestSupport
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOSSL
import Testing

@testable import AuthServer

/// Nothing that is written arrives.
private final class Dam: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  private var waiting: [EventLoopPromise<Void>] = []
  private(set) var reads = 0

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if let promise { waiting.append(promise) }
  }

  func flush(context: ChannelHandlerContext) {}

  func read(context: ChannelHandlerContext) { reads += 1 }

  func handlerRemoved(context: ChannelHandlerContext) {
    for promise in waiting { promise.fail(ChannelError.ioOnClosedChannel) }
  }
}

/// What closes a connection on which something takes too long, in virtual time: slow heads, bodies,
/// handshakes and readers, and clients that send nothing.
struct DeadlineTests {
  private struct Client {
    let channel: EmbeddedChannel

    /// With the handlers that a listener gives a connection.
    ///
    /// - Parameters:
    ///   - isProxied: a balancer's header comes first.
    ///   - reads: what is written to it arrives.
    init(tls: TLSContexts? = nil, isProxied: Bool = false, reads: Bool = true) throws {
      channel = EmbeddedChannel()
      let pipeline = channel.pipeline.syncOperations
      if !reads { try pipeline.addHandler(Dam()) }
      try pipeline.addHandler(RequestDeadline(OpenConnections(limit: 100, metrics: nil)))
      if isProxied {
        let faults = ProxyFaults(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try pipeline.addHandler(ProxyHeaderHandler(faults) { _ in })
      }
      if let tls { try pipeline.addHandler(tls.handler()) }
      try pipeline.addHTTPServerHandlers()
      channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
    }

    func send(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }

    func answer(isWhole: Bool = true) {
      let head = HTTPResponseHead(
        version: .http1_1, status: .ok, headers: ["Content-Length": "2"])
      write(.head(head))
      write(.body(.byteBuffer(ByteBuffer(string: "{"))))
      guard isWhole else { return }
      write(.body(.byteBuffer(ByteBuffer(string: "}"))))
      write(.end(nil))
    }

    private func write(_ part: HTTPServerResponsePart) {
      channel.writeAndFlush(part, promise: nil)
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
    #expect(throws: RequestParts.tooMany) { try client.send(Self.request) }
    try client.send(Self.request)
    #expect(client.closes(after: Self.answerTime))
  }

  @Test func nothingIsReadWhileAnswersWait() throws {
    let channel = EmbeddedChannel()
    let dam = Dam()
    try channel.pipeline.syncOperations.addHandler(dam)
    channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
    channel.localAddress = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
    channel.remoteAddress = channel.localAddress
    let peer = try #require(Peer(of: channel))
    try channel.pipeline.syncOperations.addHandler(
      RequestHandler(Gate(), peer: peer, isTLS: false))
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
    #expect(throws: (any Error).self) { for _ in 0..<4 { try client.send(raw) } }
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
