import CredCore
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Testing

/// A client of the tests, by NIO: each request has a connection to itself.
struct TestClient: Sendable {
  /// A server's address.
  struct Origin: Sendable {
    let isTLS: Bool
    let host: String
    let port: Int

    init(_ text: String) throws {
      let url = try HTTPURL(text)
      isTLS = url.isEncrypted
      host = url.host
      port = try #require(url.authority.split(separator: ":").last.flatMap { Int($0) })
    }
  }

  struct Reply: Sendable {
    var status = 0
    var headers = HTTPHeaders()
    var body: [UInt8] = []
  }

  /// There is no whole reply.
  struct Failure: Error { let reason: String }

  private let tls: NIOSSLContext

  /// By default it believes any server.
  init(_ tls: TLSConfiguration? = nil) throws {
    var all = TLSConfiguration.makeClientConfiguration()
    all.certificateVerification = .none
    self.tls = try NIOSSLContext(configuration: tls ?? all)
  }

  func send(
    _ method: HTTPMethod, _ path: String, to origin: Origin,
    headers: HTTPHeaders = ["Host": "x"], body: [UInt8] = []
  ) async throws(Failure) -> Reply {
    var head = HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: headers)
    head.headers.add(name: "Content-Length", value: String(body.count))
    do {
      return try await connect(origin).executeThenClose { [head] inbound, outbound in
        try await outbound.write(.head(head))
        try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: body))))
        try await outbound.write(.end(nil))
        var reply = Reply()
        for try await part in inbound {
          switch part {
          case .head(let head):
            reply.status = Int(head.status.code)
            reply.headers = head.headers
          case .body(let bytes): reply.body += bytes.readableBytesView
          case .end: return reply
          }
        }
        throw Failure(reason: "the connection was closed")
      }
    } catch let failure as Failure {
      throw failure
    } catch {
      throw Failure(reason: "\(error)")
    }
  }

  private func connect(
    _ origin: Origin
  ) async throws -> NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart> {
    try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .connect(host: origin.host, port: origin.port) { [tls] channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if origin.isTLS {
            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: nil))
          }
          try pipeline.addHTTPClientHandlers()
          return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
        }
      }
  }
}
