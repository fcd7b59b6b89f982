import AuthCore
import AuthTestSupport
import CredCore
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Testing

@testable import AuthServer

/// A forward proxy that answers as the server at the end of its tunnels.
private final class ForwardProxy: Sendable {
  private final class Handler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let proxy: ForwardProxy
    private var head = ""

    init(_ proxy: ForwardProxy) { self.proxy = proxy }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      head += String(buffer: unwrapInboundIn(data))
      guard let end = head.range(of: "\r\n\r\n") else { return }
      proxy.heads.withLock { $0.append(String(head[..<end.lowerBound])) }
      let isTunnel = head.hasPrefix("CONNECT ") && proxy.status.hasPrefix("200")
      let length = isTunnel ? "" : "Content-Length: 2\r\n"
      let answer = "HTTP/1.1 \(proxy.status)\r\n\(length)\r\n" + (isTunnel ? "" : "by")
      head = ""
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
      guard isTunnel else { return }
      let pipeline = context.pipeline.syncOperations
      pipeline.removeHandler(self, promise: nil)
      do {
        try pipeline.addHandler(NIOSSLServerHandler(context: proxy.tls))
        try pipeline.addHandler(Far())
      } catch { context.close(promise: nil) }
    }
  }

  /// The server at the end of a tunnel.
  private final class Far: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard String(buffer: unwrapInboundIn(data)).hasSuffix("}") else { return }
      let answer = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nfar")
      context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
    }
  }

  /// Of the requests to the proxy itself.
  let heads = Mutex<[String]>([])
  private let status: String
  private let tls: NIOSSLContext
  private let server = Mutex<(any Channel)?>(nil)

  init(_ certificates: TestCertificates, status: String = "200 OK") throws {
    self.status = status
    let files = TLSFiles(
      certificate: certificates.path("server.pem"), key: certificates.path("server.key"),
      clientCA: nil)
    tls = try files.context().context
  }

  /// - Returns: its port.
  func start() async throws -> Int {
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { [self] channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Handler(self))
        }
      }.bind(host: "127.0.0.1", port: 0).get()
    server.withLock { $0 = channel }
    return try #require(channel.localAddress?.port)
  }

  func stop() { server.withLock { $0 }?.close(promise: nil) }
}

/// The proxy that the environment names. Nothing here asks DNS: only a proxy gets the far server's name.
struct ForwardProxyTests {
  private let certificates: TestCertificates

  init() throws {
    certificates = try TestCertificates()
    try certificates.issue("server", "DNS:cognito.example")
  }

  /// - Returns: the reply or why there is none, and what the proxy was asked.
  private func call(
    _ url: String = "https://cognito.example/", status: String = "200 OK",
    _ environment: (_ port: Int) -> [String: String]
  ) async throws -> (reply: String, heads: [String], port: Int) {
    let proxy = try ForwardProxy(certificates, status: status)
    let port = try await proxy.start()
    defer { proxy.stop() }
    let http = try HTTPClient(
      calls: 4, environment: environment(port), caFile: certificates.path("ca.pem"))
    defer { http.close() }
    var reply = ""
    for _ in 0..<2 {
      do {
        reply = String(decoding: try await http.post(url).body.bytes, as: UTF8.self)
      } catch { reply = "\(error)" }
    }
    return (reply, proxy.heads.withLock { $0 }, port)
  }

  @Test(arguments: ["https_proxy", "HTTPS_PROXY", "all_proxy"])
  func aCallGoesThroughTheProxyThatTheEnvironmentNames(_ name: String) async throws {
    let (reply, heads, _) = try await call { [name: "http://127.0.0.1:\($0)"] }
    #expect(reply == "far")
    // The second call takes the same tunnel.
    #expect(heads.count == 1)
    let head = try #require(heads.first)
    #expect(head.hasPrefix("CONNECT cognito.example:443 HTTP/1.1\r\n"))
    #expect(!head.contains("Authorization"))
  }

