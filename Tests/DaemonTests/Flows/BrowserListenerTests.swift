import Foundation
import Glibc
import Testing
import TestSupport

@testable import DaemonHarness

/// The listener of `credctl login`, and who else may come to it.
@Suite(.onStage, .enabled(if: PythonScript.canRun && Programs.installed("curl") != nil))
struct BrowserListenerTests {
  @Test func theBrowserStartsWithALinkThatHoldsNoSecretAndWorksOnce() throws {
    let login = try BrowserLogin()
    let shown = try login.waitUntilItListens()
    // At the own terminal the whole link, for a browser elsewhere.
    expect(shown.contains(BrowserLogin.url))
    let link = try login.startLink()
    expect(link.hasPrefix("http://127.0.0.1:\(login.port)/start/") && !link.contains("state"))
    let target = String(link.dropFirst("http://127.0.0.1:\(login.port)".count))
    let first = try login.fetch(target)
    expect(first.status == "302" && first.text.contains("Location: \(BrowserLogin.url)\r\n"))
    expect(first.text.contains("Referrer-Policy: no-referrer\r\n"))
    let second = try login.fetch(target)
    expect(second.status == "404" && !second.text.contains(BrowserLogin.state))
    try login.expectSignIn()
  }

  @Test func thePageHasNoScriptAndIsKeptNowhere() throws {
    let login = try BrowserLogin()
    try login.waitUntilItListens()
    let page = try login.fetch(BrowserLogin.response())
    for field in [
      "Cache-Control: no-store", "Content-Security-Policy: default-src 'none'",
      "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff",
    ] {
      expect(page.text.contains(field), "\(field)")
    }
    expect(!page.text.contains("<script") && !page.text.contains("code.1"))
    expect(try login.terminal.end(), equals: 0)
  }

  @Test(.enabled(if: OtherUser.canBe)) func anotherUsersConnectionIsRefusedBeforeItIsRead() throws {
    let login = try BrowserLogin()
    try login.waitUntilItListens()
    let link = try login.startLink()
    let target = String(link.dropFirst("http://127.0.0.1:\(login.port)".count))
    for stolen in [target, BrowserLogin.response("stolen"), "/"] {
      let refused = try login.fetch(stolen, as: .games)
      expect(refused.status, equals: "403", "\(refused)")
      expect(!refused.text.contains(BrowserLogin.state))
    }
    try login.terminal.expect("Warning: uid 5 connected to this sign-in, and was refused.")
    expect(login.responses.isEmpty)
    // The link still works for the browser of this user.
    expect(try login.fetch(target).status, equals: "302")
    try login.expectSignIn()
  }

  @Test func strayRequestsChangeNothing() throws {
    let login = try BrowserLogin()
    try login.waitUntilItListens()
    let good = BrowserLogin.response()
    expect(try login.fetch("/favicon.ico").status, equals: "404")
    expect(try login.fetch("/").status, equals: "404")
    expect(try login.fetch("/back").status, equals: "404")
    expect(try login.fetch("/back?error=access_denied").status, equals: "404")
    expect(try login.fetch(BrowserLogin.response(state: "of-an-old-tab")).status, equals: "404")
    expect(try login.fetch(good + "&state=second").status, equals: "404")
    expect(try login.fetch("/other?" + good.dropFirst(6)).status, equals: "404")
    expect(try login.fetch(good, as: nil, "-XPOST", "-dcode=1").status, equals: "405")
    expect(try login.fetch(good, as: nil, "-I").status, equals: "405")
    expect(login.responses.isEmpty)
    try login.expectSignIn()
  }

  /// A page elsewhere whose name leads to 127.0.0.1.
  @Test(arguments: [
    "evil.example", "evil.example:PORT", "localhost:PORT", "127.0.0.1", "[::1]:PORT",
  ])
  func aRequestForAnotherHostIsRefused(_ host: String) throws {
    let login = try BrowserLogin()
    try login.waitUntilItListens()
    let host = host.replacing("PORT", with: "\(login.port)")
    expect(
      try login.fetch(BrowserLogin.response(), as: nil, "-HHost: \(host)").status, equals: "421")
    expect(login.responses.isEmpty)
    try login.expectSignIn()
  }

