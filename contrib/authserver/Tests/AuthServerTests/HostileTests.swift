import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

/// Wrong, huge, slow and hostile input.
struct HostileTests {
  @Test(arguments: [
    "", "{", "[]", "null", "\"x\"", "{\"IdentityPoolId\":1}", "{\"IdentityPoolId\":null}",
    "\u{0}\u{1}", String(repeating: "[", count: 100_000),
    String(repeating: "{\"a\":", count: 5000),
  ])
  func brokenBodiesAreRefused(_ body: String) async throws {
    try await TestServer.run { test in
      let host = try await test.enrol()
      let headers = [("Content-Type", "application/json"), ("Authorization", "Bearer " + host)]
      let reply = try await test.send(.POST, "/v1/token", headers, body: body)
      #expect(reply.status == 400)
      #expect(reply.code == "InvalidRequest" && reply["message"] == reply["Message"])
    }
  }

  /// Two readers may take each of these for something else. `@` stands for the rest of a good body.
  @Test(arguments: [
    #"{@,"DeveloperUserIdentifier":"root"}"#, #"{"DeveloperUserIdentifier":"root",@}"#, "{@,}",
    #"{@,"x":[1,]}"#, #"{@,"x":01}"#, #"{@,"x":"a\#tb"}"#, #"{@,"x":1}x"#, #"{@,"x":.5}"#,
    #"{@,"x":'a'}"#, #"{@/**/}"#, #"{@,"x":NaN}"#, #"{@,"x":"\ud800"}"#, "\u{FEFF}{@}", "{@}{@}",
    #"{@,"Logins":{"a":"1","a":"2"}}"#,
    #"{@,"x":\#(String(repeating: "[", count: 40))1"#
      + String(repeating: "]", count: 40) + "}",
  ])
  func whatTwoReadersReadInTwoWaysIsRefused(_ form: String) async throws {
    try await TestServer.run { test in
      let host = try await test.enrol(vouches: "alice root", link: true)
      let good =
        #""IdentityPoolId":"\#(TestServer.poolID)","DeveloperProviderName":"\#(TestServer.provider)","#
        + #""DeveloperUserIdentifier":"alice""#
      let headers = [("Content-Type", "application/json"), ("Authorization", "Bearer " + host)]
      let body = form.replacing("@", with: good)
      let reply = try await test.send(.POST, "/v1/token", headers, body: body)
      #expect(reply.status == 400 && reply.code == "InvalidRequest")
      #expect(test.cognito.calls.isEmpty)
      #expect(try await test.send(.POST, "/v1/token", headers, body: "{\(good)}").status == 200)
    }
  }

