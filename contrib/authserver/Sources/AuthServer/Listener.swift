import AuthCore
import FoundationEssentials
import Glibc
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
  init(_ source: Source, _ setUp: ConnectionSetUp) async throws {
    connections = setUp.connections
    server = try await Self.bind(source, setUp)
  }

  private static func bootstrap(_ setUp: ConnectionSetUp) -> ServerBootstrap {
    ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
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
  }

  private static func bind(
    _ source: Source, _ setUp: ConnectionSetUp
  ) async throws -> any Channel {
    let bootstrap = bootstrap(setUp)
    switch source {
    case .descriptor(let descriptor):
      return try await bootstrap.withBoundSocket(descriptor).get()
    case .address(.unixSocket(let path)):
      try await checkUnused(path)
      let server = try await named(path) {
        try await bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
      }
      // Its folder says who may connect; tokens say who may ask.
      try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
      return server
    case .address(.network("*", let port)):
      return try await named("*:\(port)") { try await bindAll(port, setUp) }
    case .address(.network(let host, let port)):
      return try await named("\(host):\(port)") {
        try await bootstrap.bind(host: host, port: port).get()
      }
    case .address(.systemd):
      throw ServerFailure.noSocket
    }
  }

  /// One socket for both families; where the kernel has no IPv6, one for IPv4. A bootstrap keeps its
  /// options, and that of IPv6 is an error for IPv4.
  static func bindAll(
    _ port: Int, _ setUp: ConnectionSetUp, both: String = "::"
  ) async throws -> any Channel {
    let isForSix = ChannelOptions.Types.SocketOption(level: .ipv6, name: .ipv6_v6only)
    do {
      return try await bootstrap(setUp).serverChannelOption(isForSix, value: 0)
        .bind(host: both, port: port).get()
    } catch let error as IOError
      where [EAFNOSUPPORT, EADDRNOTAVAIL].contains(error.errnoCode)
    {
      return try await bootstrap(setUp).bind(host: "0.0.0.0", port: port).get()
    }
  }

  /// A second server on a path would take the first one's clients.
  private static func checkUnused(_ path: String) async throws {
    let client = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connectTimeout(.milliseconds(Limits.connectTime.milliseconds))
    do {
      let channel = try await client.connect(unixDomainSocketPath: path).get()
      channel.close(promise: nil)
    } catch let error as IOError where [ENOENT, ECONNREFUSED].contains(error.errnoCode) {
      return
    } catch {
      // One that cannot be asked, or is too busy to answer, may be a server too.
      throw failure(path, error)
    }
    throw ServerFailure("\(path): another program, perhaps a second server, listens there")
  }

  private static func named(
    _ address: String, _ bind: () async throws -> any Channel
  ) async throws -> any Channel {
    do { return try await bind() } catch { throw failure(address, error) }
  }

  private static func failure(_ address: String, _ error: any Error) -> ServerFailure {
    let number = (error as? IOError)?.errnoCode
    let reason = number.map { SystemError($0).description } ?? "\(error)"
    return ServerFailure("\(address) cannot be listened on: \(reason)")
  }

  var address: SocketAddress? { server.localAddress }

  /// Takes no more connections, and waits until the requests under way are answered.
  func close(within time: Interval) async {
    try? await server.close()
    await connections.end(within: time)
  }
}

/// The handlers of a new connection, from the socket to the responder.
struct ConnectionSetUp: Sendable {
  let responder: any Responder
  var tls: TLSContexts?
  let connections: OpenConnections
  var proxies = AuthCore.Configuration.Proxies()
  let faults: ProxyFaults

  func callAsFunction(_ channel: any Channel) throws {
    // Asked once, while the connection is there: afterwards nobody knows whose it was.
    guard let peer = Peer(of: channel) else { throw Peer.Gone() }
    let isProxy = peer.isOne(of: proxies)
    try connections.enter(channel, from: isProxy ? nil : peer.source ?? "local")
    let connection = ConnectionHandler(channel, peer, isTLS: tls != nil, responder, connections)
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(ArrivingBytes(connection))
    guard isProxy else { return try addHandlers(channel, connection) }
    try pipeline.addHandler(
      ProxyHeaderHandler(faults) { client in
        if let client { connection.peer = Peer(client, behind: peer) }
        try connections.name(channel, connection.peer.source ?? "local")
        try addHandlers(channel, connection)
      })
  }

  private func addHandlers(_ channel: any Channel, _ connection: ConnectionHandler) throws {
    let pipeline = channel.pipeline.syncOperations
    if let tls { try pipeline.addHandler(tls.handler()) }
    var limits = NIOHTTPDecoderLimitConfiguration()
    limits.maxHeaderFieldSize = Limits.headerBytes
    limits.maxHeaderListSize = Limits.headerBytes
    limits.maxHeaderFieldCount = Limits.headerFields
    let decoder = HTTPRequestDecoder(
      leftOverBytesStrategy: .dropBytes, limitConfiguration: limits)
    // After a request for another protocol it parses nothing more.
    let parser = ByteToMessageHandler(decoder, maximumBufferSize: 2 * Limits.headerBytes)
    try pipeline.addHandlers([
      HTTPResponseEncoder(), parser, NIOHTTPResponseHeadersValidator(), connection,
    ])
  }
}

/// Why the server cannot run.
public struct ServerFailure: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }

  static let noSocket = ServerFailure(
    "listen = systemd, but systemd has passed no socket: stop credd-authserver.service, then "
      + "'systemctl enable --now credd-authserver.socket'")
}
