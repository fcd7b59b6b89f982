import CredCore
import CredctlKit
import TestSupport
import Testing

/// How credctl finds a browser, a way to sign in and a place to listen.
struct BrowserTests {
  private func commands(
    given: String? = nil, _ environment: [String: String] = [:], kernel: String = "6.1.0-18-amd64",
    isRoot: Bool = false
  ) -> [[String]] {
    BrowserCommand.candidates(
      given: given, environment: { environment[$0] }, kernel: kernel, isRoot: isRoot
    )
    .map { $0.words(for: "http://localhost:1/start/ab") }
  }

  @Test func theGivenCommandGoesBeforeTheEnvironmentsAndThatBeforeTheDesktops() {
    let environment = ["BROWSER": "firefox --new-tab %s:w3m", "DISPLAY": ":0"]
    expect(
      commands(given: "chromium --app=%s", environment),
      equals: [["chromium", "--app=http://localhost:1/start/ab"]])
    expect(
      commands(environment),
      equals: [
        ["firefox", "--new-tab", "http://localhost:1/start/ab"],
        ["w3m", "http://localhost:1/start/ab"], ["xdg-open", "http://localhost:1/start/ab"],
      ])
  }

  @Test func withoutADisplayThereIsNoBrowser() {
    expect(commands().isEmpty)
    expect(commands(["DISPLAY": ""]).isEmpty)
    expect(commands(given: " ").isEmpty)
    expect(commands(["WAYLAND_DISPLAY": "wayland-0"]).map(\.first), equals: ["xdg-open"])
  }

  /// Under sudo the environment may be the user's, whose programs do not run as root unasked.
  @Test(arguments: [["SUDO_UID": "1000"], ["PKEXEC_UID": "1000"], ["DOAS_USER": "alice"]])
  func noProgramOfAnotherUsersEnvironmentRunsAsRoot(_ caller: [String: String]) {
    let environment = caller.merging(["BROWSER": "evil", "DISPLAY": ":0"]) { one, _ in one }
    expect(commands(environment, isRoot: true).isEmpty)
    expect(commands(given: "w3m", environment, isRoot: true).map(\.first), equals: ["w3m"])
    expect(commands(environment).map(\.first), equals: ["evil", "xdg-open"])
    let own = ["SUDO_UID": "0", "BROWSER": "w3m"]
    expect(commands(own, isRoot: true).map(\.first), equals: ["w3m"])
  }

  @Test func onWindowsTheBrowserIsItsOwn() {
    let found = commands(kernel: "5.15.153.1-microsoft-standard-WSL2\n")
    expect(found.map(\.first), equals: ["wslview", "powershell.exe"])
    expect(found.last?.last, equals: "Start-Process 'http://localhost:1/start/ab'")
  }

  /// No shell reads it, and PowerShell's word cannot be ended.
  @Test func aURLStaysOneWord() {
    let words = BrowserCommand.candidates(
      given: nil, environment: { _ in nil }, kernel: "Microsoft"
    ).map { $0.words(for: "https://a/?x=';calc;'&y=z") }
    expect(
      words.map(\.last),
      equals: [
        "https://a/?x=%27;calc;%27&y=z", "Start-Process 'https://a/?x=%27;calc;%27&y=z'",
      ])
  }

  // MARK: The way

  private func offer(_ means: String) throws -> SignInOffer {
    let reply = try JSONValue.parse(
      Array(
        #"{"Profiles":[{"Profile":"p","SignIn":{"Means":[\#(means)],"RedirectUris":["http://localhost:1/"]}}]}"#
          .utf8))
    return try #require(SignInOffer(reply, profile: "p"))
  }