  @Test func bytesThatAreNoRequestEndTheirConnectionAlone() throws {
    let login = try BrowserLogin()
    try login.waitUntilItListens()
    for bytes in [
      "\u{16}\u{3}\u{1}\u{2}\u{0}", #"{"op":"ping"}"# + "\n", "get / http/1.1\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
      "GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 40_000) + "\r\n\r\n",
    ] {
      let socket = try StreamSocket(port: login.port)
      try socket.send(bytes)
      let answer = String(decoding: (try? socket.rest()) ?? [], as: UTF8.self)
      expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
    }
    try login.expectSignIn()
  }

  @Test func connectionsThatSayNothingDoNotKeepTheBrowserOut() throws {
    let login = try BrowserLogin()
    try login.waitUntilItListens()
    let silent = try (0..<20).map { _ in try StreamSocket(port: login.port) }
    let slow = try StreamSocket(port: login.port)
    try slow.send("GET /back?code=")
    // The oldest made room; the others are sent away in time.
    expect(silent[0].isClosed())
    let page = try login.fetch("/favicon.ico")
    expect(page.status, equals: "404")
    expect(slow.isClosed())
    try login.expectSignIn()
  }

  @Test func aCodeOf5KilobytesArrives() throws {
    let login = try BrowserLogin()
    try login.waitUntilItListens()
    let code = String(repeating: "Ab0-", count: 1280)
    expect(try login.fetch(BrowserLogin.response(code)).status, equals: "200")
    expect(try login.terminal.end(), equals: 0)
    expect(login.responses.last?.contains("code=\(code)&") == true)
  }

  @Test func bothFamiliesOfLocalhostAreListenedAt() throws {
    let login = try BrowserLogin(host: "localhost")
    try login.waitUntilItListens()
    let url = "http://localhost:\(login.port)/favicon.ico"
    for family in ["-4", "-6"] {
      expect(try BrowserLogin.fetch(url, as: nil, [family]).status, equals: "404", "\(family)")
    }
    let page = try BrowserLogin.fetch(
      "http://localhost:\(login.port)" + BrowserLogin.response(), as: nil, ["-6"])
    expect(page.status, equals: "200")
    expect(try login.terminal.end(), equals: 0)
  }

  @Test func nobodyElseCanListenThereMeanwhile() throws {
    let login = try BrowserLogin(host: "localhost")
    try login.waitUntilItListens()
    let python = try #require(Programs.installed("python3"))
    for (family, address) in [("AF_INET", "127.0.0.1"), ("AF_INET", ""), ("AF_INET6", "::1")] {
      let trial = try ChildProcess([
        python, "-c",
        """
        import socket
        s = socket.socket(socket.\(family))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("\(address)", \(login.port)))
        s.listen()
        """,
      ])
      expect(try trial.wait() == 1 && trial.errors.contains("Address already in use"))
    }
    try login.terminal.press("\u{3}")
    expect(try login.terminal.end(), equals: 130)
  }

