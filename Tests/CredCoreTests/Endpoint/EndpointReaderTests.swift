import CredCore
import TestSupport
import Testing

struct EndpointReaderTests {
  private static let host = "Host: 127.0.0.1:337\r\n"

  /// What becomes of a text: the first step that is no wait for more.
  private func step(_ text: String) -> EndpointReader.Step {
    var reader = EndpointReader()
    var position = 0
    let bytes = Array(text.utf8)
    return reader.next(in: bytes.span, from: &position)
  }

  private func request(_ text: String) throws -> EndpointRequest {
    guard case .request(let request) = step(text) else {
      throw Unread(step: "\(step(text))")
    }
    return request
  }

  private struct Unread: Error { let step: String }

  private func fields(_ text: String) -> EndpointReader.Step {
    step("GET /credentials/work HTTP/1.1\r\n\(Self.host)\(text)\r\n")
  }

  @Test func aRequestOfAnSDKIsRead() throws {
    let request = try request(
      "GET /credentials/work HTTP/1.1\r\nhOST: 127.0.0.1\r\nAccept: application/json\r\n"
        + "Authorization:  credd1.x \r\nUser-Agent: Botocore/1.44.5 (é)\r\n\r\n")
    expect(request.path, equals: .credentialsOf(profile: "work"))
    expect(request.host, equals: Array("127.0.0.1".utf8))
    expect(request.token, equals: Secret("credd1.x"))
    expect(request.foreignHeader == nil)
    expect(!request.closes)
  }

  @Test func requestsMayFollowEachOther() {
    let text = "GET /metrics HTTP/1.1\r\n\(Self.host)\r\n"
    let bytes = Array((text + text + "GET").utf8)
    var reader = EndpointReader()
    var position = 0
    for _ in 0..<2 {
      guard case .request(let request) = reader.next(in: bytes.span, from: &position) else {
        Issue.record("no request")
        return
      }
      expect(request.path, equals: .metrics)
      expect(!reader.holdsPartialHead)
    }
    expect(reader.next(in: bytes.span, from: &position), equals: .needsMore)
    expect(reader.holdsPartialHead)
  }

  @Test(
    arguments: [
      ("GET /a HTTP/1.1\nHost: 127.0.0.1\n\n", EndpointRefusal.lineEnd),
      ("GET /a HTTP/1.1\r\rHost", .lineEnd),
      ("GET http://127.0.0.1/a HTTP/1.1\r\n", .target),
      ("GET * HTTP/1.1\r\n", .target),
      ("GET  /a HTTP/1.1\r\n", .target),
      ("GET /a b HTTP/1.1\r\n", .target),
      ("GET /é HTTP/1.1\r\n", .target),
      ("GET /a HTTP/1.0\r\n", .version),
      ("GET /a HTTP/2.0\r\n", .version),
      ("GET /a\r\n", .target),
      ("GET /\u{0}", .controlByte),
      ("POST /a HTTP/1.1\r\n", .method),
      ("OPTIONS ", .method),
      ("HEAD /a HTTP/1.1\r\n", .head),
      ("get /a HTTP/1.1\r\n", .notARequest),
      ("\r\nGET /a HTTP/1.1\r\n", .notARequest),
      ("SSH-2.0-OpenSSH\r\n", .notARequest),
      ("*1\r\n$4\r\nPING\r\n", .notARequest),
      ("{\"op\":\"get\"}\n", .notARequest),
      ("\u{16}\u{3}\u{1}", .controlByte),
    ] as [(String, EndpointRefusal)])
  func whatIsNoRequestIsRefused(_ text: String, _ refusal: EndpointRefusal) {
    expect(step(text), equals: .refused(refusal))
  }

