public import AuthCore
import FoundationEssentials
public import Hummingbird
import HummingbirdCore
public import Logging
public import NIOCore
import NIOExtras
import NIOHTTPTypes
import NIOPosix
import NIOSSL
public import ServiceLifecycle
import Synchronization

/// One listening socket. Hummingbird's own server takes no socket that systemd has made, and no new
/// certificate while it runs; its HTTP channel does the rest.
public struct Listener<Responder: HTTPResponder>: Service where Responder.Context == Connection {
  /// Where connections come from.
  public enum Source: Sendable {
    case address(AuthCore.Configuration.ListenAddress)
    /// A socket that was passed.
    case descriptor(CInt)
  }

  let source: Source
  let responder: Responder
  let tls: TLSContexts?
  /// Nil where nobody counts its connections.
  let metrics: Metrics?
  let log: Logger
  /// Connections at once.
  let limit: Int
  let onReady: @Sendable (SocketAddress?) -> Void

  public init(
    source: Source, responder: Responder, tls: TLSContexts?, metrics: Metrics?, log: Logger,
    limit: Int = Limits.connections,
    onReady: @escaping @Sendable (SocketAddress?) -> Void = { _ in }
  ) {
    self.source = source
    self.responder = responder
    self.tls = tls
    self.metrics = metrics
    self.log = log
    self.limit = limit
    self.onReady = onReady
  }

  private typealias Child = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

  public func run() async throws {
    let quiescing = ServerQuiescingHelper(group: MultiThreadedEventLoopGroup.singleton)
    let connections = OpenConnections(limit: limit, metrics: metrics)
    let http = httpChannel()
    let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: 1024)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            quiescing.makeServerChannelHandler(channel: channel))
        }
      }
    let setUp: @Sendable (any Channel) -> EventLoopFuture<Child> = { channel in
      channel.eventLoop.makeCompletedFuture {
        guard let peer = Peer(of: channel) else { throw Peer.Gone() }
        try connections.enter(channel, from: peer)
        try channel.pipeline.syncOperations.addHandler(RequestDeadline(connections))
        if let tls { try channel.pipeline.syncOperations.addHandler(tls.handler()) }
      }.flatMap { http.setup(channel: channel, logger: log) }.flatMapError { error in
        // NIO leaves a connection open that could not be set up.
        channel.close(promise: nil)
        return channel.eventLoop.makeFailedFuture(error)
      }
    }
    let server = try await bind(bootstrap, setUp)
    log.info(
      "listening",
      metadata: ["address": "\(server.channel.localAddress?.description ?? "a passed socket")"])
    onReady(server.channel.localAddress)
    await withGracefulShutdownHandler {
      await withDiscardingTaskGroup { tasks in
        do {
          try await server.executeThenClose { clients in
            for try await client in clients {
              tasks.addTask { await http.handle(value: client, logger: log) }
            }
          }
        } catch {
          log.error("listening ended", metadata: ["reason": "\(error)"])
        }
      }
    } onGracefulShutdown: {
      quiescing.initiateShutdown(promise: nil)
    }
  }

  private func bind(
    _ bootstrap: ServerBootstrap,
    _ setUp: @escaping @Sendable (any Channel) -> EventLoopFuture<Child>
  ) async throws -> NIOAsyncChannel<Child, Never> {
    switch source {
    case .descriptor(let descriptor):
      return try await bootstrap.bind(descriptor, childChannelInitializer: setUp)
    case .address(.unixSocket(let path)):
      let server = try await bootstrap.bind(
        unixDomainSocketPath: path, cleanupExistingSocketFile: true, childChannelInitializer: setUp)
      // Its folder says who may connect; tokens say who may ask.
      try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
      return server
    case .address(.network(let host, let port)):
      return try await bootstrap.bind(host: host, port: port, childChannelInitializer: setUp)
    case .address(.systemd):
      throw ServerFailure("listen = systemd, but systemd has passed no socket")
    }
  }

  private func httpChannel() -> HTTP1Channel {
    var decoder = HTTP1Channel.Configuration.DecoderConfiguration()
    decoder.maxHeaderFieldSize = Limits.headerBytes
    decoder.maxHeaderListSize = Limits.headerBytes
    decoder.maxHeaderFieldCount = 100
    let configuration = HTTP1Channel.Configuration(
      additionalChannelHandlers: [RequestParts()],
      httpDecoderConfiguration: decoder)
    let dates = HTTPDates()
    return HTTP1Channel(
      responder: { request, writer, channel in
        // Asked once, while the connection is there: afterwards nobody knows whose it was.
        guard let peer = Peer(of: channel) else { throw Peer.Gone() }
        let context = Connection(channel, peer: peer, logger: log)
        var response = try await responder.respond(to: request, context: context)
        response.headers[.date] = dates.text
        try await writer.write(response: response.head, body: response.body)
      }, configuration: configuration)
  }
}

/// Why the server cannot run.
public struct ServerFailure: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}

/// The `Date` of answers, formatted once a second.
private final class HTTPDates: Sendable {
  private let kept = Mutex((second: Int64(0), text: ""))

  var text: String {
    let now = Date.now
    let second = Int64(now.timeIntervalSince1970)
    return kept.withLock { kept in
      if kept.second != second { kept = (second, Timestamp(now).httpDate) }
      return kept.text
    }
  }
}
