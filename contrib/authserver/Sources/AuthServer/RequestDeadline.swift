import AuthCore
import NIOCore
import NIOHTTP1

/// Closes a connection on which something takes too long: the first request with TLS' handshake, a
/// later request from its first byte to its last, or the wait for one. It stands before TLS, and sees
/// bytes; ``RequestParts`` tells it where requests begin and end, and where answers end.
final class RequestDeadline: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private enum State {
    /// A request is arriving, or the first one is waited for. It may be answered before its end.
    case receiving(isAnswered: Bool)
    /// Until the kernel has taken the answer: a client that does not read makes that long. It may
    /// have sent more, which comes next.
    case answering(hasMore: Bool)
    case idle
  }

  private let connections: OpenConnections
  private var state = State.receiving(isAnswered: false)
  /// Requests that have ended, and wait for their answers.
  private var unanswered = 0
  private var timer: Scheduled<Void>?
  private var channel: (any Channel)?

  init(_ connections: OpenConnections) { self.connections = connections }

  func handlerAdded(context: ChannelHandlerContext) {
    channel = context.channel
    start(Limits.requestTime)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
    channel = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    requestBegan()
    context.fireChannelRead(data)
  }

  /// With bytes that arrive, and with a request's head: that may stand behind the end of another
  /// request in the same bytes.
  func requestBegan() {
    switch state {
    case .receiving: break
    case .answering: state = .answering(hasMore: true)
    case .idle:
      state = .receiving(isAnswered: false)
      start(Limits.requestTime)
    }
  }

  func requestEnded() {
    if case .receiving(isAnswered: true) = state { return wait() }
    state = .answering(hasMore: false)
    unanswered += 1
    // A further request gives the answers before it no more time.
    if unanswered == 1 { start(Limits.answerTime) }
  }

  func answerEnded() {
    unanswered = max(0, unanswered - 1)
    guard unanswered == 0 else { return start(Limits.answerTime) }
    switch state {
    // The rest of the request has the time that it had.
    case .receiving: state = .receiving(isAnswered: true)
    case .answering(hasMore: true):
      state = .receiving(isAnswered: false)
      start(Limits.requestTime)
    case .answering(hasMore: false), .idle: wait()
    }
  }

  private func wait() {
    state = .idle
    start(connections.idleTime)
  }

  private func start(_ time: Interval) {
    timer?.cancel()
    guard let channel else { return }
    timer = channel.eventLoop.scheduleTask(in: .milliseconds(time.milliseconds)) {
      channel.close(promise: nil)
    }
  }
}

/// Tells the connection's ``RequestDeadline`` where requests begin and end, and where answers end. An
/// answer has ended once the kernel has taken it. A client that sends too many requests before their
/// answers gets the answers so far, then the error, and is disconnected.
final class RequestParts: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private var deadline: RequestDeadline?
  private var unanswered = 0
  private var isRefused = false

  /// Among the parser's errors, since these wait for the answers before them.
  static let tooMany = HTTPParserError.paused

  func handlerAdded(context: ChannelHandlerContext) {
    deadline = try? context.pipeline.syncOperations.handler(type: RequestDeadline.self)
  }

  func handlerRemoved(context: ChannelHandlerContext) { deadline = nil }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // The decoder gives the rest of what it has, too.
    guard !isRefused else { return }
    switch unwrapInboundIn(data) {
    case .head:
      unanswered += 1
      isRefused = unanswered > Limits.unansweredRequests
      guard !isRefused else { return context.fireErrorCaught(Self.tooMany) }
      deadline?.requestBegan()
    case .end: deadline?.requestEnded()
    case .body: break
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
    let promise = promise ?? context.eventLoop.makePromise()
    promise.futureResult.assumeIsolated().whenSuccess { [self] in
      unanswered -= 1
      deadline?.answerEnded()
    }
    context.write(data, promise: promise)
  }
}