  @Test(
    arguments: [
      ("Transfer-Encoding: chunked\r\n", EndpointRefusal.body),
      ("Content-Length: 3\r\n", .body),
      ("Content-Length: 0\r\nContent-Length: 00\r\n", .body),
      ("Expect: 100-continue\r\n", .expectation),
      ("Host: 127.0.0.1\r\n", .host),
      ("Authorization: a\r\nAuthorization: a\r\n", .authorization),
      (" folded\r\n", .field),
      ("X : a\r\n", .field),
      (": a\r\n", .field),
      ("X\r\n", .field),
      ("X: a\tb\r\n", .controlByte),
      ("X: a\u{7F}\r\n", .controlByte),
      ("X: a\rb\r\n", .lineEnd),
    ] as [(String, EndpointRefusal)])
  func aHeadThatTwoReadersCouldReadDifferentlyIsRefused(
    _ text: String, _ refusal: EndpointRefusal
  ) {
    expect(fields(text), equals: .refused(refusal))
  }

  @Test func aRequestWithoutHostIsRefused() {
    expect(step("GET /a HTTP/1.1\r\n\r\n"), equals: .refused(.host))
    expect(step("GET /a HTTP/1.1\r\nHost:\r\n"), equals: .refused(.host))
  }

  @Test func aMethodIsRefusedBeforeItsLineEnds() {
    expect(step("DELETE "), equals: .refused(.method))
    expect(step("s"), equals: .refused(.notARequest))
    expect(step(String(repeating: "A", count: 21)), equals: .refused(.notARequest))
  }

  @Test func aHeadHasALimit() {
    let line = "GET /a HTTP/1.1\r\n"
    let rest = Limits.Endpoint.headBytes - line.utf8.count - Self.host.utf8.count - 7
    let longest = "X: " + String(repeating: "a", count: rest) + "\r\n"
    expect((line + Self.host + longest + "\r\n").utf8.count, equals: Limits.Endpoint.headBytes)
    guard case .request = step(line + Self.host + longest + "\r\n") else {
      Issue.record("the longest head is refused")
      return
    }
    expect(step(line + Self.host + "X" + longest + "\r\n"), equals: .refused(.headTooLong))
    let fields = String(repeating: "X: a\r\n", count: Limits.Endpoint.fields)
    expect(step(line + Self.host + fields + "\r\n"), equals: .refused(.tooManyFields))
  }

  /// A repeated head is compared and not read, which nobody may notice.
  @Test func aHeadAfterTheSameHeadSaysWhatItSaysAlone() {
    let head = Array(
      "GET /credentials/work HTTP/1.1\r\n\(Self.host)Authorization: credd1.x\r\n\r\n".utf8)
    var reader = EndpointReader()
    var start = 0
    guard case .request(let first) = reader.next(in: head.span, from: &start) else {
      Issue.record("no request")
      return
    }
    for place in head.indices {
      for byte in [head[place], head[place] ^ 1, head[place] ^ 0x20, 0x0D, 0x0A, 0x00] {
        var other = head + Array("GET".utf8)
        other[place] = byte
        var (after, alone) = (reader, EndpointReader())
        var (position, expected) = (0, 0)
        let step = after.next(in: other.span, from: &position)
        expect(step == alone.next(in: other.span, from: &expected) && position == expected)
        expect(byte == head[place] || step != .request(first) || byte ^ 0x20 == head[place])
      }
    }
    for place in 1..<head.count {
      var split = reader
      var position = 0
      expect(split.next(in: Array(head[..<place]).span, from: &position), equals: .needsMore)
      position = 0
      expect(split.next(in: Array(head[place...]).span, from: &position), equals: .request(first))
    }
  }

  @Test func nothingIsReadAfterARefusal() {
    var reader = EndpointReader()
    var position = 0
    let wrong = Array("POST /".utf8)
    expect(reader.next(in: wrong.span, from: &position), equals: .refused(.method))
    let right = Array("GET /metrics HTTP/1.1\r\n\(Self.host)\r\n".utf8)
    position = 0
    expect(reader.next(in: right.span, from: &position), equals: .refused(.method))
  }

