import CredCore
import Foundation
import TestSupport
import Testing

@testable import CredRuntime

struct HTTPClientTests {
  @Test func `a GET and its reply`() throws {
    let fake = try HTTPFake { _ in
      .raw("HTTP/1.1 201 Made\r\nDate: today\r\nX-A:  b c \r\nContent-Length: 2\r\n\r\nhi")
    }
    let reply = try ClientFixture().send(
      HTTPRequest(
        method: .get, url: fake.url + "?a=b%20c",
        headers: [try HTTPHeader(checkingName: "X-Team", value: Secret("infra"))])
    ).get()
    expect(reply.status, equals: 201)
    expect(reply.body.exposedText(), equals: "hi")
    expect(reply.header("date"), equals: "today")
    expect(reply.header("x-a"), equals: "b c")
    let head = try #require(fake.requests.first?.head)
    expect(head.hasPrefix("GET /path?a=b%20c HTTP/1.1\r\nHost: 127.0.0.1:\(fake.port)\r\n"))
    expect(head.contains("\r\nX-Team: infra"))
  }

  @Test(arguments: ["{\"a\":1}", ""])
  func `a POST and its body`(_ body: String) throws {
    let fake = try HTTPFake { .json($0.body) }
    let reply = try ClientFixture().send(
      HTTPRequest(method: .post, url: fake.url, body: Secret(body)))
    expect(reply.text, equals: body)
    let head = try #require(fake.requests.first?.head)
    expect(head.hasPrefix("POST /path HTTP/1.1"))
    expect(head.contains("\r\nContent-Length: \(body.utf8.count)"))
  }

  @Test func `a large body is sent without waiting for 100 Continue`() throws {
    let body = String(repeating: "x", count: 200_000)
    let fake = try HTTPFake { .json("\($0.body.utf8.count)") }
    let reply = try ClientFixture().send(
      HTTPRequest(method: .post, url: fake.url, body: Secret(body)))
    expect(reply.text, equals: "200000")
    expect(fake.requests.first?.head.contains("Expect") == false)
  }

  @Test func `requests after each other share a connection`() throws {
    let fake = try HTTPFake { .json("\($0.number)") }
    let client = try ClientFixture()
    expect(
      try (1...20).map { _ in try client.get(fake.url).text }, equals: (1...20).map { "\($0)" })
    expect(fake.connections, equals: 1)
  }

  @Test func `a connection that died meanwhile is replaced`() throws {
    let fake = try HTTPFake { _ in .last("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx") }
    let client = try ClientFixture()
    for _ in 0..<10 { expect(try client.get(fake.url).text, equals: "x") }
    expect(fake.connections, equals: 10)
  }

  @Test func `nothing of a request is left for the next one`() throws {
    let fake = try HTTPFake { .json($0.body) }
    let client = try ClientFixture()
    _ = try client.send(
      HTTPRequest(
        method: .post, url: fake.url,
        headers: [try HTTPHeader(checkingName: "Authorization", value: Secret("Bearer secret"))],
        body: Secret("secret")))
    expect(try client.get(fake.url).text, equals: "")
    let head = try #require(fake.requests.last?.head)
    expect(head.hasPrefix("GET "))
    expect(!head.contains("Authorization"))
  }

  @Test func `a redirect is an answer, and not followed`() throws {
    let target = try HTTPFake { _ in .json("wrong") }
    let fake = try HTTPFake { _ in
      .raw("HTTP/1.1 302 Found\r\nLocation: \(target.url)\r\nContent-Length: 0\r\n\r\n")
    }
    expect(try ClientFixture().get(fake.url).get().status, equals: 302)
    expect(target.connections, equals: 0)
  }

  @Test func `an interim reply's headers are not the reply's`() throws {
    let fake = try HTTPFake { _ in
      .raw(
        "HTTP/1.1 103 Early\r\nDate: early\r\n\r\nHTTP/1.1 200 OK\r\nDate: late\r\n"
          + "Content-Length: 0\r\n\r\n")
    }
    expect(
      try ClientFixture().get(fake.url).get().headers.filter { $0.name == "Date" }.count, equals: 1)
  }

  // MARK: Failures

  @Test(arguments: [
    (HTTPFake.Answer.reset, TransportFailure.reset),
    (.last("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"), .reset),
    (.last(""), .reset),
    (.last("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"), .reset),
    (.last("no HTTP at all\r\n\r\n"), .malformed),
  ])
  func `what is no whole answer`(_ answer: HTTPFake.Answer, _ failure: TransportFailure) throws {
    let fake = try HTTPFake { _ in answer }
    expect(try ClientFixture().get(fake.url).failure, equals: failure)
  }

