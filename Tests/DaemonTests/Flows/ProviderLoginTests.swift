import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// `credctl login` and `credctl logout` of a user, with the real daemon and the sandbox's provider.
@Suite(.onStage, .enabled(if: Programs.installed("curl") != nil))
struct ProviderLoginTests {
  /// A browser that follows the provider's redirects without asking.
  private static func browser(_ page: String = "/dev/null") -> String {
    "/usr/bin/curl -sSL --noproxy * --max-time 20 -o \(page)"
  }

  private func login(
    _ host: ProviderHost, _ arguments: String..., environment: [String: String] = [:]
  ) throws -> TerminalProcess {
    try TerminalProcess(
      [Programs.credctl, "--socket", host.host.socketPath, "login"] + arguments,
      environment: environment)
  }

  private func expectSignedIn(_ terminal: TerminalProcess, _ host: ProviderHost) throws {
    try terminal.expect("default signedIn us-east-1:")
    expect(try terminal.end(), equals: 0, "\(terminal.text)")
    expect(try host.ask("{}")["AccessKeyId"]?.text != nil)
  }

  /// The browser may write its page when credctl has ended.
  private func expectText(_ text: String, in page: String) throws {
    try Deadline.usual.wait(for: "'\(text)' in the browser's page") {
      (try? String(contentsOfFile: page, encoding: .utf8))?.contains(text) == true
    }
  }

  private func userCode(_ terminal: TerminalProcess) throws -> String {
    try terminal.expect("Ctrl-C ends the sign-in.")
    let shown = terminal.text
    let code = try #require(shown.firstMatch(of: /\n  ([A-Z]{4}-[A-Z]{4})\n/), "\(shown)")
    return String(code.output.1)
  }

  @Test func aLaptopsUserTypesLoginAndTheBrowserDoesTheRest() throws {
    let host = try ProviderHost()
    let page = try Stage.current().newFile("page")
    let terminal = try login(host, environment: ["BROWSER": Self.browser(page)])
    try expectSignedIn(terminal, host)
    try expectText("You are signed in to the profile default as alice.", in: page)
    expect(try host.misuses?.keys.isEmpty ?? true)
  }