  /// Whoever reads the bytes of another encoding as UTF-8 sees another name.
  @Test func onlyUTF8IsRead() async throws {
    try await TestServer.run { test in
      let headers = [("Content-Type", "application/json")]
      let body = #"{"Username":"zoe","Password":"three plain words"}"#
      for encoding in [String.Encoding.utf16, .utf16LittleEndian, .utf32] {
        let bytes = try #require(body.data(using: encoding))
        let reply = try await test.send(.POST, "/v1/register", headers, bytes: Array(bytes))
        #expect(reply.status == 400)
      }
      let latin =
        Array(#"{"Username":"zo"#.utf8) + [0xEB] + Array(#"","Password":"three plain words"}"#.utf8)
      #expect(try await test.send(.POST, "/v1/register", headers, bytes: latin).status == 400)
      #expect(try await test.store.users().isEmpty)
    }
  }

  @Test func theFormOfARequestIsChecked() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol()
      #expect(try await test.send(.GET, "/v1/token").status == 405)
      #expect(try await test.send(.GET, "/v1/token").headers.first(name: "Allow") == "POST")
      #expect(try await test.send(.GET, "/nothing").status == 404)
      #expect(try await test.send(.GET, "/v1/token/../../etc/passwd").status == 404)
      let form = [("Content-Type", "text/plain"), ("Authorization", "Bearer " + host)]
      #expect(try await test.send(.POST, "/v1/token", form, body: "{}").status == 415)
      let twice = [("Authorization", "Bearer " + host), ("Authorization", "Bearer " + host)]
      #expect(try await test.send(.POST, "/v1/token", twice, body: "{}").status == 400)
      // Neither where the sample protocol is off.
      #expect(try await test.send(.POST, "/gettoken").status == 404)
      #expect(try await test.send(.GET, "/healthz").status == 200)
      // Metrics are on another address.
      #expect(try await test.send(.GET, "/metrics").status == 404)
    }
  }

  @Test func aBodyThatIsTooLongIsRefused() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol()
      let headers = [("Content-Type", "application/json"), ("Authorization", "Bearer " + host)]
      let long = String(repeating: " ", count: Limits.bodyBytes + 1)
      #expect(try await test.send(.POST, "/v1/token", headers, body: long).status == 413)
      let login = String(repeating: " ", count: Limits.smallBodyBytes + 1)
      #expect(try await test.send(.POST, "/v1/login", headers, body: login).status == 413)
      #expect(try await test.callback(host).status == 200)
    }
  }

  @Test(arguments: [
    "'; DROP TABLE users; --", "\" OR 1=1", "alice\u{0}bob", "a\r\nX: y", "../../etc", "%00",
    "{host}",
  ])
  func namesAreDataAndNothingElse(_ name: String) async throws {
    try await TestServer.run(.postgres) { test in
      let host = try await test.enrol(vouches: "*", signsIn: "*")
      let isName = (try? Identifier(name)) != nil
      let callback = try await test.callback(host, name)
      #expect(callback.status == (isName ? 200 : 400))
      #expect(try await test.register(name).status == (isName ? 201 : 400))
      // JSON with a null character is not read at all.
      let refused = name.utf8.contains(0) ? 400 : 401
      #expect(try await test.login(host, name).status == (isName ? 200 : refused))
      if isName { #expect(try await test.store.user("account:" + name) != nil) }
      #expect(try await test.store.verifyAudit(heads: []).faults.isEmpty)
    }
  }

  @Test(arguments: [
    "GET / HTTP/1.1\r\nHost: x\r\nX: " + String(repeating: "a", count: 40_000) + "\r\n\r\n",
    "POST /v1/token HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "POST /v1/token HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "POST /v1/token HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nzzz\r\n",
    "\u{16}\u{3}\u{1}\u{0}\u{5}hello", "GET\r\n\r\n",
  ])
  func whatIsNotHTTPEndsTheConnection(_ bytes: String) async throws {
    try await TestServer.run { test in
      let port = try #require(URL(string: test.base)?.port)
      let reply = try await Self.exchange(bytes, port)
      #expect(reply.isEmpty || reply.hasPrefix("HTTP/1.1 4"))
      #expect(try await test.send(.GET, "/healthz").status == 200)
    }
  }

  /// What comes back until the server closes. A busy machine answers late.
  private static func exchange(
    _ bytes: String, _ port: Int,
    _ bootstrap: ClientBootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
  ) async throws -> String {
    let channel =
      try await bootstrap
      .connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    return try await channel.executeThenClose { inbound, outbound in
      try await outbound.write(ByteBuffer(string: bytes))
      let timer = channel.channel.eventLoop.scheduleTask(in: .seconds(60)) {
        channel.channel.close(promise: nil)
      }
      var reply = ""
      do { for try await part in inbound { reply += String(buffer: part) } } catch {}
      timer.cancel()
      let isLate = (try? await timer.futureResult.get()) != nil
      #expect(!isLate, "the server did not close")
      return reply
    }
  }

  @Test func whoIsNobodyHasNoLongBodyRead() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol(link: true)
      let long = ["accounts.google.com": String(repeating: "x", count: 20_000)]
      #expect(try await test.callback(host, logins: long).status == 200)
      // The server answers, and has not waited for the body.
      let port = try #require(URL(string: test.base)?.port)
      let head =
        "POST /v1/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        + "Authorization: Bearer \(host.dropLast(64))\(String(repeating: "0", count: 64))\r\n"
        + "Content-Length: 500000\r\nConnection: close\r\n\r\n{"
      let reply = try await Self.exchange(head, port)
      #expect(reply.hasPrefix("HTTP/1.1 401"), "\(reply)")
    }
  }

  @Test func whoOpensManyConnectionsShutsNobodyElseOut() async throws {
    try await TestServer.run(connections: 16) { test in
      let port = try #require(URL(string: test.base)?.port)
      var open: [any Channel] = []
      for _ in 0..<20 {
        open.append(
          try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port).get())
      }
      let other = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .bind(to: try SocketAddress(ipAddress: "127.0.0.2", port: 0))
      let reply = try await Self.exchange(
        "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", port, other)
      #expect(reply.hasPrefix("HTTP/1.1 200"))
      for channel in open { try? await channel.close() }
    }
  }

  @Test func whoSendsManyRequestsAndReadsNothingIsCutOff() async throws {
    try await TestServer.run { test in
      let port = try #require(URL(string: test.base)?.port)
      let requests = String(repeating: "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", count: 500)
      let reply = try await Self.exchange(requests, port)
      #expect(reply.components(separatedBy: "HTTP/1.1 200").count < 100)
    }
  }

  @Test func connectionsBeyondTheLimitAreClosed() async throws {
    try await TestServer.run(connections: 4) { test in
      let port = try #require(URL(string: test.base)?.port)
      var open: [any Channel] = []
      for index in 0..<8 {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
          .connect(host: "127.0.0.1", port: port).get()
        // Half of them, and one more.
        if index < 3 { open.append(channel) } else { try await channel.closeFuture.get() }
      }
      for channel in open { try? await channel.close() }
      // The server hears of that a moment later.
      var status: Int?
      for _ in 0..<600 where status == nil {
        status = try? await test.send(.GET, "/healthz").status
        if status == nil { try await Task.sleep(for: .milliseconds(100)) }
      }
      #expect(status == 200)
    }
  }

  @Test func aSlowClientHoldsUpNobody() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol()
      let port = try #require(URL(string: test.base)?.port)
      var slow: [any Channel] = []
      for _ in 0..<200 {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
          .connect(host: "127.0.0.1", port: port).get()
        // On a busy machine some have had their time by now.
        try? await channel.writeAndFlush(
          ByteBuffer(string: "POST /v1/token HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"))
        slow.append(channel)
      }
      #expect(try await test.callback(host).status == 200)
      for channel in slow { try? await channel.close() }
    }
  }

  /// Thousands of requests made from the OpenAPI document, each answer checked against it.
  @Test(.enabled(if: Programs.schemathesis != nil || Programs.isCI, "SCHEMATHESIS is not set"))
  func schemathesisFindsNothing() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol(vouches: "*", signsIn: "*")
      let tool = try #require(Programs.schemathesis)
      let arguments = [
        "run", test.base + "/openapi.json", "--url", test.base, "--header",
        "Authorization: Bearer \(host)", "--max-examples", "60", "--seed", "1",
        "--exclude-checks", "positive_data_acceptance", "--no-color",
      ]
      // On a thread of its own: the server runs in this process.
      let result = await withCheckedContinuation {
        (continuation: CheckedContinuation<Result<String, any Error>, Never>) in
        Thread.detachNewThread {
          continuation.resume(returning: Result { try Command.run(tool, arguments) })
        }
      }
      _ = try result.get()
      #expect(try await test.store.verifyAudit(heads: []).faults.isEmpty)
      #expect(try await test.callback(host).status == 200)
    }
  }
}