  @Test(.enabled(if: OtherUser.canBe)) func aPortThatAnotherUserHoldsIsNamedWithTheUser() throws {
    let port = try FreePort.any()
    let python = try #require(Programs.installed("python3"))
    let holder = try ChildProcess(
      try OtherUser.games.prefix + [
        python, "-uc",
        """
        import socket, time
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", \(port)))
        s.listen()
        print("listens")
        time.sleep(60)
        """,
      ])
    try Deadline.usual.wait(for: "the other listener") { holder.output.contains("listens") }
    let login = try BrowserLogin(port: port)
    expect(try login.terminal.end(), equals: 69)
    expect(login.terminal.text.contains("http://127.0.0.1:\(port)/back (uid 5)"))
    expect(login.terminal.text.contains("'--paste'"))
    // Nobody was asked, and nothing was opened.
    expect(login.daemon.requests.allSatisfy { $0.contains(#""op":"status""#) })
    expect(!login.hasStartedBrowser)
    // By hand it goes on, with the same warning.
    let pasting = try BrowserLogin(["--paste"], port: port)
    try pasting.terminal.expect("Warning: other programs already listen")
    try pasting.waitUntilItListens()
    try pasting.terminal.type(pasting.redirectURI + BrowserLogin.response().dropFirst(5))
    expect(try pasting.terminal.end(), equals: 0, "\(pasting.terminal.text)")
  }

  /// The kernel reports such a connection as nobody's, or as root's.
  @Test func aConnectionWhoseMakerIsGoneIsNobodys() throws {
    let login = try BrowserLogin()
    try login.waitUntilItListens()
    login.terminal.process.send(SIGSTOP)
    do {
      let socket = try StreamSocket(port: login.port)
      try socket.send(
        "GET \(BrowserLogin.response("gone")) HTTP/1.1\r\nHost: 127.0.0.1:\(login.port)\r\n\r\n")
    }
    login.terminal.process.send(SIGCONT)
    try login.terminal.expect("connected to this sign-in, and was refused.")
    try login.expectSignIn()
  }

  @Test func theTimeEndsWithTheURIThatHasToBeRegistered() throws {
    let login = try BrowserLogin(expiresIn: 1)
    expect(try login.terminal.end(), equals: 77)
    expect(login.terminal.text.contains("registered there as \(login.redirectURI)"))
  }

  @Test func ctrlCEndsASignInByBrowserToo() throws {
    let login = try BrowserLogin()
    try login.waitUntilItListens()
    try login.terminal.press("\u{3}")
    expect(try login.terminal.end(), equals: 130)
    expect(login.terminal.text.hasSuffix("credctl: cancelled\n"), "\(login.terminal.text)")
    expect(
      login.daemon.requests.last,
      equals: #"{"op":"respond","handle":"\#(BrowserLogin.handle)","cancel":true}"#)
  }

  /// The daemon is told, and the terminal is as before.
  @Test(arguments: [SIGTERM, SIGHUP, SIGINT])
  func aSignalEndsTheSignInAtTheDaemonToo(_ signal: CInt) throws {
    let login = try BrowserLogin()
    try login.waitUntilItListens()
    login.terminal.process.send(signal)
    expect(try login.terminal.end(), equals: 128 + signal)
    expect(login.terminal.isRestored)
    expect(
      login.daemon.requests.last,
      equals: #"{"op":"respond","handle":"\#(BrowserLogin.handle)","cancel":true}"#)
  }

  @Test func theBrowserIsToldOfARefusalAsTheTerminalIs() throws {
    let login = try BrowserLogin(
      respond:
        #"{"Version":1,"Error":{"Code":"SignInFailed","Message":"access_denied: <b>no</b>"}}"#)
    try login.waitUntilItListens()
    let page = try login.fetch(BrowserLogin.response())
    expect(page.text.contains("access_denied: &lt;b&gt;no&lt;/b&gt;"))
    expect(try login.terminal.end(), equals: 77)
    expect(login.terminal.text.contains("access_denied: <b>no</b>"))
  }

  @Test func aRefusalThatLeavesTheSignInOpenDoesNotEndIt() throws {
    let login = try BrowserLogin(
      respond:
        #"{"Version":1,"Error":{"Code":"InvalidRequest","Message":"not this one","Handle":"\#(BrowserLogin.handle)"}}"#
    )
    try login.waitUntilItListens()
    _ = try login.fetch(BrowserLogin.response())
    try login.terminal.expect("not this one")
    _ = try login.fetch(BrowserLogin.response())
    try login.terminal.expect("not this one")
    try login.terminal.press("\u{3}")
    expect(try login.terminal.end(), equals: 130)
    expect(login.responses.count, equals: 3)
  }

  @Test func aBrowserThatCannotStartIsNamed() throws {
    let login = try BrowserLogin(["--browser", "--browser-command", "/bin/false"])
    try login.terminal.expect("The browser could not be started: open the link yourself.")
    try login.expectSignIn()
    let missing = try BrowserLogin(["--browser-command", "/nowhere/browser %s"])
    try missing.terminal.expect("No browser could be started: open the link yourself.")
    try missing.expectSignIn()
  }
}
