import AuthCore
import CredCore
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import AuthServer

/// A server that sends the same bytes back to whatever ends in `}`.
final class Script: Sendable {
  /// What it does behind the reply.
  enum End: Sendable { case waits, closes, drips }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let reply: String
    private let end: End

    init(_ reply: String, _ end: End) {
      self.reply = reply
      self.end = end
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard String(buffer: unwrapInboundIn(data)).hasSuffix("}") else { return }
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: reply)), promise: nil)
      switch end {
      case .waits: break
      case .closes: context.close(promise: nil)
      case .drips:
        let channel = context.channel
        channel.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(20)) {
          guard channel.isActive else { return $0.cancel() }
          channel.writeAndFlush(ByteBuffer(string: "x"), promise: nil)
        }
      }
    }
  }

  private let accepted = Mutex(0)
  private let server = Mutex<(any Channel)?>(nil)

  var connections: Int { accepted.withLock { $0 } }

  /// - Returns: its port.
  func start(_ reply: String, _ end: End = .waits) async throws -> Int {
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { [self] channel in
        accepted.withLock { $0 += 1 }
        return channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Handler(reply, end))
        }
      }.bind(host: "127.0.0.1", port: 0).get()
    server.withLock { $0 = channel }
    return try #require(channel.localAddress?.port)
  }

  func stop() { server.withLock { $0 }?.close(promise: nil) }
}

extension HTTPClient {
  /// A call as Cognito's are, without headers.
  func post(
    _ url: String, within time: Interval = .seconds(60), upTo limit: Int = 10
  ) async throws(Failure) -> HTTPReply {
    try await send(
      HTTPRequest(method: .post, url: url, body: Secret("{}")), within: time, upTo: limit)
  }
}

/// The server's own calls.
struct HTTPClientTests {
  private func calls(
    _ reply: String, _ end: Script.End = .waits, count: Int = 2,
    within time: Interval = .seconds(60), upTo limit: Int = 10
  ) async throws -> (replies: [HTTPReply], connections: Int) {
    let script = Script()
    let port = try await script.start(reply, end)
    defer { script.stop() }
    let http = try HTTPClient(calls: 4, environment: [:])
    defer { http.close() }
    var replies: [HTTPReply] = []
    for _ in 0..<count {
      replies.append(
        try await http.post("http://127.0.0.1:\(port)/", within: time, upTo: limit))
    }
    return (replies, script.connections)
  }

