import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// `credctl login` at a terminal, whatever the user pool asks.
@Suite(.onStage)
struct LoginConversationTests {
  static let appSecret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"

  private func host(_ backend: String = "") throws -> TestHost {
    try TestHost { Configuration.userPool($0, backend: backend) }
  }

  /// A user whose password is `Sandbox-1`, with more members.
  private func user(_ host: TestHost, _ members: String) throws {
    try host.sandbox.control(
      "POST", "user-pool/user",
      #"{"Username":"alice","Password":"Sandbox-1","Status":"CONFIRMED",\#(members)}"#)
  }

  private func expectSignedIn(_ terminal: TerminalProcess, _ host: TestHost) throws {
    try terminal.expect("default signedIn ")
    expect(try terminal.end(), equals: 0, "\(terminal.text)")
    expect(try host.state(), equals: "signedIn")
  }

  @Test func thePasswordIsAskedForWithoutEcho() throws {
    let host = try host()
    let terminal = try TerminalProcess(host, "login", "--username", "ALICE")
    try terminal.expect("Password of ALICE for profile default: ")
    try terminal.type("Sandbox-1")
    try expectSignedIn(terminal, host)
    expect(!terminal.text.contains("Sandbox-1"))
    // The next program finds the terminal as it was.
    expect(terminal.isRestored)
    expect(!host.log.contains("Sandbox-1"))
  }

  @Test func aWrongPasswordMayBeTypedAgain() throws {
    let host = try host()
    let terminal = try TerminalProcess(host, "login", "--username", "alice")
    try terminal.expect("Password of alice for profile default: ")
    try terminal.type("sandbox-1")
    try terminal.expect("credctl: ")
    try terminal.expect("Password of alice for profile default: ")
    try terminal.type("Sandbox-1")
    try expectSignedIn(terminal, host)
    _ = try host.ask(#"{"op":"logout"}"#)
    let stubborn = try TerminalProcess(host, "login", "--username", "alice")
    for _ in 0..<3 {
      try stubborn.expect("Password of alice for profile default: ")
      try stubborn.type("wrong")
    }
    expect(try stubborn.end(), equals: 77, "\(stubborn.text)")
  }

  @Test func aCodeThatWasSentIsAskedForAndATypingErrorTypedAgain() throws {
    let host = try host()
    try user(
      host,
      #""Mfa":["SMS_MFA"],"Attributes":{"phone_number":"+15550100123","phone_number_verified":"true"}"#
    )
    let terminal = try TerminalProcess(host, "login", "--username", "alice")
    try terminal.expect("Password of alice")
    try terminal.type("Sandbox-1")
    let shown = try terminal.expect("Code that was sent by SMS to ")
    expect(!shown.contains("0100123"))
    let code = try host.sandbox.code(of: "alice")
    let wrong = code == "000000" ? "111111" : "000000"
    try terminal.type(wrong)
    try terminal.expect("credctl: ")
    try terminal.expect("Code that was sent by SMS to ")
    // Blanks, as in a message, do not count.
    try terminal.type("\(code.prefix(3)) \(code.suffix(3))")
    try expectSignedIn(terminal, host)
    expect(!terminal.text.contains(code))
  }

  @Test func anAuthenticatorAppIsAskedForItsCode() throws {
    let host = try host()
    try user(host, #""Mfa":["SOFTWARE_TOKEN_MFA"],"SoftwareToken":"\#(Self.appSecret)""#)
    let terminal = try TerminalProcess(host, "login", "--username", "alice")
    try terminal.expect("Password of alice")
    try terminal.type("Sandbox-1")
    try terminal.expect("Code that the authenticator app shows")
    try terminal.type(try host.sandbox.totp(Self.appSecret))
    try expectSignedIn(terminal, host)
  }

  @Test func aTemporaryPasswordIsReplacedAndRequiredAttributesAreAskedForByName() throws {
    let host = try host()
    try host.sandbox.control("POST", "user-pool", #"{"RequiredAttributes":["email","given_name"]}"#)
    try host.sandbox.control(
      "POST", "user-pool/user",
      #"{"Username":"carol","Password":"Temporary-1","Attributes":{"email":"c@example.com"}}"#)
    let terminal = try TerminalProcess(host, "login", "--username", "carol")
    try terminal.expect("Password of carol")
    try terminal.type("Temporary-1")
    try terminal.expect("Your password has to be changed.")
    try terminal.expect("New password of carol")
    try terminal.type("Lasting-12")
    try terminal.expect("The same again: ")
    try terminal.type("Lasting-21")
    try terminal.expect("The two passwords differ.")
    try terminal.expect("New password of carol")
    try terminal.type("short")
    try terminal.expect("The same again: ")
    try terminal.type("short")
    try terminal.expect("given_name: ")
    try terminal.type("Carol")
    // The pool's policy refuses it; the sign-in stays open.
    try terminal.expect("credctl: ")
    try terminal.expect("New password of carol")
    try terminal.type("Lasting-12")
    try terminal.expect("The same again: ")
    try terminal.type("Lasting-12")
    try terminal.expect("given_name: ")
    try terminal.type("Carol")
    try expectSignedIn(terminal, host)
    let user = try host.sandbox.control("GET", "user-pool/user?Username=carol")
    expect(user["Attributes"]?["given_name"]?.text, equals: "Carol")
    expect(!terminal.text.contains("Lasting") && terminal.text.contains("Carol"))
  }

  @Test func amongSecondFactorsTheUserChoosesOne() throws {
    let host = try host()
    try user(
      host,
      #""Mfa":["SMS_MFA","SOFTWARE_TOKEN_MFA"],"SoftwareToken":"\#(Self.appSecret)","#
        + #""Attributes":{"phone_number":"+15550100123","phone_number_verified":"true"}"#)
    let terminal = try TerminalProcess(host, "login", "--username", "alice")
    try terminal.expect("Password of alice")
    try terminal.type("Sandbox-1")
    let menu = try terminal.expect("Your choice: ")
    expect(menu.contains("SOFTWARE_TOKEN_MFA: a code of an authenticator app"), "\(menu)")
    try terminal.type("7")
    try terminal.expect("type a number from 1 to 2")
    try terminal.expect("Your choice: ")
    try terminal.type("SOFTWARE_TOKEN_MFA")
    try terminal.expect("Code that the authenticator app shows")
    try terminal.type(try host.sandbox.totp(Self.appSecret))
    try expectSignedIn(terminal, host)
  }

  @Test(arguments: [true, false])
  func anAuthenticatorAppIsSetUpWithAQRCode(_ isDrawn: Bool) throws {
    let host = try host()
    try host.sandbox.control(
      "POST", "user-pool", #"{"MfaConfiguration":"ON","EnabledMfas":["SOFTWARE_TOKEN_MFA"]}"#)
    let terminal = try TerminalProcess(
      [Programs.credctl, "--socket", host.socketPath, "login", "--username", "alice"],
      environment: isDrawn ? [:] : ["LANG": "C"])
    try terminal.expect("Password of alice")
    try terminal.type("Sandbox-1")
    if try terminal.expect(": ").contains("choice") { try terminal.type("1") }
    try terminal.expect("Code that the app shows: ")
    let secret = try #require(terminal.text.firstMatch(of: /Secret: ([A-Z2-7]+)/)).output.1
    expect(terminal.text.contains("URI: otpauth://totp/"))
    expect(terminal.text.contains("\u{1B}[30;107m"), equals: isDrawn)
    expect(terminal.text.contains("▄"), equals: isDrawn)
    try terminal.type(try host.sandbox.totp(String(secret)))
    try expectSignedIn(terminal, host)
  }

  @Test func whetherToRememberTheDeviceIsAsked() throws {
    let host = try host("remember_device = ask")
    try host.sandbox.control("POST", "user-pool", #"{"DeviceTracking":"OPT_IN"}"#)
    let terminal = try TerminalProcess(host, "login", "--username", "alice")
    try terminal.expect("Password of alice")
    try terminal.type("Sandbox-1")
    try terminal.expect("Remember this device? (yes/no) ")
    try terminal.type("perhaps")
    try terminal.expect("type yes or no")
    // What is typed before the question stands there is dropped.
    try terminal.expect("Remember this device? (yes/no) ")
    try terminal.type("Y")
    try expectSignedIn(terminal, host)
  }

  @Test func aQuestionOfThePoolsOwnIsAskedByItsParameters() throws {
    let host = try host("auth_flow = custom")
    try host.sandbox.control(
      "POST", "user-pool",
      #"{"CustomChallenges":[{"Parameters":{"question":"2 + 2\u001b[31m\n?"},"Answer":"4"}]}"#)
    let terminal = try TerminalProcess(host, "login", "--username", "alice")
    // No password: the pool asks for none.
    let shown = try terminal.expect("Answer: ")
    expect(shown.contains("CUSTOM_CHALLENGE") && shown.contains("question: 2 + 2[31m ?"))
    expect(!shown.contains("\u{1B}") && !shown.contains("Password"))
    try terminal.type("5")
    try terminal.expect("Answer: ")
    try terminal.type("4")
    try expectSignedIn(terminal, host)
  }

  @Test func theFlowOfChoicesAsksForTheWayFirst() throws {
    let host = try host("auth_flow = choice")
    let terminal = try TerminalProcess(host, "login", "--username", "alice")
    try terminal.expect("PASSWORD_SRP: the password, which does not leave this host")
    try terminal.expect("Your choice: ")
    try terminal.type("PASSWORD_SRP")
    try terminal.expect("Password of alice")
    try terminal.type("Sandbox-1")
    try expectSignedIn(terminal, host)
  }

  @Test func ctrlCEndsTheSignInAtTheDaemonToo() throws {
    let folder = try Stage.current().newFile("runtime")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let host = try TestHost(environment: ["RUNTIME_DIRECTORY": folder], managed: true) {
      "[daemon]\nexit_on_idle = 1s\n" + Configuration.userPool($0)
    }
    // The daemon stays until credctl has come.
    var first: StreamSocket? = try host.connect()
    expect(first != nil)
    // Nothing is sent, and no guess is wrong: either would keep the daemon for an hour.
    try host.sandbox.control(
      "POST", "user-pool/user", #"{"Username":"carol","Password":"Temporary-1"}"#)
    let terminal = try TerminalProcess(host, "login", "--username", "carol")
    try terminal.expect("Password of carol")
    first = nil
    try terminal.type("Temporary-1")
    try terminal.expect("New password of carol")
    try terminal.press("12\u{3}")
    expect(try terminal.end(), equals: 130)
    expect(try host.state(), equals: "signedOut")
    // A daemon with an open challenge would stay.
    try Deadline.usual.wait(for: "the end of the daemon") { host.daemon.status != nil }
  }

  /// What a line that may be seen is typed at knows ^C too.
  @Test func ctrlCAtAMenuEndsTheSignIn() throws {
    let host = try host("auth_flow = choice")
    let terminal = try TerminalProcess(host, "login", "--username", "alice")
    try terminal.expect("Your choice: ")
    try terminal.press("\u{3}")
    expect(try terminal.end(), equals: 130)
  }

  @Test func withoutATerminalAScriptGoesOnWithTheHandle() throws {
    let host = try host()
    try user(host, #""Mfa":["SOFTWARE_TOKEN_MFA"],"SoftwareToken":"\#(Self.appSecret)""#)
    let password = try Stage.current().newFile("password")
    try Data("Sandbox-1\n".utf8).write(to: URL(filePath: password))
    let asked = try host.credctlWithoutTerminal(
      input: password, "login", "--username", "alice", "--password-stdin")
    expect(asked.status == 77 && asked.output.isEmpty, "\(asked)")
    expect(asked.errors.split(separator: "\n").count, equals: 1)
    let handle = String(
      try #require(asked.errors.firstMatch(of: /credctl respond ([0-9a-f]{32}) code=-/)).output.1)
    let wrong = try host.credctl(input: "0", "respond", handle, "code=-")
    expect(wrong.status == 77 || wrong.status == 64, "\(wrong)")
    let code = try Stage.current().newFile("code")
    try Data("\(host.sandbox.totp(Self.appSecret))\n".utf8).write(to: URL(filePath: code))
    let done = try host.credctl("respond", handle, "code=@\(code)")
    expect(done.status == 0 && done.output.hasPrefix("default signedIn "), "\(done)")
    expect(try host.credctl("respond", handle, "--cancel").status, equals: 77)
  }

  @Test func aScriptGivesPasswordAndCodeOnStandardInput() throws {
    let host = try host()
    try user(host, #""Mfa":["SOFTWARE_TOKEN_MFA"],"SoftwareToken":"\#(Self.appSecret)""#)
    let file = try Stage.current().newFile("both")
    try Data("Sandbox-1\n\(host.sandbox.totp(Self.appSecret))\n".utf8)
      .write(to: URL(filePath: file))
    let done = try host.credctlWithoutTerminal(
      input: file, "login", "--username", "alice", "--password-stdin", "--code-stdin")
    expect(done.status == 0 && done.output.hasPrefix("default signedIn "), "\(done)")
  }

  @Test func theChallengeIsPrintedAsJSONAndAnsweredAsJSON() throws {
    let host = try host()
    try host.sandbox.control("POST", "user-pool", #"{"RequiredAttributes":["email"]}"#)
    try host.sandbox.control(
      "POST", "user-pool/user", #"{"Username":"carol","Password":"Temporary-1"}"#)
    let password = try Stage.current().newFile("password")
    try Data("Temporary-1".utf8).write(to: URL(filePath: password))
    let asked = try host.credctlWithoutTerminal(
      input: password, "login", "--username", "carol", "--password-stdin", "--json")
    expect(asked.status, equals: 77, "\(asked)")
    let challenge = try JSON(asked.output)["Challenge"]
    expect(challenge?["Step"]?.text, equals: "newPassword")
    expect(asked.errors.contains("attributes.email=@FILE"), "\(asked.errors)")
    let handle = try #require(challenge?["Handle"]?.text)
    let done = try host.credctl(
      input: #"{"password":"Lasting-12","attributes":{"email":"carol@example.com"}}"#, "respond",
      handle, "--answers-stdin", "--json")
    expect(done.status, equals: 0, "\(done)")
    expect(try JSON(done.output)["State"]?.text, equals: "signedIn")
  }

  @Test func noSecretIsTakenFromTheCommandLine() throws {
    let host = try host()
    let handle = String(repeating: "0", count: 32)
    for answer in ["code=123456", "password=Sandbox-1", "answer=4", "attributes.email=a@b.c"] {
      let refused = try host.credctl("respond", handle, answer)
      expect(refused.status, equals: 64, "\(refused)")
      expect(!refused.errors.contains(answer.split(separator: "=").last ?? ""))
    }
    let mine = try host.credctl("respond", handle, "choice=SMS_MFA")
    expect(mine.status == 77 && mine.errors.contains("no such challenge"), "\(mine)")
  }
}
