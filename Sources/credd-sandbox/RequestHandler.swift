import FoundationEssentials
import NIOCore
import NIOHTTP1
import SandboxKit

/// One connection: collects a request, has it answered, sends the answer the way it wants to go.
///
/// The pipeline lets one request through at a time, so there is one answer under way at most.
final class RequestHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  static let maximumBody = 1 << 20

  private enum Progress {
    case idle
    case reading(HTTPRequestHead, [UInt8])
    /// The rest of a request that was refused already.
    case discarding
  }

  private let host: SandboxHost
  private var progress = Progress.idle
  private var underWay: Answer?
  private var delayed: Scheduled<Void>?

  init(host: SandboxHost) {
    self.host = host
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): begin(head, context)
    case .body(let part): collect(part, context)
    case .end: finish(context)
    }
  }

  func handlerAdded(context: ChannelHandlerContext) {
    host.connectionOpened()
  }

  /// The connection is gone, and with it whoever waited for an answer.
  func handlerRemoved(context: ChannelHandlerContext) {
    delayed?.cancel()
    ended()
    host.connectionClosed()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // A connection that waits for a delayed or a hanging answer is quiet by design.
    if event is IdleStateHandler.IdleStateEvent, underWay == nil { context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    if let length = head.headers.first(name: "Content-Length").flatMap({ Int($0) }),
      length > RequestHandler.maximumBody
    {
      return refuse(head, context)
    }
    if head.headers.first(name: "Expect")?.lowercased() == "100-continue" {
      let interim = HTTPResponseHead(version: head.version, status: .continue)
      context.writeAndFlush(wrapOutboundOut(.head(interim)), promise: nil)
    }
    progress = .reading(head, [])
  }

  private func collect(_ part: ByteBuffer, _ context: ChannelHandlerContext) {
    guard case .reading(let head, var body) = progress else { return }
    guard body.count + part.readableBytes <= RequestHandler.maximumBody else {
      return refuse(head, context)
    }
    // The array leaves the state before it grows, so that it is not copied for each part.
    progress = .idle
    body.append(contentsOf: part.readableBytesView)
    progress = .reading(head, body)
  }

  private func finish(_ context: ChannelHandlerContext) {
    guard case .reading(let head, let body) = progress else { return }
    progress = .idle
    let fields = head.headers.map { HTTPField($0.name, $0.value) }
    let request = HTTPRequest(
      method: head.method.rawValue, target: head.uri, headers: fields, body: body)
    let answer = host.sandbox.answer(request, at: Date())
    underWay = answer
    guard answer.delay > 0 else { return send(answer, for: head, context) }
    delayed = context.eventLoop.assumeIsolated().scheduleTask(
      in: .nanoseconds(Int64(answer.delay * 1e9))
    ) {
      self.send(answer, for: head, context)
    }
  }

  private func refuse(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    progress = .discarding
    let message = "body is longer than \(RequestHandler.maximumBody) bytes"
    let reply = HTTPReply(
      status: 413, json: ["Code": "RequestTooLarge", "Message": .string(message)])
    write(reply, date: Date(), for: head, keepsAlive: false, context)
  }

  private func send(_ answer: Answer, for head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    switch answer.delivery {
    case .never: return
    case .reset:
      context.channel.resetOnClose()
      context.close(promise: nil)
    case .truncated:
      var reply = answer.reply
      reply.headers.append(HTTPField("Content-Length", String(reply.body.count)))
      reply.body.removeLast(reply.body.count - reply.body.count / 2)
      write(reply, date: answer.date, for: head, keepsAlive: false, context)
    case .whole:
      write(answer.reply, date: answer.date, for: head, keepsAlive: head.isKeepAlive, context)
    }
    ended()
  }

  private func ended() {
    guard let answer = underWay else { return }
    underWay = nil
    host.sandbox.ended(answer)
  }

  private func write(
    _ reply: HTTPReply, date: Date, for head: HTTPRequestHead, keepsAlive: Bool,
    _ context: ChannelHandlerContext
  ) {
    var headers = HTTPHeaders(reply.headers.map { ($0.name, $0.value) })
    if !headers.contains(name: "Content-Length") {
      headers.add(name: "Content-Length", value: String(reply.body.count))
    }
    headers.add(name: "Date", value: date.httpText)
    if !keepsAlive { headers.add(name: "Connection", value: "close") }
    let start = HTTPResponseHead(
      version: head.version, status: HTTPResponseStatus(statusCode: reply.status),
      headers: headers)
    context.write(wrapOutboundOut(.head(start)), promise: nil)
    if head.method != .HEAD {
      let body = context.channel.allocator.buffer(bytes: reply.body)
      context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
    }
    let sent = context.writeAndFlush(wrapOutboundOut(.end(nil)))
    guard !keepsAlive else { return }
    sent.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
  }
}