  @Test func `a failure has the system's reason, and libcurl's result for operators`() throws {
    let (bound, port) = try Socket.boundOnLoopback()
    defer { withExtendedLifetime(bound) {} }
    let closed = try #require(try ClientFixture().get("http://127.0.0.1:\(port)/").failure)
    expect(closed.kind, equals: .connect)
    expect(closed.reason, equals: "Connection refused")
    expect(closed.detail?.contains("127.0.0.1") == true, "\(closed)")
    let unknown = try #require(try ClientFixture().get("http://no-such-host.invalid/").failure)
    expect(unknown.kind, equals: .nameResolution)
    expect(unknown.detail?.contains("no-such-host.invalid") == true, "\(unknown)")
  }

  @Test(arguments: [true, false])
  func `a body over its limit is not taken`(_ isAnnounced: Bool) throws {
    let body = String(repeating: "x", count: 1001)
    let head = isAnnounced ? "Content-Length: 1001\r\n" : ""
    let fake = try HTTPFake { _ in .last("HTTP/1.1 200 OK\r\n\(head)\r\n\(body)") }
    let client = try ClientFixture()
    let request = HTTPRequest(method: .get, url: fake.url)
    expect(try client.send(request, replyLimit: 1000).failure, equals: .tooLarge)
    expect(try client.send(request, replyLimit: 1001).text, equals: body)
  }

  @Test func `headers without end are not taken`() throws {
    let lines = String(repeating: "X-Filler: \(String(repeating: "x", count: 1000))\r\n", count: 80)
    let fake = try HTTPFake { _ in .last("HTTP/1.1 200 OK\r\n\(lines)\r\n") }
    expect(try ClientFixture().get(fake.url).failure, equals: .tooLarge)
  }

  @Test func `silence ends at the deadline`() throws {
    let fake = try HTTPFake { _ in .silence }
    let client = try ClientFixture()
    let request = HTTPRequest(method: .get, url: fake.url)
    expect(try client.send(request, timeout: .milliseconds(50)).failure, equals: .timeout)
    expect(try client.send(request, timeout: .milliseconds(50)).failure, equals: .timeout)
  }

  @Test func `waiting for a connection is part of the deadline`() throws {
    let fake = try HTTPFake { _ in .silence }
    let client = try ClientFixture(connections: 1)
    let request = HTTPRequest(method: .get, url: fake.url)
    // It has the only connection, longer than the test lasts.
    try client.begin(request, timeout: .seconds(86_400))
    expect(eventually { fake.requests.count == 1 })
    let short = Duration.milliseconds(50)
    let results = try client.sendTogether([(request, short), (request, short)])
    expect(results.map(\.failure), equals: [.timeout, .timeout])
    expect(fake.connections, equals: 1)
  }

  @Test func `requests over the limit of connections queue and are all answered`() throws {
    let fake = try HTTPFake { .json("\($0.number)") }
    let client = try ClientFixture(connections: 2)
    let request = (HTTPRequest(method: .get, url: fake.url), HangLimit.duration)
    let results = try client.sendTogether(Array(repeating: request, count: 30))
    expect(results.allSatisfy { $0.text != nil })
    expect(fake.connections <= 2)
  }

  @Test func `no server listens`() throws {
    let (bound, port) = try Socket.boundOnLoopback()
    defer { withExtendedLifetime(bound) {} }
    expect(try ClientFixture().get("http://127.0.0.1:\(port)/").failure, equals: .connect)
  }

  @Test func `the second address of a name is tried`() throws {
    // localhost is ::1 first on most hosts, where no server listens.
    let fake = try HTTPFake { _ in .json("found") }
    let client = try ClientFixture()
    for _ in 0..<5 {
      expect(try client.get("http://localhost:\(fake.port)/").text, equals: "found")
    }
  }

  @Test func `a name that is not there`() throws {
    expect(try ClientFixture().get("http://name.invalid/").failure, equals: .nameResolution)
  }

