import AuthCore
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix

/// One listening socket with its connections.
struct Listener: Sendable {
  /// Where connections come from.
  enum Source: Sendable {
    case address(AuthCore.Configuration.ListenAddress)
    /// A socket that was passed.
    case descriptor(CInt)
  }

  private let server: any Channel
  private let connections: OpenConnections

  /// Binds the socket; connections are taken from then on.
  init(
    _ source: Source, responder: any Responder, tls: TLSContexts?, connections: OpenConnections
  ) async throws {
    self.connections = connections
    let setUp = ConnectionSetUp(responder: responder, tls: tls, connections: connections)
    let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: 1024)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try setUp(channel) }
          .flatMapError { error in
            // NIO leaves a connection open that could not be set up.
            channel.close(promise: nil)
            return channel.eventLoop.makeFailedFuture(error)
          }
      }
    server = try await Self.bind(bootstrap, source)
  }

  private static func bind(_ bootstrap: ServerBootstrap, _ source: Source) async throws
    -> any Channel
  {
    switch source {
    case .descriptor(let descriptor):
      return try await bootstrap.withBoundSocket(descriptor).get()
    case .address(.unixSocket(let path)):
      let server = try await bootstrap.bind(
        unixDomainSocketPath: path, cleanupExistingSocketFile: true
      ).get()
      // Its folder says who may connect; tokens say who may ask.
      try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
      return server
    case .address(.network(let host, let port)):
      return try await bootstrap.bind(host: host, port: port).get()
    case .address(.systemd):
      throw ServerFailure("listen = systemd, but systemd has passed no socket")
    }
  }

  var address: SocketAddress? { server.localAddress }

  /// Takes no more connections, and waits until the requests under way are answered.
  func close(within time: Interval) async {
    try? await server.close()
    await connections.end(within: time)
  }
}

/// The handlers of a new connection, from the socket to the responder.
private struct ConnectionSetUp: Sendable {
  let responder: any Responder
  let tls: TLSContexts?
  let connections: OpenConnections

  func callAsFunction(_ channel: any Channel) throws {
    // Asked once, while the connection is there: afterwards nobody knows whose it was.
    guard let peer = Peer(of: channel) else { throw Peer.Gone() }
    try connections.enter(channel, from: peer)
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(RequestDeadline(connections))
    if let tls { try pipeline.addHandler(tls.handler()) }
    try pipeline.addHTTPServerHandlers()
    try pipeline.addHandler(RequestHandler(responder, peer: peer, isTLS: tls != nil))
  }
}

extension ChannelPipeline.SynchronousOperations {
  /// HTTP/1.1 within the server's limits, one request after the other.
  func addHTTPServerHandlers() throws {
    var limits = NIOHTTPDecoderLimitConfiguration()
    limits.maxHeaderFieldSize = Limits.headerBytes
    limits.maxHeaderListSize = Limits.headerBytes
    limits.maxHeaderFieldCount = Limits.headerFields
    let decoder = HTTPRequestDecoder(
      leftOverBytesStrategy: .dropBytes, limitConfiguration: limits)
    try addHandlers([
      HTTPResponseEncoder(), ByteToMessageHandler(decoder), RequestParts(),
      HTTPServerPipelineHandler(), NIOHTTPResponseHeadersValidator(),
      HTTPServerProtocolErrorHandler(),
    ])
  }
}

/// Why the server cannot run.
public struct ServerFailure: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}
