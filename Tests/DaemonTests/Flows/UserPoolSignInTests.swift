import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// Sign-ins at the sandbox's user pool, through the real daemon.
@Suite(.onStage)
struct UserPoolSignInTests {
  private static let secret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"

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
      Configuration.userPool($0, backend: "client_secret_file = \(file)")
        .replacing(UserPoolHost.client, with: "2sandboxclient234567890abc")
    }
    let reply = try host.logIn("alice", password: "Sandbox-1")
    expect(reply.state, equals: "signedIn", "\(reply)")
    _ = try host.credentials(refresh: true)
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

  // MARK: Handles and waiting
}