  @Test func aProxyGetsItsUserAndPassword() async throws {
    let (reply, heads, _) = try await call { ["https_proxy": "http://zoe:p%40ss@127.0.0.1:\($0)"] }
    #expect(reply == "far")
    #expect(heads.first?.contains("Proxy-Authorization: Basic em9lOnBAc3M=") == true)
  }

  @Test(arguments: [
    ("407 Who are you", "answered 407: set user and password in https_proxy"),
    ("403 No", "answered 403: it must let this server through"),
    ("503 Later", "answered 503; check https_proxy"),
  ])
  func aProxyThatRefusesIsNamed(_ status: String, _ words: String) async throws {
    let (reply, _, port) = try await call(status: status) {
      ["https_proxy": "http://zoe:secret@127.0.0.1:\($0)"]
    }
    #expect(reply == "the proxy 127.0.0.1:\(port) \(words)")
  }

  @Test func aProxyThatIsAwayIsNamed() async throws {
    let (reply, _, _) = try await call { _ in ["https_proxy": "http://zoe:secret@127.0.0.1:1"] }
    #expect(
      reply == "no connection to the proxy 127.0.0.1:1; check https_proxy (Connection refused)")
  }

  @Test func aVariableThatNamesNoProxyIsNamed() async throws {
    let (reply, heads, _) = try await call { _ in ["HTTPS_PROXY": "ftp://zoe:secret@proxy"] }
    #expect(reply.hasPrefix("HTTPS_PROXY names no proxy that can be used"))
    #expect(!reply.contains("secret") && heads.isEmpty)
  }

  /// `127.1` is this host in a spelling that counts as another one's.
  @Test(arguments: ["no_proxy", "NO_PROXY"])
  func theHostsOfNO_PROXYAreCalledWithoutOne(_ name: String) async throws {
    let script = Script()
    let near = try await script.start("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnear")
    defer { script.stop() }
    let url = "http://127.1:\(near)/"
    let (reply, heads, _) = try await call(url) {
      ["http_proxy": "http://127.0.0.1:\($0)", name: "other.example, 127.1"]
    }
    #expect(reply == "near" && heads.isEmpty)
    let (other, asked, _) = try await call(url) {
      ["http_proxy": "http://127.0.0.1:\($0)", name: "other.example"]
    }
    #expect(other == "by" && asked.count == 2 && script.connections == 1)
  }

  @Test func nothingForThisHostGoesToAProxy() async throws {
    let script = Script()
    let near = try await script.start("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnear")
    defer { script.stop() }
    let (reply, heads, _) = try await call("http://127.0.0.1:\(near)/") {
      ["http_proxy": "http://127.0.0.1:\($0)"]
    }
    #expect(reply == "near" && heads.isEmpty)
  }

  /// Of the server and of an administrator's command, as their environment says.
  @Test(.enabled(if: Programs.folder != nil || Programs.isCI, "CREDD_BINARIES is not set"))
  func theProgramTakesTheProxyOfItsEnvironment() async throws {
    let proxy = try ForwardProxy(certificates, status: "403 No")
    let port = try await proxy.start()
    defer { proxy.stop() }
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let token = try programs.enrol("web1", "--vouches", "alice")
    let variables = ["HTTPS_PROXY": "http://127.0.0.1:\(port)"]
    let words = "the proxy 127.0.0.1:\(port) answered 403"
    let server = try programs.serve(
      ["cognito": "https://cognito.example"],
      environment: Programs.environment.merging(variables) { $1 })
    #expect(try server.callback(token, "alice").status == 503)
    try server.wait(until: words)
    #expect {
      try programs.admin(
        ["link", "list", "alice"], more: ["cognito": "https://cognito.example"],
        environment: variables)
    } throws: { "\($0)".contains(words) }
    #expect(proxy.heads.withLock { $0 }.allSatisfy { $0.hasPrefix("CONNECT cognito.example:443 ") })
  }
}