  @Test(arguments: ["ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "http://"])
  func `other schemes are refused`(_ url: String) throws {
    expect(try ClientFixture().get(url).failure, equals: .malformed)
  }

  @Test func `a Unix socket in place of the URL's host`() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/backend"
    let fake = try HTTPFake(path: path) { _ in .json("local") }
    let client = try ClientFixture()
    let reply = try client.send(HTTPRequest(method: .get, url: "http://auth.example/x")) {
      $0.unixSocket = path
    }
    expect(reply.text, equals: "local")
    expect(fake.requests.first?.head.contains("Host: auth.example") == true)
  }

  @Test func `nothing for this host goes through a proxy`() throws {
    let proxy = try HTTPFake { _ in .json("proxy") }
    let fake = try HTTPFake { _ in .json("direct") }
    let client = try ClientFixture(environment: ["http_proxy": "http://127.0.0.1:\(proxy.port)"])
    expect(try client.get(fake.url).text, equals: "direct")
    expect(try client.get("http://auth.example/x").text, equals: "proxy")
    expect(proxy.requests.first?.head.hasPrefix("GET http://auth.example/x") == true)
  }

  // MARK: Proxies

  /// Sends a request that needs the proxy, of which the environment has a password.
  private func get(
    by proxy: String, _ url: String = "https://auth.example/token"
  ) throws -> TransportFailure {
    let client = try ClientFixture(environment: ["https_proxy": proxy])
    let failure = try #require(try client.get(url).failure)
    for text in [failure.reason, failure.detail, failure.proxy?.address] {
      expect(!(text ?? "").contains("hidden"), "\(text ?? "")")
    }
    return failure
  }

  @Test(arguments: [407, 403, 502, 503, 400])
  func `a proxy that does not connect is named with its answer`(_ status: Int) throws {
    let proxy = try HTTPFake { _ in .raw("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n") }
    let failure = try get(by: "http://user:hidden@127.0.0.1:\(proxy.port)")
    expect(failure.kind, equals: .proxyRefused, "\(failure.detail ?? "")")
    expect(failure.proxyStatus, equals: status)
    expect(
      failure.proxy,
      equals: Proxy.Name(variable: "https_proxy", address: "127.0.0.1:\(proxy.port)"))
    expect(proxy.requests.first?.head.hasPrefix("CONNECT auth.example:443 ") == true)
    expect(failure.hasBegun, equals: false)
  }

  @Test func `a proxy that closes the connection is named`() throws {
    let proxy = try HTTPFake { _ in .last("") }
    let failure = try get(by: "http://user:hidden@127.0.0.1:\(proxy.port)")
    expect(failure.kind, equals: .proxyRefused, "\(failure.detail ?? "")")
    expect(failure.proxyStatus == nil)
  }

  @Test func `a proxy that is not there is named`() throws {
    let (bound, port) = try Socket.boundOnLoopback()
    defer { withExtendedLifetime(bound) {} }
    let refused = try get(by: "http://user:hidden@127.0.0.1:\(port)/")
    expect(refused.kind, equals: .proxyConnect)
    expect(refused.reason, equals: "Connection refused")
    expect(refused.proxy?.address, equals: "127.0.0.1:\(port)")
    let unknown = try get(by: "user:hidden@proxy.invalid:3128")
    expect(unknown.kind, equals: .proxyResolution)
    expect(unknown.proxy?.address, equals: "proxy.invalid:3128")
  }

  @Test(arguments: [
    "http://u:hidden@10.99.0.9:31x8", "http://u:hid@den@10.99.0.9:3128",
    "http://u:hidden#x@10.99.0.9:3128", "http://u:hidden@10.99.0.9:3128 ", "hidden://10.99.0.9",
    "http://u:hidden%00@10.99.0.9:3128", "http://u:hidden@",
  ])
  func `a proxy that cannot be read is named by its variable`(_ value: String) throws {
    let failure = try get(by: value)
    expect(failure.kind, equals: .proxyVariable)
    expect(failure.proxy?.variable, equals: "https_proxy")
    expect(failure.reason != nil)
  }

  @Test func `a proxy that should speak TLS and does not is named`() throws {
    let (listener, port) = try Socket.listeningOnLoopback()
    defer { listener.shutDown() }
    Thread.detachNewThread {
      guard let client = listener.accept() else { return }
      _ = client.receive()
      _ = client.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    }
    let failure = try get(by: "https://user:hidden@127.0.0.1:\(port)")
    expect(failure.kind, equals: .proxyConnect, "\(failure.detail ?? "")")
    expect(failure.reason, equals: "wrong version number")
  }

  // MARK: Connections that fell silent

  @Test(arguments: [
    HTTPFake.Answer.silence, .raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"),
  ])
  func `after silence on a kept connection no other kept one is used`(
    _ answer: HTTPFake.Answer
  ) throws {
    let begun = DispatchSemaphore(value: 0)
    let mayAnswer = DispatchSemaphore(value: 0)
    let fake = try HTTPFake { request in
      guard request.number == 1 else { return answer }
      begun.signal()
      _ = mayAnswer.waitWithLimit()
      return .json("new")
    }
    let client = try ClientFixture()
    let request = HTTPRequest(method: .get, url: fake.url)
    // Two connections, which are kept, and then silent.
    Thread.detachNewThread {
      for _ in 0..<2 { _ = begun.waitWithLimit() }
      for _ in 0..<2 { mayAnswer.signal() }
    }
    let both = try client.sendTogether([
      (request, HangLimit.duration), (request, HangLimit.duration),
    ])
    expect(both.map(\.text), equals: ["new", "new"])
    expect(fake.connections, equals: 2)
    for _ in 0..<3 { mayAnswer.signal() }
    let silent = try client.send(request, timeout: .seconds(1))
    expect(silent.failure, equals: .timeout)
    expect(try client.send(request).text, equals: "new")
    expect(fake.connections, equals: 3)
  }
}
