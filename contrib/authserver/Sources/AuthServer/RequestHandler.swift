import AuthCore
import struct CredCore.WallTime
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization

/// The end of a connection's pipeline: gives requests to the responder, one at a time, and writes its
/// answers.
final class RequestHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// The request that is arriving or being answered.
  private struct Current {
    let body: RequestBody
    var isWhole = false
    var isAnswered = false
    /// The responder asked for the body.
    var isWanted = false

    /// Nobody wants the rest of the body yet.
    var holdsReads: Bool { !isWhole && !isWanted && !isAnswered }
  }

  private let responder: any Responder
  private let peer: Peer
  private let isTLS: Bool
  private var connection: Connection?
  private var executor: LoopExecutor?
  private var current: Current?
  private var isReadHeld = false
  /// The request that is here, or was here last, is the last one.
  private var closesAfterward = false
  /// Until the kernel has taken it.
  private var lastAnswer: EventLoopFuture<Void>?

  init(_ responder: any Responder, peer: Peer, isTLS: Bool) {
    self.responder = responder
    self.peer = peer
    self.isTLS = isTLS
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isOver else { return }
    switch unwrapInboundIn(data) {
    case .head(let head): start(head, context)
    case .body(let part): current?.body.add(part)
    case .end:
      current?.isWhole = true
      current?.body.end()
      endIfDone(context)
    }
  }

  /// What follows the last request is dropped: its answer says that the connection closes.
  private var isOver: Bool { closesAfterward && current?.isWhole ?? true }

  private func start(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    let loop = context.eventLoop
    let mine = NIOLoopBound((self, context), eventLoop: loop)
    let body = RequestBody(length: head.headers.first(name: "content-length").flatMap { Int($0) }) {
      loop.execute {
        let (handler, context) = mine.value
        handler.current?.isWanted = true
        handler.readOn(context)
      }
    }
    current = Current(body: body)
    if let refusal = head.refusal {
      closesAfterward = true
      return answer(Response(refusal), to: head, context)
    }
    let request = Request(head, connection(context), body)
    Task(executorPreference: executor(loop)) { [responder] in
      let response = await responder.respond(to: request)
      loop.execute {
        let (handler, context) = mine.value
        handler.answer(response, to: head, context)
      }
    }
  }

  private func executor(_ loop: any EventLoop) -> LoopExecutor {
    if let executor { return executor }
    let made = LoopExecutor(loop)
    executor = made
    return made
  }

  /// What TLS says is known once it has shaken hands: at the first request.
  private func connection(_ context: ChannelHandlerContext) -> Connection {
    if let connection { return connection }
    let certificate = isTLS ? try? context.pipeline.syncOperations.nioSSL_peerCertificate() : nil
    let made = Connection(peer: peer, isTLS: isTLS, certificate: certificate ?? nil)
    connection = made
    return made
  }

  private func answer(
    _ response: Response, to request: HTTPRequestHead, _ context: ChannelHandlerContext
  ) {
    current?.isAnswered = true
    current?.body.drop()
    guard context.channel.isActive else { return }
    // Nobody needs HTTP/1.0's connections that stay. What follows a request for another protocol is
    // none of HTTP.
    if !request.isKeepAlive || request.version != .http1_1 || request.method == .CONNECT
      || request.headers.contains(name: "upgrade")
    {
      closesAfterward = true
    }
    write(response, withBody: request.method != .HEAD, context)
    endIfDone(context)
    // What is left of the body is read and dropped: a connection that is closed before would take the
    // answer with it.
    readOn(context)
  }

  private func write(_ response: Response, withBody: Bool, _ context: ChannelHandlerContext) {
    var headers = response.headers
    headers.add(name: "Content-Length", value: String(response.body.count))
    headers.add(name: "Date", value: HTTPDates.now.text)
    if closesAfterward { headers.add(name: "Connection", value: "close") }
    let status = HTTPResponseStatus(statusCode: response.status)
    let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    if withBody, !response.body.isEmpty {
      let body = context.channel.allocator.buffer(bytes: response.body)
      context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
    }
    // An error that waited for this answer comes while it is written.
    let sent = context.eventLoop.makePromise(of: Void.self)
    lastAnswer = sent.futureResult
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
  }

  private func endIfDone(_ context: ChannelHandlerContext) {
    guard let current, current.isWhole, current.isAnswered else { return }
    self.current = nil
    if closesAfterward { closeOnceSent(context) }
  }

  /// What the kernel has not taken yet would be lost.
  private func closeOnceSent(_ context: ChannelHandlerContext) {
    guard let lastAnswer else { return context.close(promise: nil) }
    lastAnswer.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
  }

  /// Who does not read answers gets no more of them.
  private func mayRead(_ context: ChannelHandlerContext) -> Bool {
    !(current?.holdsReads ?? false) && context.channel.isWritable
  }

  func read(context: ChannelHandlerContext) {
    if mayRead(context) { context.read() } else { isReadHeld = true }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    readOn(context)
    context.fireChannelWritabilityChanged()
  }

  private func readOn(_ context: ChannelHandlerContext) {
    guard isReadHeld, mayRead(context) else { return }
    isReadHeld = false
    context.read()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // The client sends nothing more; it may wait for an answer still.
    if case .inputClosed = event as? ChannelEvent {
      closesAfterward = true
      if current == nil { closeOnceSent(context) }
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    current?.body.breakOff()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let error = error as? HTTPParserError else { return context.close(promise: nil) }
    // The last answer is still on its way, and nothing is answered behind it.
    guard !isOver else { return }
    closesAfterward = true
    guard let current, !(current.isWhole && current.isAnswered) else {
      self.current = nil
      write(Response(.unreadable(error)), withBody: true, context)
      return closeOnceSent(context)
    }
    // Its responder answers that the body broke off, or has answered already.
    self.current?.isWhole = true
    current.body.breakOff()
    endIfDone(context)
  }
}

extension HTTPRequestHead {
  /// Why no responder sees the request: others on its way may take it for another one (RFC 9112,
  /// sections 3.2 and 6.1).
  fileprivate var refusal: Refusal? {
    let hosts = headers["host"].count
    let isOld = (version.major, version.minor) < (1, 1)
    guard hosts == 1 || hosts == 0 && isOld else {
      return Refusal(400, "InvalidRequest", "a request has one Host, this one has \(hosts)")
    }
    let codings = headers["transfer-encoding"]
    guard !codings.isEmpty else { return nil }
    guard !isOld, codings.count == 1, codings[0].lowercased() == "chunked" else {
      return Refusal(
        501, "InvalidRequest", "no Transfer-Encoding is known here but 'chunked' of HTTP/1.1")
    }
    return nil
  }
}

extension Refusal {
  fileprivate static func unreadable(_ error: HTTPParserError) -> Self {
    guard error != RequestParts.tooMany else {
      return Self(
        400, "TooManyRequests",
        "more than \(Limits.unansweredRequests) requests waited for their answers")
    }
    return Self(400, "InvalidRequest", "this is no request of HTTP/1.1")
  }
}

/// The `Date` of answers, formatted once a second.
private final class HTTPDates: Sendable {
  static let now = HTTPDates()
  private let kept = Mutex((second: Int64(0), text: ""))

  var text: String {
    let now = Date.now
    let second = Int64(now.timeIntervalSince1970)
    return kept.withLock { kept in
      if kept.second != second { kept = (second, Timestamp(now).wallTime.httpDate) }
      return kept.text
    }
  }
}
