import CredCore
import TestSupport
import Testing

/// What the listener of a sign-in makes of the bytes of a connection.
struct BrowserRequestTests {
  private static let state = "Zm9v-state_0123456789"
  private static let start = "/start/00112233445566778899aabbccddeeff"

  private func back(_ uri: String = "http://localhost:8976/credd") throws -> BrowserReturn {
    try #require(
      BrowserReturn(redirectURI: uri, state: Secret(Self.state), start: Secret(Self.start)))
  }

  private func meaning(
    _ target: String, host: String = "localhost:8976", method: String = "GET",
    _ uri: String = "http://localhost:8976/credd"
  ) throws -> BrowserReturn.Meaning? {
    let step = BrowserRequest.read(
      Array("\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\nAccept: */*\r\n\r\n".utf8))
    guard case .request(let request) = step else { return nil }
    return try back(uri).meaning(of: request)
  }

  @Test func onlyTheRedirectURIWithThisSignInsStateCounts() throws {
    let query = "code=a%2Bb&state=\(Self.state)"
    expect(try meaning("/credd?" + query), equals: .response(Secret(query)))
    for target in [
      "/credd", "/credd?", "/credd?code=a", "/credd?code=a&state=", "/credd?code=a&state=old",
      "/credd?code=a&state=\(Self.state)x", "/credd?state=\(Self.state)&state=\(Self.state)",
      "/credd?state=\(Self.state)&%73tate=other", "/credd/?" + query, "/Credd?" + query,
      "/favicon.ico", "/", "/credd%3F" + query, "//credd?" + query,
    ] {
      expect(try meaning(target), equals: .other, "\(target)")
    }
  }

  @Test func aStateIsRecognisedHoweverItIsEncoded() throws {
    expect(try meaning("/credd?%73tate=%5A%6D9v-state_0123456789") != .other)
  }

  @Test func theLinkOfTheStartIsExact() throws {
    expect(try meaning(Self.start), equals: .start)
    expect(try meaning(Self.start + "?"), equals: .other)
    expect(try meaning(Self.start.dropLast() + "0"), equals: .other)
  }

  @Test(arguments: [
    "evil.example", "evil.example:8976", "localhost", "localhost:8977", "127.0.0.1:8976",
    "localhost:8976.evil.example", "[::1]:8976", "", "localhost:8976, localhost:8976",
  ])
  func anotherHostIsRefused(_ host: String) throws {
    expect(try meaning("/credd?state=\(Self.state)", host: host), equals: .wrongHost)
  }

  @Test func aHostIsReadAsBrowsersWriteIt() throws {
    expect(try meaning(Self.start, host: "LocalHost:8976"), equals: .start)
    expect(try meaning(Self.start, host: "127.0.0.1", "http://127.0.0.1:80/credd"), equals: .start)
    expect(
      try meaning(Self.start, host: "127.0.0.1:80", "http://127.0.0.1:80/credd"), equals: .start)
    expect(try meaning(Self.start, host: "[::1]:1234", "http://[::1]:1234/credd"), equals: .start)
  }

  @Test func otherMethodsChangeNothing() throws {
    expect(try meaning("/credd?state=\(Self.state)", method: "POST"), equals: .wrongMethod)
    expect(try meaning("/credd?state=\(Self.state)", method: "HEAD"), equals: .wrongMethod)
  }

  @Test(arguments: [
    "\u{16}\u{3}\u{1}", "get / HTTP/1.1\r\n", "GET / HTTP/1.1\r\n\r\n",
    "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/2\r\nHost: a\r\n\r\n",
    "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", "GET /\u{0} HTTP/1.1\r\nHost: a\r\n\r\n",
    "{\"op\":\"ping\"}\n", "GET / HTTP/1.1\r\n: a\r\nHost: a\r\n\r\n",
  ])
  func whatIsNoRequestOfABrowserIsRefused(_ text: String) {
    expect(BrowserRequest.read(Array(text.utf8)), equals: .refused)
  }

  @Test func aHeadMayComeInPiecesAndHasALimit() {
    let head = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    for count in 0..<head.count {
      expect(BrowserRequest.read(Array(head.prefix(count))), equals: .needsMore)
    }
    let long = Array(
      "GET /?\(String(repeating: "a", count: 20_000)) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    guard case .request = BrowserRequest.read(long) else {
      Issue.record("a code of 20,000 bytes is refused")
      return
    }
    let endless =
      Array("GET / HTTP/1.1\r\nX: ".utf8)
      + [UInt8](repeating: 0x61, count: BrowserRequest.headBytes)
    expect(BrowserRequest.read(endless), equals: .refused)
    let fields = String(repeating: "X: y\r\n", count: 200)
    expect(
      BrowserRequest.read(Array("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n".utf8)),
      equals: .refused)
  }

  // MARK: Pasted

  private func pasted(_ text: String) throws(InvalidInput) -> String? {
    try BrowserReturn.query(
      ofPasted: Secret(text), redirectURI: "http://localhost:8976/credd",
      state: Secret(Self.state)
    ).exposedText()
  }

  @Test func anAddressIsTakenAsBrowsersGiveIt() throws {
    let query = "code=a%2Bb&state=\(Self.state)"
    for text in [
      "http://localhost:8976/credd?\(query)", "  localhost:8976/credd?\(query)\n", "?\(query)",
      query,
      "http://localhost:8976/credd?\(query)#_=_",
    ] {
      expect(try pasted(text), equals: query, "\(text)")
    }
  }

  @Test func anotherAddressIsRefusedWithoutRepeatingIt() {
    for text in [
      "", "https://idp.example/login?state=\(Self.state)",
      "http://localhost:8977/credd?state=\(Self.state)",
      "http://localhost:8976/credd?code=secret-code&state=old", "secret-code",
      "http://localhost:8976/credd?code=\(String(repeating: "a", count: 17_000))&state=\(Self.state)",
    ] {
      let error = #expect(throws: InvalidInput.self) { try pasted(text) }
      expect(error?.description.contains("secret-code") == false)
    }
  }
}
