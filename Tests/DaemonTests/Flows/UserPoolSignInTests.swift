import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// Sign-ins at the sandbox's user pool, through the real daemon.
@Suite(.onStage)
struct UserPoolSignInTests {
  private static let secret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
  private static let phone =
    #""Attributes":{"phone_number":"+4915112345678","phone_number_verified":"true"}"#

  @Test func aPasswordIsProvedToThePool() throws {
    let host = try UserPoolHost()
    expect(try host.logIn("ALICE", "wrong").errorCode, equals: "SignInFailed")
    let reply = try host.logIn("ALICE")
    expect(reply.state, equals: "signedIn", "\(reply)")
    expect(reply["SignedInBy"]?.text == "userPool" && reply["Username"]?.text == "alice")
    _ = try host.host.credentials()
    expect(!"\(try host.host.sandbox.lastBody("RespondToAuthChallenge"))".contains("Sandbox-1"))
  }

  @Test func everyFlowSignsIn() throws {
    for flow in ["srp", "password", "choice"] {
      let host = try UserPoolHost("auth_flow = \(flow)")
      let reply = try host.logIn()
      expect(reply.state, equals: "signedIn", "\(flow): \(reply)")
    }
  }

  @Test func aClientWithASecretSignsInToo() throws {
    let stage = try Stage.current()
    let file = stage.newFile("secret")
    try Data("sandboxclientsecret012345678901234567890abcdefghijk\n".utf8)
      .write(to: URL(filePath: file))
    let host = try TestHost {
      UserPoolHost.configuration($0, "client_secret_file = \(file)", "")
        .replacing(UserPoolHost.client, with: "2sandboxclient234567890abc")
    }
    let reply = try host.logIn("alice", password: "Sandbox-1")
    expect(reply.state, equals: "signedIn", "\(reply)")
    _ = try host.credentials(refresh: true)
  }

