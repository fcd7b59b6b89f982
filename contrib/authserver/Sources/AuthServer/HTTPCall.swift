import NIOCore
import NIOHTTP1

/// One request of this server's own, and how long and how much it may take.
struct HTTPCall: Sendable {
  var head: HTTPRequestHead
  var body: [UInt8]
  /// Of the reply's body, in bytes.
  var limit: Int
  var end: NIODeadline

  struct Outcome: Sendable {
    var reply: HTTPClient.Reply
    /// The connection may be used again.
    var isReusable: Bool
  }
}

/// The end of a connection's pipeline, which makes one call after the other.
final class HTTPCallHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private struct Running {
    let promise: EventLoopPromise<HTTPCall.Outcome>
    let limit: Int
    let timer: Scheduled<Void>
    var head: HTTPResponseHead?
    var body: [UInt8] = []
  }

  private var context: ChannelHandlerContext?
  private var running: Running?

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    fail("the connection was closed")
    self.context = nil
  }

  /// On the connection's event loop.
  func start(_ call: HTTPCall) -> EventLoopFuture<HTTPCall.Outcome> {
    guard let context, running == nil else {
      preconditionFailure("a call on a connection that is closed or has one")
    }
    let promise = context.eventLoop.makePromise(of: HTTPCall.Outcome.self)
    let timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: call.end) { [self] in
      fail("there was no whole reply in time")
    }
    running = Running(promise: promise, limit: call.limit, timer: timer)
    context.write(wrapOutboundOut(.head(call.head)), promise: nil)
    let body = context.channel.allocator.buffer(bytes: call.body)
    context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    return promise.futureResult
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): running?.head = head
    case .body(let part):
      running?.body += part.readableBytesView
      guard let running, running.body.count > running.limit else { return }
      fail("the reply is longer than \(running.limit) bytes")
    case .end: finish(context)
    }
  }

  private func finish(_ context: ChannelHandlerContext) {
    guard let running, let head = running.head else { return context.close(promise: nil) }
    self.running = nil
    running.timer.cancel()
    let reply = HTTPClient.Reply(
      status: Int(head.status.code), headers: head.headers, body: running.body)
    running.promise.succeed(HTTPCall.Outcome(reply: reply, isReusable: head.isKeepAlive))
  }

  private func fail(_ reason: String) {
    guard let running else { return }
    self.running = nil
    running.timer.cancel()
    running.promise.fail(HTTPClient.Failure(reason))
    context?.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    fail("the connection was closed")
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    fail("\(error)")
    context.close(promise: nil)
  }
}