  @Test func theHostedUISignsInByBrowser() throws {
    let host = try ProviderHost(hostedUI: "")
    let terminal = try login(host, "--browser", environment: ["BROWSER": Self.browser()])
    try expectSignedIn(terminal, host)
    expect(try host.ask(#"{"op":"identity"}"#)["SignedInBy"]?.text, equals: "userPool")
  }

  /// With a display by browser, else as before.
  @Test func aUserPoolWithBothAsksForThePasswordWhereNoBrowserIs() throws {
    let host = try ProviderHost(hostedUI: "")
    let terminal = try login(host, environment: ["USER": "alice"])
    try terminal.expect("Password of alice for profile default: ")
    try terminal.press("\u{3}")
    expect(try terminal.end(), equals: 130)
  }

  @Test func overSSHACodeIsShownForAnotherDevice() throws {
    let host = try ProviderHost()
    try host.provider(#""DeviceInterval":1"#)
    let terminal = try login(
      host, environment: ["SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22", "BROWSER": "/bin/false"])
    let code = try userCode(terminal)
    expect(terminal.text.contains("  \(host.host.sandbox.url)/oidc/activate\n"))
    expect(terminal.text.contains("Type it only if you began this"))
    expect(terminal.text.contains("\u{1B}[30;107m"))
    try host.host.sandbox.control(
      "POST", "oidc/device", #"{"UserCode":"\#(code)","As":"bob"}"#)
    try expectSignedIn(terminal, host)
    expect(try host.ask(#"{"op":"identity"}"#)["Username"]?.text, equals: "bob")
  }

  /// On the smallest screen, and for who wants no QR code, link and code stay on the screen.
  @Test(arguments: [(24, []), (50, ["--no-qr"])] as [(UInt16, [String])])
  func linkAndCodeStayOnTheScreen(_ rows: UInt16, _ options: [String]) throws {
    let host = try ProviderHost()
    let terminal = try TerminalProcess(
      [Programs.credctl, "--socket", host.host.socketPath, "login", "--device"] + options,
      columns: 80, rows: rows)
    _ = try userCode(terminal)
    expect(!terminal.text.contains("\u{1B}"), "\(terminal.text)")
    let lines = terminal.text.split(separator: "\n", omittingEmptySubsequences: false)
    expect(lines.count <= 24 && lines.allSatisfy { $0.count <= 80 }, "\(terminal.text)")
    try terminal.press("\u{3}")
    expect(try terminal.end(), equals: 130)
  }

  @Test func aDeviceCodeThatIsRefusedEndsTheSignIn() throws {
    let host = try ProviderHost()
    try host.provider(#""DeviceInterval":1"#)
    let terminal = try login(host, "--device", environment: ["LANG": "C"])
    let code = try userCode(terminal)
    expect(!terminal.text.contains("\u{1B}"))
    try host.host.sandbox.control("POST", "oidc/device", #"{"UserCode":"\#(code)"}"#)
    expect(try terminal.end(), equals: 77, "\(terminal.text)")
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
  }

  @Test func ctrlCEndsTheWaitForADeviceAtOnceAndAtTheDaemon() throws {
    let host = try ProviderHost()
    let terminal = try login(host, "--use-device-code")
    let code = try userCode(terminal)
    try terminal.press("typed in vain\r\u{3}")
    expect(try terminal.end(), equals: 130)
    expect(terminal.text.hasSuffix("credctl: cancelled\n"), "\(terminal.text)")
    try host.host.sandbox.control(
      "POST", "oidc/device", #"{"UserCode":"\#(code)","As":"bob"}"#)
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
    expect(!host.host.log.contains("typed in vain"))
  }

  @Test func anotherPersonIsConfirmedOrNothingChanges() throws {
    let host = try ProviderHost()
    let first = try login(host, environment: ["BROWSER": Self.browser()])
    try expectSignedIn(first, host)
    try host.provider(#""SignedInAs":"bob""#)
    let page = try Stage.current().newFile("page")
    let refused = try login(host, environment: ["BROWSER": Self.browser(page)])
    try refused.expect("You signed in as bob")
    try refused.expect("(yes/no) ")
    try refused.type("no")
    expect(try refused.end(), equals: 77, "\(refused.text)")
    expect(refused.text.contains("nothing has changed"))
    try expectText("asks you to confirm", in: page)
    expect(try host.ask(#"{"op":"identity"}"#)["Username"]?.text, equals: "alice")
    let meant = try login(host, environment: ["BROWSER": Self.browser()])
    try meant.expect("That ends the sign-in of alice")
    try meant.expect("(yes/no) ")
    try meant.type("yes")
    try meant.expect("default signedIn us-east-1:")
    expect(try meant.end(), equals: 0)
    expect(try host.ask(#"{"op":"identity"}"#)["Username"]?.text, equals: "bob")
  }

  @Test func aSignInThatNothingRenewsSaysWhenItEnds() throws {
    let host = try ProviderHost("scopes = openid\n")
    try host.provider(#""WantsOfflineAccess":true"#)
    let terminal = try login(host, environment: ["BROWSER": Self.browser()])
    try terminal.expect("This sign-in ends at ")
    expect(try terminal.end(), equals: 0, "\(terminal.text)")
  }

  @Test func aLogoutShowsThePageThatSignsTheBrowserOutAndOpensItOnRequest() throws {
    let host = try ProviderHost()
    _ = try host.signIn()
    let shown = try TerminalProcess(host.host, "logout")
    try shown.expect("To sign the browser out too, open:")
    try shown.expect("  \(host.host.sandbox.url)/oidc/logout?")
    expect(try shown.end(), equals: 0)
    _ = try host.signIn()
    let page = try Stage.current().newFile("page")
    let opened = try TerminalProcess(
      [Programs.credctl, "--socket", host.host.socketPath, "logout", "--browser"],
      environment: ["BROWSER": Self.browser(page)])
    try opened.expect("default signedOut")
    expect(try opened.end(), equals: 0)
    expect(!opened.text.contains("To sign the browser out"))
    try Deadline.usual.wait(for: "the page") { FileManager.default.fileExists(atPath: page) }
  }

  @Test func aScriptFinishesWithTheAddressOnStandardInput() throws {
    let host = try ProviderHost()
    let asked = try host.host.credctlWithoutTerminal("login", "--paste", "--json")
    expect(asked.status, equals: 77, "\(asked)")
    let challenge = try JSON(asked.output)
    let address = try Stage.current().newFile("address")
    let query = try host.browse(challenge, at: "http://127.0.0.1/credd")
    try Data("http://127.0.0.1/credd?\(query)\n".utf8).write(to: URL(filePath: address))
    let handle = try #require(challenge.handle)
    let done = try host.host.credctl("respond", handle, "response=@\(address)")
    expect(done.status == 0 && done.output.hasPrefix("default signedIn "), "\(done)")
  }

  @Test func whatTheProfileDoesNotOfferIsNamed() throws {
    let host = try ProviderHost(signIn: "browser paste")
    let refused = try login(host, "--device")
    expect(try refused.end(), equals: 64)
    expect(refused.text.contains("offers browser, paste"), "\(refused.text)")
    let stranger = try login(host, "--browser", "--provider", "Elsewhere")
    expect(try stranger.end(), equals: 64)
    expect(stranger.text.contains("Elsewhere"), "\(stranger.text)")
  }
}