  @Test(arguments: [
    "Origin: null", "Referer: http://a/", "Sec-Fetch-Site: same-origin", "cookie: a=b",
    "Forwarded: for=1", "X-Forwarded-For: 1", "X-FORWARDED-HOST: a", "Via: 1.1 proxy",
    "Sec-CH-UA: a", "X-Real-IP: 10.0.0.1", "Proxy-Connection: keep-alive",
  ])
  func whatABrowserOrAProxyAddsIsRefused(_ field: String) throws {
    let request = try request("GET /metrics HTTP/1.1\r\n\(Self.host)\(field)\r\n\r\n")
    expect(
      request.refusal(at: EndpointAddress(port: 337), isAttested: true), equals: .notAnSDK)
  }

  @Test func onlyTheLiteralAddressIsAHost() throws {
    let address = EndpointAddress(port: 337)
    let all = [
      "127.0.0.1", "127.0.0.1:337", "localhost", "localhost:337", "127.0.0.1:80", "0.0.0.0:337",
      "127.0.0.2", "127.0.0.1.", "[::1]:337", "evil.example",
    ]
    let taken = all.filter { address.isNamed(by: Array($0.utf8)) }
    expect(taken, equals: ["127.0.0.1", "127.0.0.1:337"])
    expect(EndpointAddress(.ipv6, port: 1).isNamed(by: Array("[::1]:1".utf8)))
    let request = try request("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    expect(request.refusal(at: address, isAttested: true), equals: .notAnSDK)
  }

  @Test func refusalsHaveOneOrder() throws {
    let address = EndpointAddress(port: 337)
    func refusal(_ path: String, _ field: String = "", isAttested: Bool) throws -> EndpointRefusal?
    {
      try request("GET \(path) HTTP/1.1\r\n\(Self.host)\(field)\r\n")
        .refusal(at: address, isAttested: isAttested)
    }
    expect(try refusal("/x", "Via: 1\r\n", isAttested: false), equals: .notAnSDK)
    expect(try refusal("/x", isAttested: false), equals: .notAttested)
    expect(try refusal("/x", isAttested: true), equals: .unknownPath)
    expect(try refusal("/credentials/x", isAttested: true) == nil)
    expect(try refusal("/metrics", isAttested: true) == nil)
  }

  @Test(arguments: [
    "/", "/credentials", "/credentials/", "/credentials/a/b", "/credentials/a%2Fb",
    "/credentials/../metrics", "/credentials/a?b", "//metrics", "/metrics/", "/metrics?", "/v1/a",
    "/Credentials/a",
  ])
  func aPathHasOneSpelling(_ path: String) {
    expect(EndpointPath(Array(path.utf8)) == nil)
  }

  @Test(arguments: ["close", "Keep-Alive, Close", " close "])
  func aClientMayCloseTheConnection(_ value: String) throws {
    let text = "GET /metrics HTTP/1.1\r\n\(Self.host)Connection:\(value)\r\n\r\n"
    expect(try request(text).closes)
  }
}

struct EndpointAddressTests {
  @Test func onlyLiteralLoopbackAddressesAreTaken() {
    let texts = [
      "127.0.0.1:337", "127.255.3.4:1", "[::1]:8080", "localhost:1", "0.0.0.0:1", "10.0.0.1:1",
      "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:01", "127.0.0.010:1", "127.1:1",
      "::1:1", "[::]:1", "127.0.0.256:1", "127.0.0.1:0",
    ]
    expect(
      texts.compactMap { EndpointAddress($0)?.description },
      equals: ["127.0.0.1:337", "127.255.3.4:1", "[::1]:8080", "127.0.0.1:0"])
  }

  @Test func theProfileStandsInThePath() {
    expect(
      EndpointAddress(port: 337).url(ofProfile: "work"),
      equals: "http://127.0.0.1:337/credentials/work")
  }
}
