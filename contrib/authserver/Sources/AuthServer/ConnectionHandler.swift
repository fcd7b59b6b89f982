import AuthCore
import struct CredCore.WallTime
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization

/// The end of a connection's pipeline: tells a ``ConnectionMachine`` what happens, and does what that
/// says.
final class ConnectionHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// As the socket says, until a balancer says whose the connection is.
  var peer: Peer
  private let responder: any Responder
  private let isTLS: Bool
  private let connections: OpenConnections
  private let channel: any Channel
  private let executor: LoopExecutor
  private(set) var machine: ConnectionMachine
  /// The first event is being handled. An action for it may cause further events, which wait here.
  private var events: [ConnectionMachine.Event] = []
  private var timer: (wait: ConnectionMachine.Wait, task: Scheduled<Void>)?
  private var context: ChannelHandlerContext?
  private var connection: Connection?
  /// The responder, while it waits for a body.
  private var reader: CheckedContinuation<RequestBody.Outcome, Never>?

  init(
    _ channel: any Channel, _ peer: Peer, isTLS: Bool, _ responder: any Responder,
    _ connections: OpenConnections
  ) {
    self.channel = channel
    self.peer = peer
    self.isTLS = isTLS
    self.responder = responder
    self.connections = connections
    executor = LoopExecutor(channel.eventLoop)
    machine = ConnectionMachine(at: channel.eventLoop.now)
  }

  // MARK: What happens

  func take(_ event: ConnectionMachine.Event) {
    events.append(event)
    guard events.count == 1 else { return }
    while let event = events.first {
      for action in machine.handle(event, at: channel.eventLoop.now) { perform(action) }
      events.removeFirst()
    }
    arm()
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): take(.head(head))
    case .body(let part): take(.body(part))
    case .end: take(.end)
    }
  }

  func read(context: ChannelHandlerContext) { take(.readWanted) }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    take(.writable(context.channel.isWritable))
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is ChannelShouldQuiesceEvent { take(.stopping) }
    if case .inputClosed = event as? ChannelEvent { take(.halfClosed) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // NIO reports the bytes behind bytes that are no HTTP as an error of the second type.
    let isUnreadable = error is HTTPParserError || error is ByteToMessageDecoderError
    take(isUnreadable ? .unreadable : .failed)
  }

  /// One timer, for what the machine waits for.
  func arm() {
    guard machine.isOpen else {
      timer?.task.cancel()
      return timer = nil
    }
    let wait = machine.wait
    guard timer?.wait != wait else { return }
    timer?.task.cancel()
    let end = wait.end(idle: connections.idleTime)
    let task = channel.eventLoop.assumeIsolated().scheduleTask(deadline: end) { [self] in
      take(.timer)
    }
    timer = (wait, task)
  }

  // MARK: What is done

  private func perform(_ action: ConnectionMachine.Action) {
    switch action {
    case .respond(let head): respond(to: head)
    case .give(let outcome):
      reader?.resume(returning: outcome)
      reader = nil
    case .write(let response, let withBody, let isLast):
      write(response, withBody: withBody, isLast: isLast)
    case .read: context?.read()
    case .close: channel.close(promise: nil)
    }
  }

  private func respond(to head: HTTPRequestHead) {
    let mine = NIOLoopBound(self, eventLoop: channel.eventLoop)
    let body = RequestBody { [executor] limit, reader in
      executor.run {
        mine.value.reader = reader
        mine.value.take(.bodyWanted(limit: limit))
      }
    }
    let request = Request(head, knownConnection(), body)
    Task(executorPreference: executor) { [executor, responder] in
      let response = await responder.respond(to: request)
      executor.run { mine.value.take(.answered(response)) }
    }
  }

  /// What TLS says is known once it has shaken hands: at the first request.
  private func knownConnection() -> Connection {
    if let connection { return connection }
    let certificate =
      isTLS ? try? context?.pipeline.syncOperations.nioSSL_peerCertificate() : nil
    let made = Connection(peer: peer, isTLS: isTLS, certificate: certificate ?? nil)
    connection = made
    return made
  }

  private func write(_ response: Response, withBody: Bool, isLast: Bool) {
    guard let context else { return }
    var headers = response.headers
    headers.add(name: "Content-Length", value: String(response.body.count))
    headers.add(name: "Date", value: HTTPDates.now.text)
    if isLast { headers.add(name: "Connection", value: "close") }
    let status = HTTPResponseStatus(statusCode: response.status)
    let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    if withBody, !response.body.isEmpty {
      let body = context.channel.allocator.buffer(bytes: response.body)
      context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
    }
    let sent = context.eventLoop.makePromise(of: Void.self)
    sent.futureResult.assumeIsolated().whenComplete { [self] result in
      if case .success = result { take(.flushed) } else { take(.failed) }
    }
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
  }
}

/// The start of a connection's pipeline, before a balancer's header and TLS are read: their bytes have no
/// more time than a request.
final class ArrivingBytes: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let connection: ConnectionHandler

  init(_ connection: ConnectionHandler) { self.connection = connection }

  func handlerAdded(context: ChannelHandlerContext) { connection.arm() }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    connection.take(.bytes)
    context.fireChannelRead(data)
  }

  func channelInactive(context: ChannelHandlerContext) {
    connection.take(.closed)
    context.fireChannelInactive()
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