  @Test func aTemporaryPasswordIsReplaced() throws {
    let host = try UserPoolHost()
    try host.user("carol", #""Password":"Temporary-1""#)
    let asked = try host.logIn("carol", "Temporary-1")
    expect(asked.step, equals: "newPassword")
    expect(asked["Challenge"]?["Parameters"]?["Required"], equals: .array([.string("email")]))
    let short = try host.answer(
      asked, #""password":"x","attributes":{"email":"c@example.com"}"#)
    expect(short.handle, equals: asked.handle)
    let reply = try host.answer(
      asked, #""password":"Lasting-12","attributes":{"email":"c@example.com"}"#)
    expect(reply.state, equals: "signedIn", "\(reply)")
  }

  @Test func anAuthenticatorAppIsAskedForItsCode() throws {
    let host = try UserPoolHost()
    try host.user("alice", #""Mfa":["SOFTWARE_TOKEN_MFA"],"SoftwareToken":"\#(Self.secret)""#)
    let asked = try host.logIn()
    expect(asked["Challenge"]?["Parameters"]?["Medium"]?.text, equals: "app", "\(asked)")
    expect(try host.host.state(), equals: "signedOut")
    let code = try host.appCode(Self.secret)
    let wrong = try host.answer(asked, #""code":"\#(code == "000000" ? "000001" : "000000")""#)
    expect(wrong.errorCode == "SignInFailed" && wrong.handle == asked.handle)
    // As the app shows it.
    let spaced = code.prefix(3) + " " + code.suffix(3)
    expect(try host.answer(asked, #""code":"\#(spaced)""#).state, equals: "signedIn")
  }

  @Test func aCodeBySMSIsAskedFor() throws {
    let host = try UserPoolHost()
    try host.user("alice", #""Mfa":["SMS_MFA"],\#(Self.phone)"#)
    let asked = try host.logIn()
    expect(asked.step, equals: "code")
    expect(asked["Challenge"]?["Parameters"]?["Medium"]?.text, equals: "sms")
    expect(asked["Challenge"]?["Parameters"]?["Destination"]?.text?.contains("*") == true)
    expect(try host.answer(asked, #""code":"\#(try host.code())""#).state, equals: "signedIn")
  }

  @Test func amongSecondFactorsTheUserChooses() throws {
    let host = try UserPoolHost()
    try host.user(
      "alice",
      #""Mfa":["SMS_MFA","SOFTWARE_TOKEN_MFA"],"SoftwareToken":"\#(Self.secret)",\#(Self.phone)"#)
    let asked = try host.logIn()
    expect(asked.step, equals: "select")
    let stray = try host.answer(asked, #""choice":"EMAIL_OTP""#)
    expect(stray.errorCode, equals: "InvalidRequest")
    let code = try host.answer(asked, #""choice":"SOFTWARE_TOKEN_MFA""#)
    expect(code.step, equals: "code", "\(code)")
    expect(
      try host.answer(code, #""code":"\#(try host.appCode(Self.secret))""#).state,
      equals: "signedIn")
  }

  @Test func aSecondFactorIsSetUpWhereThePoolWantsOne() throws {
    let host = try UserPoolHost()
    try host.pool(#"{"MfaConfiguration":"ON","EnabledMfas":["SOFTWARE_TOKEN_MFA"]}"#)
    var asked = try host.logIn()
    if asked.step == "select" {
      asked = try host.answer(asked, #""choice":"SOFTWARE_TOKEN_MFA""#)
    }
    expect(asked.step, equals: "totpSetup", "\(asked)")
    let secret = try #require(asked["Challenge"]?["Parameters"]?["Secret"]?.text)
    let uri = asked["Challenge"]?["Parameters"]?["Uri"]?.text
    expect(uri?.hasPrefix("otpauth://totp/staff:alice?secret=\(secret)") == true)
    let reply = try host.answer(
      asked, #""code":"\#(try host.appCode(secret))","name":"phone""#)
    expect(reply.state, equals: "signedIn", "\(reply)")
  }

  @Test func aQuestionOfThePoolsOwnIsAnswered() throws {
    for flow in ["custom", "custom-srp"] {
      let host = try UserPoolHost("auth_flow = \(flow)")
      let asked =
        flow == "custom"
        ? try host.ask(#"{"op":"login","username":"alice"}"#) : try host.logIn()
      expect(asked.step, equals: "custom", "\(asked)")
      expect(asked["Challenge"]?["Parameters"]?["question"]?.text, equals: "2 + 2")
      let again = try host.answer(asked, #""answer":"5""#)
      expect(again.step, equals: "custom", "\(again)")
      expect(try host.answer(again, #""answer":"4""#).state, equals: "signedIn")
    }
  }

  /// Where the operator has allowed it, programs may send texts for the pool's triggers.
  @Test func credctlSendsTextsForTriggers() throws {
    let host = try UserPoolHost("auth_flow = custom\nclient_metadata = yes")
    let asked = try host.host.credctlWithoutTerminal(
      "login", "--username", "alice", "--json", "--client-metadata", "app=a=b",
      "--client-metadata", "empty=")
    let handle = try #require(JSON(asked.output).handle, "\(asked)")
    var sent = try host.host.sandbox.lastBody("InitiateAuth")["ClientMetadata"]
    expect(sent?["app"]?.text == "a=b" && sent?["empty"]?.text == "", "\(asked)")
    let answered = try host.host.credctl(
      input: "4", "respond", handle, "answer=-", "--client-metadata", "step=2")
    expect(answered.status, equals: 0, "\(answered)")
    sent = try host.host.sandbox.lastBody("RespondToAuthChallenge")["ClientMetadata"]
    expect(sent?.keys, equals: ["step"])
    let twice = try host.host.credctl(
      "login", "--username", "alice", "--client-metadata", "a=1", "--client-metadata", "a=2")
    expect(twice.status == 64 && twice.errors.contains("--client-metadata"), "\(twice)")
    let closed = try UserPoolHost("auth_flow = custom")
    let refused = try closed.host.credctl(
      input: "Sandbox-1\n", "login", "--username", "alice", "--password-stdin",
      "--client-metadata", "a=1")
    expect(refused.status != 0 && refused.errors.contains("client_metadata"), "\(refused)")
  }

  @Test func aCodeAloneSignsInWhereThePoolAllowsIt() throws {
    let host = try UserPoolHost("auth_flow = choice")
    var asked = try host.ask(#"{"op":"login","username":"alice"}"#)
    expect(asked.step, equals: "select", "\(asked)")
    asked = try host.answer(asked, #""choice":"EMAIL_OTP""#)
    expect(asked["Challenge"]?["Parameters"]?["Medium"]?.text, equals: "email", "\(asked)")
    expect(try host.answer(asked, #""code":"\#(try host.code())""#).state, equals: "signedIn")
  }

  // MARK: Devices

  @Test func aRememberedDeviceTakesThePlaceOfTheSecondFactor() throws {
    let host = try UserPoolHost("remember_device = yes")
    try host.pool(#"{"DeviceTracking":"ALWAYS"}"#)
    try host.user("alice", #""Mfa":["SOFTWARE_TOKEN_MFA"],"SoftwareToken":"\#(Self.secret)""#)
    let asked = try host.logIn()
    expect(asked.step, equals: "code")
    expect(
      try host.answer(asked, #""code":"\#(try host.appCode(Self.secret))""#).state,
      equals: "signedIn")
    try host.ask(#"{"op":"logout"}"#)
    expect(try host.logIn().state, equals: "signedIn")
    _ = try host.host.credentials(refresh: true)
    // Signing out everywhere forgets it.
    try host.ask(#"{"op":"logout","global":true}"#)
    expect(try host.logIn().step, equals: "code")
  }

  @Test func aDeviceThatThePoolHasForgottenIsNoFailedSignIn() throws {
    let host = try UserPoolHost(
      "remember_device = yes\naccount_actions = devices forget-device")
    try host.pool(#"{"DeviceTracking":"ALWAYS"}"#)
    try host.signIn()
    let other = try #require(
      try host.host.sandbox.control(
        "GET", "user-pool/user?Username=alice")["Devices"])
    // The user is made anew: the pool knows none of the devices of before.
    try host.host.sandbox.control("DELETE", "user-pool/user?Username=alice")
    try host.user(
      "alice",
      #""Password":"Sandbox-1","Status":"CONFIRMED","Attributes":{"email":"a@example.com"}"#)
    try host.ask(#"{"op":"logout"}"#)
    expect(try host.logIn().state, equals: "signedIn")
    let devices = try host.host.sandbox.control("GET", "user-pool/user?Username=alice")["Devices"]
    expect(devices != other)
  }

  @Test func whetherToRememberTheDeviceIsAsked() throws {
    let host = try UserPoolHost("remember_device = ask")
    try host.pool(#"{"DeviceTracking":"OPT_IN"}"#)
    let asked = try host.logIn()
    expect(asked.step == "select" && asked["Challenge"]?["Name"]?.text == "DEVICE")
    expect(try host.answer(asked, #""choice":"yes""#).state, equals: "signedIn")
    try host.ask(#"{"op":"logout"}"#)
    // The device is known now, and nobody is asked.
    expect(try host.logIn().state, equals: "signedIn")
  }

  // MARK: Handles and waiting

  @Test func aGetThatWaitsGoesOnWhenTheSignInIsComplete() throws {
    let host = try UserPoolHost()
    try host.user("alice", #""Mfa":["SMS_MFA"],\#(Self.phone)"#)
    let waiting = try host.host.beginToAsk(#"{"wait":30}"#)
    let watcher = try host.host.watch()
    let asked = try host.logIn()
    let event = try watcher.event("challenge")
    expect(event["Step"]?.text == "code" && event["Handle"] == nil)
    expect(try host.answer(asked, #""code":"\#(try host.code())""#).state, equals: "signedIn")
    expect(try waiting.reply()["AccessKeyId"] != nil)
  }

  @Test func aHandleEndsWithItsSignIn() throws {
    let ends: [(String, (UserPoolHost) throws -> Void)] = [
      ("a new login", { _ = try $0.logIn() }),
      ("logout", { try $0.ask(#"{"op":"logout"}"#) }),
      ("clear identity", { try $0.ask(#"{"op":"clear","what":"identity"}"#) }),
      ("a restart", { try $0.host.restart() }),
      (
        "a reload",
        { host in
          try host.host.configure {
            UserPoolHost.configuration($0, "auth_flow = password", "")
          }
          try host.host.reload()
        }
      ),
    ]
    for (name, end) in ends {
      let host = try UserPoolHost()
      try host.user("alice", #""Mfa":["SMS_MFA"],\#(Self.phone)"#)
      let asked = try host.logIn()
      let code = try host.code()
      try end(host)
      expect(
        try host.answer(asked, #""code":"\#(code)""#).errorCode, equals: "UnknownChallenge",
        "\(name)")
      expect(try host.host.state(), equals: "signedOut", "\(name)")
    }
  }

  @Test func cancelEndsAndAReleaseDoesNot() throws {
    let host = try UserPoolHost()
    try host.user("alice", #""Mfa":["SMS_MFA"],\#(Self.phone)"#)
    let asked = try host.logIn()
    try host.ask(#"{"op":"release"}"#)
    let handle = try #require(asked.handle)
    let still = try host.ask(#"{"op":"respond","handle":"\#(handle)","wait":0}"#)
    expect(still.handle, equals: handle)
    expect(
      try host.ask(#"{"op":"respond","handle":"\#(handle)","cancel":true}"#).state,
      equals: "signedOut")
    let gone = try host.ask(#"{"op":"respond","handle":"\#(handle)","wait":0}"#)
    expect(gone.errorCode, equals: "UnknownChallenge")
  }
}
