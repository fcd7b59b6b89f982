import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import SandboxKit

/// Serves one sandbox on loopback: TCP, TLS and a Unix socket.
final class SandboxServer {
  /// A quiet connection is closed after so long.
  static let idleTimeout = TimeAmount.seconds(300)

  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let host: NIOLoopBound<SandboxHost>
  private var listeners: [any Channel] = []

  init(_ sandbox: Sandbox) throws {
    let loop = group.next()
    host = try loop.submit { NIOLoopBound(SandboxHost(sandbox), eventLoop: loop) }.wait()
  }

  /// - Parameter port: 0 takes any.
  /// - Returns: the port that was taken.
  func listen(port: Int, tls: NIOSSLContext? = nil) throws -> Int {
    let listener = try bootstrap(tls: tls)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .bind(host: "127.0.0.1", port: port).wait()
    listeners.append(listener)
    return listener.localAddress?.port ?? port
  }

  func listen(unixSocket path: String) throws {
    let listener = try bootstrap(tls: nil)
      .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).wait()
    listeners.append(listener)
  }

  func stop() throws {
    try group.syncShutdownGracefully()
  }

  private func bootstrap(tls: NIOSSLContext?) -> ServerBootstrap {
    let host = host
    return ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 1024)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try SandboxServer.prepare(channel, host: host.value, tls: tls)
        }
      }
  }

  private static func prepare(
    _ channel: any Channel, host: SandboxHost, tls: NIOSSLContext?
  ) throws {
    guard host.hasRoom else { throw ConnectionLimitReached() }
    let pipeline = channel.pipeline.syncOperations
    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
    try pipeline.addHandler(IdleStateHandler(allTimeout: idleTimeout))
    try pipeline.configureHTTPServerPipeline()
    try pipeline.addHandler(RequestHandler(host: host))
  }
}

/// The server holds as many connections as it may.
struct ConnectionLimitReached: Error {}
