import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// `credctl account` at a user pool.
@Suite(.onStage)
struct AccountCommandTests {
  static let everything = """
    account_actions = sign-up confirm resend forgot-password reset-password get change-password \
    set-attributes verify-attribute delete-attributes mfa totp devices remember-device \
    forget-device delete
    """

  private func host(_ backend: String = everything) throws -> TestHost {
    try TestHost { Configuration.userPool($0, backend: backend) }
  }

  private func signIn(_ host: TestHost, _ name: String = "alice", _ password: String = "Sandbox-1")
    throws
  {
    let reply = try host.logIn(name, password: password)
    try #require(reply["State"]?.text == "signedIn", "\(reply)")
  }

  private func signUp(_ host: TestHost, _ name: String) throws -> TestHost.Outcome {
    try host.credctl(
      input: "Lasting-12\n", "account", "sign-up", "--username", name, "--password-stdin",
      "--attribute", "email=@\(file("\(name)@example.com"))")
  }

  private func file(_ text: String) throws -> String {
    let path = try Stage.current().newFile("text")
    try Data(text.utf8).write(to: URL(filePath: path))
    return path
  }

  private func confirmedUser(_ host: TestHost, _ name: String) throws {
    let made = try signUp(host, name)
    try #require(made.status == 0, "\(made)")
    let code = try host.sandbox.code(of: name)
    let confirmed = try host.credctl(
      input: code, "account", "confirm", "--username", name, "--code-stdin")
    try #require(confirmed.status == 0, "\(confirmed)")
  }

  @Test(arguments: [
    ["change-password"], ["sign-up", "--username", "carol"], ["confirm", "--username", "carol"],
    ["reset-password", "--username", "carol"], ["set-attributes", "email"], ["delete"],
  ])
  func whatIsNotOfferedIsRefusedBeforeAnythingIsTyped(_ words: [String]) throws {
    let host = try host("account_actions = get")
    let terminal = try TerminalProcess(
      [Programs.credctl, "--socket", host.socketPath, "account", "default"] + words)
    expect(try terminal.end(), equals: 77, "\(terminal.text)")
    expect(
      terminal.text.contains("profile 'default' does not offer the action '\(words[0])'"),
      "\(terminal.text)")
    expect(!terminal.text.contains("assword for"), "\(terminal.text)")
  }

  @Test func aUserSignsUpConfirmsAndSignsIn() throws {
    let host = try host()
    let terminal = try TerminalProcess(
      host, "account", "default", "sign-up", "--username", "carol", "--attribute", "email")
    try terminal.expect("email: ")
    try terminal.type("carol@example.com")
    try terminal.expect("New password of carol for profile default: ")
    try terminal.type("Lasting-12")
    try terminal.expect("The same again: ")
    try terminal.type("Lasting-12")
    try terminal.expect("a code was sent by e-mail to c***@e***; confirm the account with")
    expect(try terminal.end(), equals: 0, "\(terminal.text)")
    let early = try host.credctl(
      input: "Lasting-12", "login", "--username", "carol", "--password-stdin")
    expect(early.status, equals: 77)
    expect(
      early.errors.contains("'credctl account default confirm --username carol'"), "\(early)")
    let confirm = try TerminalProcess(host, "account", "confirm", "--username", "carol")
    try confirm.expect("Code for the account carol: ")
    let code = try host.sandbox.code(of: "carol")
    try confirm.type(code)
    try confirm.expect("the account is confirmed")
    expect(try confirm.end(), equals: 0)
    expect(!confirm.text.contains(code) && !terminal.text.contains("Lasting-12"))
    try signIn(host, "carol", "Lasting-12")
  }

  @Test func aNameThatIsTakenIsRefused() throws {
    let host = try host()
    let refused = try signUp(host, "alice")
    expect(refused.status == 77 && refused.output.isEmpty, "\(refused)")
  }

  @Test func theCodeOfASignUpIsSentOnceMore() throws {
    let host = try host()
    expect(try signUp(host, "carol").status, equals: 0)
    let before = try host.sandbox.code(of: "carol")
    let sent = try host.credctl("account", "resend", "--username", "carol")
    expect(sent.status == 0 && sent.output.contains("a code is on its way"), "\(sent)")
    expect(
      try host.credctl("account", "resend", "--username", "nobody").output, equals: sent.output)
    expect(try host.sandbox.code(of: "carol") != before)
  }

  @Test func aForgottenPasswordIsReset() throws {
    let host = try host()
    let asked = try host.credctl("account", "forgot-password", "--username", "alice")
    expect(asked.status == 0 && asked.output.contains("if there is such an account"), "\(asked)")
    let terminal = try TerminalProcess(host, "account", "reset-password", "--username", "alice")
    try terminal.expect("Code for the account alice: ")
    try terminal.type(try host.sandbox.code(of: "alice"))
    try terminal.expect("New password of alice")
    try terminal.type("Lasting-12")
    try terminal.expect("The same again: ")
    try terminal.type("Lasting-12")
    try terminal.expect("the password is changed")
    expect(try terminal.end(), equals: 0)
    try signIn(host, "alice", "Lasting-12")
  }

  @Test func thePasswordIsChanged() throws {
    let host = try host("")
    try signIn(host)
    let terminal = try TerminalProcess(host, "account", "change-password")
    try terminal.expect("Present password for profile default: ")
    try terminal.type("Sandbox-1")
    try terminal.expect("New password for profile default: ")
    try terminal.type("Lasting-12")
    try terminal.expect("The same again: ")
    try terminal.type("Lasting-12")
    try terminal.expect("the password is changed")
    expect(try terminal.end(), equals: 0)
    let wrong = try host.credctl(
      input: "Sandbox-1\nLasting-13\n", "account", "change-password", "--password-stdin")
    expect(wrong.status, equals: 77, "\(wrong)")
    let right = try host.credctl(
      input: "Lasting-12\nLasting-13\n", "account", "change-password", "--password-stdin")
    expect(right.status, equals: 0, "\(right)")
    expect(!host.log.contains("Lasting-1"))
  }