  @Test func aConnectionIsKeptForTheNextCall() async throws {
    let (replies, connections) = try await calls("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    #expect(replies.map(\.body.bytes) == [Array("ok".utf8), Array("ok".utf8)])
    #expect(connections == 1)
  }

  @Test func aConnectionThatTheServerEndsIsNot() async throws {
    let (_, connections) = try await calls(
      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
    #expect(connections == 2)
  }

  /// Who knows what became of the first merge?
  @Test func whatChangesSomethingIsAskedForOnce() async throws {
    let script = Script()
    let port = try await script.start("rubbish\r\n\r\n")
    defer { script.stop() }
    let http = try HTTPClient(calls: 4, environment: [:])
    defer { http.close() }
    let keys = AWSCredentials(
      .environment(["AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"]),
      now: { Timestamp(milliseconds: 1_700_000_000_000) })
    let client = CognitoClient(
      http: http, endpoint: "http://127.0.0.1:\(port)", credentials: keys,
      metrics: Metrics(), now: { Timestamp(milliseconds: 1_700_000_000_000) })
    let text = "[pool work]\nidentity_pool_id = us-east-1:11\ndeveloper_provider = login.x\n"
    let configuration = try AuthCore.Configuration.read([(name: "test", text: text)])
    let pool = try #require(configuration.pools["work"])
    await #expect(throws: CognitoFailure.self) {
      try await client.merge("a", into: "b", pool: pool)
    }
    #expect(script.connections == 1)
    await #expect(throws: CognitoFailure.self) {
      try await client.unlink("a", from: "us-east-1:22", pool: pool)
    }
    #expect(script.connections == 2)
    await #expect(throws: CognitoFailure.self) {
      try await client.identity(ofUser: "a", pool: pool)
    }
    #expect(script.connections == 4)
  }

  /// A kept connection may have ended meanwhile; libcurl would send on another one what it cannot know the
  /// server has not read.
  @Test func whatMustBeSentOnceTakesNoKeptConnection() async throws {
    let script = Script()
    let port = try await script.start("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    defer { script.stop() }
    let http = try HTTPClient(calls: 4, environment: [:])
    defer { http.close() }
    let url = "http://127.0.0.1:\(port)/"
    _ = try await http.post(url)
    let request = HTTPRequest(method: .post, url: url, body: Secret("{}"))
    _ = try await http.send(request, within: .seconds(60), upTo: 10, isSentOnce: true)
    #expect(script.connections == 2)
  }

  @Test func noRedirectIsFollowed() async throws {
    let (replies, connections) = try await calls(
      "HTTP/1.1 307 Over there\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
      count: 1)
    #expect(replies.map(\.status) == [307] && connections == 1)
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world", "rubbish\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
  ])
  func whatIsNoReplyIsAFailure(_ reply: String) async throws {
    await #expect(throws: HTTPClient.Failure.self) { try await calls(reply) }
  }

  @Test func aConnectionTakesNoLongerThanTheCallMay() async throws {
    // Nobody accepts, and one connection fills the queue: the next one has no answer.
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: 0).serverChannelOption(.autoRead, value: false)
      .bind(host: "127.0.0.1", port: 0).get()
    let address = try #require(server.localAddress)
    let first = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(to: address).get()
    let http = try HTTPClient(calls: 1, environment: [:])
    let url = "http://127.0.0.1:\(address.port ?? 0)/"
    let time = await ContinuousClock().measure {
      await #expect {
        try await http.post(url, within: Interval(milliseconds: 200))
      } throws: { "\($0)".contains("in time") }
    }
    #expect(time < .milliseconds(AuthCore.Limits.connectTime.milliseconds))
    // It has a shorter time for the connection than for all.
    let longer = await ContinuousClock().measure {
      await #expect(throws: HTTPClient.Failure.self) { try await http.post(url) }
    }
    #expect(longer < .seconds(30))
    http.close()
    try await first.close()
    try await server.close()
  }

  @Test func soManyCallsAtOnceAndAsManyThatWait() async throws {
    let script = Script()
    let port = try await script.start("")
    defer { script.stop() }
    let http = try HTTPClient(calls: 1, environment: [:])
    defer { http.close() }
    let failures = await withTaskGroup(of: String.self) { group in
      for _ in 0..<4 {
        group.addTask {
          do {
            _ = try await http.post(
              "http://127.0.0.1:\(port)/", within: Interval(milliseconds: 500))
            return "a reply"
          } catch { return "\(error)" }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }.sorted()
    }
    // Two are refused at once, and one waits, in vain or for too short a rest of its time.
    let words = ["there was no whole reply in time", "too many calls at once"]
    #expect(Set(failures) == Set(words) && failures.count { $0 == words[1] } >= 2)
  }

  @Test func aClientThatIsClosedCallsNobody() async throws {
    let http = try HTTPClient(calls: 1, environment: [:])
    http.close()
    http.close()
    await #expect(throws: HTTPClient.Failure.self) { try await http.post("http://127.0.0.1:1/") }
  }

  @Test func aServerWithoutACertificateOfTheSystemsIsNotBelieved() async throws {
    let certificates = try TestCertificates()
    try certificates.issue("server", "DNS:localhost,IP:127.0.0.1")
    let gate = Gate()
    gate.open()
    let server = try await Loopback(
      gate, tls: try TLSContexts(certificates.configuration, metrics: Metrics()))
    let http = try HTTPClient(calls: 1, environment: [:])
    defer { http.close() }
    await #expect {
      try await http.post("https://127.0.0.1:\(server.origin.port)/")
    } throws: { "\($0)".hasPrefix("its certificate is not trusted") }
    await server.listener.close(within: .seconds(0))
  }

  @Test func aReplyThatDripsEndsWithItsTime() async throws {
    await #expect {
      try await calls(
        "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", .drips, count: 1,
        within: Interval(milliseconds: 300), upTo: 10_000)
    } throws: { "\($0)".contains("in time") }
  }

  @Test func aConnectionThatBreaksIsNoReply() async throws {
    await #expect(throws: HTTPClient.Failure.self) {
      try await calls("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no", .closes)
    }
  }
}