  @Test(arguments: [
    (#""browser","paste""#, true, false, SignInOffer.Way.browser),
    (#""browser","paste""#, true, true, .paste), (#""browser","paste""#, false, false, .paste),
    (#""browser","paste","device""#, false, true, .device),
    (#""browser","paste","device""#, true, false, .browser),
    (#""device","browser""#, true, false, .device), (#""paste""#, true, false, .paste),
    (#""password","browser","paste","logins""#, true, false, .browser),
    (#""password","browser","paste","logins""#, true, true, nil),
    (#""password","token""#, true, false, nil), (#""moonlight""#, true, false, nil),
  ])
  func theProfileAndTheHostSuggestAWay(
    _ means: String, _ canOpen: Bool, _ isRemote: Bool, _ way: SignInOffer.Way?
  ) throws {
    expect(try offer(means).way(canOpen: canOpen, isRemote: isRemote), equals: way)
  }

  @Test func aProfileThatIsNotOpenHasNoOffer() throws {
    expect(SignInOffer(try JSONValue.parse(Array(#"{"Profiles":[]}"#.utf8)), profile: "p") == nil)
  }

  @Test func whatIsAskedForStandsInTheRequest() {
    var wishes = BrowserWishes()
    var request = RequestLine(operation: "login", profile: "p")
    request.add(wishes)
    expect(
      String(decoding: request.finished(), as: UTF8.self),
      equals: #"{"op":"login","profile":"p","browser":{}}"# + "\n")
    wishes.redirectURI = "http://localhost:1/"
    wishes.identityProvider = "Okta"
    wishes.asksAnew = true
    wishes.scopes = ["openid", "email"]
    request = RequestLine(operation: "login", profile: "p")
    request.add(wishes)
    expect(
      String(decoding: request.finished(), as: UTF8.self),
      equals: #"{"op":"login","profile":"p","browser":{"redirect_uri":"http://localhost:1/","#
        + #""identity_provider":"Okta","prompt":"login","scopes":["openid","email"]}}"# + "\n")
  }

  // MARK: The place

  @Test func redirectURIsOfThisHostAreListenedAt() throws {
    let fixed = try #require(LoopbackURI("http://localhost:8976/credd"))
    expect(fixed.host == .localhost && fixed.port == 8976)
    expect(fixed.text(port: 8976), equals: "http://localhost:8976/credd")
    expect(fixed.url(ofPath: "/start/1", port: 8976), equals: "http://localhost:8976/start/1")
    let any = try #require(LoopbackURI("http://127.0.0.1/okta"))
    expect(any.host == .ipv4(0, 0, 1) && any.port == nil)
    expect(any.text(port: 40_001), equals: "http://127.0.0.1:40001/okta")
    let six = try #require(LoopbackURI("http://[::1]/"))
    expect(six.host == .ipv6 && six.text(port: 9) == "http://[::1]:9/")
    expect(LoopbackURI("http://[::1]:81/")?.port, equals: 81)
    for other in ["https://localhost:8976/", "http://example.com/", "http://10.0.0.1:80/", "x"] {
      expect(LoopbackURI(other) == nil, "\(other)")
    }
  }

  @Test func theKernelsTableNamesWhoListens() {
    let table = Array(
      """
        sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
         0: 0100007F:2310 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 12 1 0 10
         1: 0100007F:2311 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1002        0 13 1 0 10
         2: 00000000000000000000000001000000:2312 00000000000000000000000000000000:0000 0A 0:0 00:0 0 7 0 1 1

      """.utf8)
    expect(PortHolder.uid(at: 0x2310, in: table), equals: 1001)
    expect(PortHolder.uid(at: 0x2311, in: table) == nil)
    expect(PortHolder.uid(at: 0x2312, in: table), equals: 7)
    expect(PortHolder.uid(at: 1, in: []) == nil)
  }

  // MARK: Texts

  @Test func thePageHasNoScriptAndNothingOfOthers() {
    let page = BrowserPage.failed("<script>alert(1)</script>\u{1B}[2J \"&'")
    let text = String(decoding: page.bytes, as: UTF8.self)
    expect(!text.contains("<script") && !text.contains("\u{1B}"))
    expect(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;[2J &quot;&amp;&#39;"))
    for field in [
      "Cache-Control: no-store", "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff",
      "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'", "Connection: close",
    ] {
      expect(text.contains(field), "\(field)")
    }
    let body = text.split(separator: "\r\n\r\n", maxSplits: 1).last ?? ""
    expect(text.contains("Content-Length: \(body.utf8.count)\r\n"))
  }

  @Test func theWayToTheProviderIsARedirect() {
    let text = String(
      decoding: BrowserPage.redirect(to: Secret("https://idp.example/a?state=s")).bytes,
      as: UTF8.self)
    expect(text.hasPrefix("HTTP/1.1 302 Found\r\n"))
    expect(text.contains("\r\nLocation: https://idp.example/a?state=s\r\n"))
  }

  @Test func aLongLinkIsShownWhole() throws {
    let url = "https://idp.example/a?state=" + String(repeating: "s", count: 4000)
    let challenge = try QuestionTests.challenge(
      "browser", #"{"Url":"\#(url)","RedirectUri":"http://localhost:1/","State":"s"}"#)
    guard case .browser(let step) = challenge.step else {
      Issue.record("\(challenge)")
      return
    }
    for opens in [true, false] {
      let lines = BrowserText.lines(
        step, profile: "p", opens: opens, listens: true, forwarded: (8976, "host"))
      expect(lines.contains("  " + url))
      expect(lines.contains { $0.contains("ssh -L 8976:localhost:8976 host") } != opens)
    }
  }

  @Test(arguments: [
    #"{"Url":"javascript:alert(1)","RedirectUri":"http://localhost:1/","State":"s"}"#,
    #"{"Url":"https://a/\u001b]0;x\u0007","RedirectUri":"http://localhost:1/","State":"s"}"#,
    #"{"Url":"https://a/","RedirectUri":"http://localhost:1/"}"#, "{}",
  ])
  func aLinkThatIsNoneIsRefused(_ parameters: String) {
    let failure = #expect(throws: Failure.self) {
      try QuestionTests.challenge("browser", parameters)
    }
    expect(failure?.status, equals: .unavailable)
  }

  @Test func aDeviceCodeIsShownWithAWarning() throws {
    let challenge = try QuestionTests.challenge(
      "device",
      #"{"UserCode":"WDJB-MJHT","Url":"https://idp.example/device","CompleteUrl":"https://idp.example/device?c=WDJB-MJHT","Interval":5}"#
    )
    guard case .device(let step) = challenge.step else {
      Issue.record("\(challenge)")
      return
    }
    let text = step.lines(profile: "work", host: "server", hasQRCode: true).joined(separator: "\n")
    for part in [
      "profile work", "https://idp.example/device", "WDJB-MJHT", "compare it", "on server",
      "Type it only if you began this sign-in yourself",
    ] {
      expect(text.contains(part), "\(part)")
    }
    expect(step.scanned.hasSuffix("?c=WDJB-MJHT"))
    expect(challenge.unanswered.line.contains("credctl respond \(challenge.handle) --wait 300"))
    #expect(throws: Failure.self) {
      try QuestionTests.challenge("device", #"{"UserCode":"\u001b[2J","Url":"https://a/"}"#)
    }
  }

  @Test func aConfirmationNamesWhoAndWhatEnds() throws {
    let challenge = try QuestionTests.challenge(
      "confirm",
      #"{"Issuer":"https://idp.example/","Subject":"sub-2","Username":"bob","Replaces":"alice","LinksTo":"us-east-1:x"}"#
    )
    let question = try Question(challenge, username: "u", profile: "p")
    let text = question.lines.joined(separator: " ")
    for part in ["bob (sub-2)", "https://idp.example/", "alice", "us-east-1:x"] {
      expect(text.contains(part), "\(part)")
    }
    let item = try #require(question.items.first)
    expect(try item.answer(for: Secret("Yes ")), equals: Secret("true"))
    expect(try item.answer(for: Secret("n")), equals: Secret("false"))
    #expect(throws: Question.Item.Mistake.self) { try item.answer(for: Secret("")) }
    expect(challenge.unanswered.line.contains("confirm=true"))
    var answers = Answers()
    answers.add("confirm", Secret("false"))
    expect(!answers.consents)
  }

  /// Whether the account has an identity of its own, nobody knows before.
  @Test func aGuestIsToldWhatMayBe() throws {
    func lines(_ state: String, _ linksTo: String) throws -> String {
      let challenge = try QuestionTests.challenge(
        "confirm", #"{"Issuer":"https://idp.example/","Subject":"s","LinksTo":"\#(linksTo)"}"#,
        state: state)
      return try Question(challenge, username: "u", profile: "p").lines.joined(separator: " ")
    }
    let guest = try lines("guest", "us-east-1:x")
    expect(
      guest.hasSuffix(
        "If this account has no identity yet, it gets that of the guest, us-east-1:x, for good; if it "
          + "has one, this profile changes to that one."), "\(guest)")
    expect(
      try lines("signedIn", "us-east-1:x").hasSuffix(
        "That links this account to the identity us-east-1:x for good."))
    // Where no identity is known, the backend's name for its users stands there.
    expect(
      try lines("signedOut", "login.example.app").hasSuffix(
        "That links this account to your user at login.example.app for good."))
  }

  @Test func anAddressIsAnAnswerToo() {
    expect(Secret("http://localhost:1/x?a=b&c=d#e").queryOfAddress, equals: Secret("a=b&c=d"))
    expect(Secret("a=b").queryOfAddress, equals: Secret("a=b"))
  }
}