  @Test func attributesAreShownChangedVerifiedAndDeleted() throws {
    let host = try host()
    try signIn(host)
    let shown = try host.credctl("account", "get")
    expect(shown.output.hasPrefix("account alice\nsecond factors: none\n"), "\(shown)")
    expect(shown.output.contains(/\nemail +alice@example\.com\n/))
    let set = try host.credctl(
      "account", "set-attributes", "email=@\(file("new@example.com"))",
      "given_name=@\(file("Alice"))")
    expect(set.status, equals: 0, "\(set)")
    let useless = try host.credctl(
      input: "1\n", "account", "verify-attribute", "email", "--code-stdin", "--client-metadata",
      "a=1")
    expect(useless.status == 64 && useless.errors.contains("--client-metadata"), "\(useless)")
    let terminal = try TerminalProcess(host, "account", "verify-attribute", "email")
    try terminal.expect("a code was sent by e-mail to n***@e***")
    try terminal.expect("Code: ")
    try terminal.type(try host.sandbox.code(of: "alice"))
    try terminal.expect("email is verified")
    expect(try terminal.end(), equals: 0)
    expect(try host.credctl("account", "delete-attributes", "given_name").status, equals: 0)
    let after = try host.credctl("account", "get").output
    expect(after.contains("new@example.com") && !after.contains("given_name"), "\(after)")
  }

  @Test func anAuthenticatorAppIsSetUpAndPreferred() throws {
    let host = try host()
    try signIn(host)
    let terminal = try TerminalProcess(host, "account", "totp", "--name", "my phone")
    try terminal.expect("Code that the app shows: ")
    let secret = try #require(terminal.text.firstMatch(of: /Secret: ([A-Z2-7]+)/)).output.1
    expect(terminal.text.contains("▄"))
    let code = try host.sandbox.totp(String(secret))
    try terminal.type(code == "000000" ? "111111" : "000000")
    try terminal.expect("credctl: ")
    try terminal.expect("Code that the app shows: ")
    try terminal.type(try host.sandbox.totp(String(secret)))
    try terminal.expect("the authenticator app is set up")
    expect(try terminal.end(), equals: 0)
    let chosen = try host.credctl(
      "account", "mfa", "--enabled", "SOFTWARE_TOKEN_MFA", "--preferred", "SOFTWARE_TOKEN_MFA")
    expect(chosen.status, equals: 0, "\(chosen)")
    let shown = try host.credctl("account", "get").output
    expect(shown.contains("second factors: SOFTWARE_TOKEN_MFA (preferred)"), "\(shown)")
    let none = try host.credctl("account", "mfa", "--enabled", "none")
    expect(none.status, equals: 0, "\(none)")
    expect(try host.credctl("account", "get").output.contains("second factors: none"))
  }

  @Test func devicesAreListedRememberedAndForgotten() throws {
    let host = try host("remember_device = yes")
    try host.sandbox.control("POST", "user-pool", #"{"DeviceTracking":"ALWAYS"}"#)
    try signIn(host)
    let listed = try host.credctl("account", "devices")
    expect(listed.status, equals: 0, "\(listed)")
    let row = try #require(listed.output.split(separator: "\n").dropFirst().first)
    expect(row.hasPrefix("us-east-1_") && row.hasSuffix(" yes"), "\(listed)")
    expect(try host.credctl("account", "remember-device", "--no-remembered").status, equals: 0)
    expect(try host.credctl("account", "remember-device").status, equals: 0)
    let device = try #require(row.split(separator: " ").first).description
    let forgotten = try host.credctl("account", "default", "forget-device", device)
    expect(forgotten.status, equals: 0, "\(forgotten)")
    let user = try host.sandbox.control("GET", "user-pool/user?Username=alice")
    expect(user["Devices"], equals: .array([]), "\(user)")
  }

  @Test func anAccountIsDeletedAfterAWord() throws {
    let host = try host()
    try confirmedUser(host, "carol")
    try signIn(host, "carol", "Lasting-12")
    let refused = try host.credctlWithoutTerminal("account", "delete")
    expect(refused.status == 64 && refused.errors.contains("--yes"), "\(refused)")
    let terminal = try TerminalProcess(host, "account", "delete")
    try terminal.expect("for good? (yes/no) ")
    try terminal.type("no")
    expect(try terminal.end(), equals: 130)
    expect(try host.credctl("account", "delete", "--yes").status, equals: 0)
    let gone = try host.logIn("carol", password: "Lasting-12")
    expect(gone.errorCode, equals: "SignInFailed", "\(gone)")
  }

  @Test func noPasswordIsAskedForInAProfileThatIsNotThere() throws {
    let host = try host()
    let terminal = try TerminalProcess(
      host, "account", "nowhere", "sign-up", "--username", "dora")
    try terminal.expect("there is no profile 'nowhere'")
    expect(try terminal.end() != 0)
    expect(!terminal.text.contains("password"), "\(terminal.text)")
  }

  @Test func whatTheConfigurationDoesNotNameIsRefused() throws {
    let host = try host("account_actions = get")
    try signIn(host)
    for action in ["totp", "devices", "forget-device"] {
      let refused = try host.credctlWithoutTerminal("account", action)
      expect([64, 77].contains(refused.status) && refused.output.isEmpty, "\(refused)")
      expect(refused.errors.contains(action), "\(refused)")
    }
    expect(try host.credctl("account", "get", "--json").output.contains(#""Username":"alice""#))
  }
}
