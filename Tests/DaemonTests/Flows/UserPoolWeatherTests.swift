import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// Bad input and bad weather at the sandbox's user pool, through the real daemon.
@Suite(.onStage)
struct UserPoolWeatherTests {
  private static let phone =
    #""Mfa":["SMS_MFA"],"Attributes":{"phone_number":"+4915112345678","phone_number_verified":"true"}"#

  /// A password is proved as it was typed, as the SDKs do it: nothing is normalised.
  @Test func namesAndPasswordsAreTakenAsTheyAreTyped() throws {
    let host = try UserPoolHost()
    let composed = "Gr\u{FC}\u{DF}e-\u{1F511}-1"
    let decomposed = "Gr\u{75}\u{308}\u{DF}e-\u{1F511}-1"
    for (name, password, other) in [
      ("j\u{F6}rg", composed, decomposed), ("\u{5DC}\u{5D0}", decomposed, composed),
    ] {
      try host.user(
        name,
        #""Password":"\#(password)","Status":"CONFIRMED","Attributes":{"email":"j@example.com"}"#)
      let refused = try host.logIn(name, other)
      expect(refused.errorCode, equals: "SignInFailed", "\(name): \(refused)")
      let reply = try host.logIn(name, password)
      expect(reply.state == "signedIn" && reply["Username"]?.text == name, "\(reply)")
    }
    // As short as the pool's policy lets an administrator choose it, and as long as Cognito does.
    for password in ["x Y1\u{A0}", String(repeating: "\u{FC}", count: 256)] {
      expect(try host.logIn("nobody", password).errorCode != "Internal")
    }
    expect(
      try host.logIn("nobody", String(repeating: "x", count: 257)).errorCode,
      equals: "InvalidRequest")
  }

  @Test func aLargeQuestionComesThroughWhole() throws {
    let host = try UserPoolHost("auth_flow = custom")
    let large = String(repeating: "q", count: 64 << 10)
    try host.pool(
      #"{"CustomChallenges":[{"Parameters":{"puzzle":"\#(large)"},"Answer":"yes"}]}"#)
    let asked = try host.ask(#"{"op":"login","username":"alice"}"#)
    expect(asked["Challenge"]?["Parameters"]?["puzzle"]?.text, equals: large)
    expect(try host.answer(asked, #""answer":"yes""#).state, equals: "signedIn")
  }

  @Test func aChallengeThatNobodyKnowsComesThroughByItsName() throws {
    let host = try UserPoolHost()
    try host.host.sandbox.plan(
      #"{"Service":"cognito-idp","Operation":"InitiateAuth","Kind":"malformed","Body":"{"#
        + #"\"ChallengeName\":\"RETINA_SCAN\",\"Session\":\"0123456789012345678901\","#
        + #"\"ChallengeParameters\":{\"eye\":\"left\"}}"}"#)
    let asked = try host.logIn()
    expect(asked.step == "custom" && asked["Challenge"]?["Name"]?.text == "RETINA_SCAN")
    expect(asked["Challenge"]?["Parameters"]?["eye"]?.text, equals: "left")
    expect(try host.answer(asked, #""answer":"no""#).errorCode != nil)
    expect(try host.logIn().state, equals: "signedIn")
  }

  @Test func aPoolThatSaysNonsenseIsAnErrorAndNoMore() throws {
    let host = try UserPoolHost()
    for (operation, kind) in [
      ("InitiateAuth", #""malformed""#), ("InitiateAuth", #""html""#),
      ("InitiateAuth", #""oversize""#), ("RespondToAuthChallenge", #""malformed","Body":"{}""#),
      ("RespondToAuthChallenge", #""truncate""#), ("RespondToAuthChallenge", #""reset""#),
      ("InitiateAuth", #""redirect""#), ("RespondToAuthChallenge", #""status","Status":500"#),
    ] {
      try host.host.sandbox.plan(
        #"{"Service":"cognito-idp","Operation":"\#(operation)","Kind":\#(kind)}"#)
      let reply = try host.logIn()
      expect(reply.errorCode != nil && reply.errorCode != "Internal", "\(kind): \(reply)")
      try host.host.sandbox.clearFaults()
    }
    try Deadline.usual.wait(for: "a sign-in") { try host.logIn().state == "signedIn" }
  }

  @Test func aSessionThatThePoolEndedEndsTheSignIn() throws {
    let host = try UserPoolHost()
    try host.user("alice", Self.phone)
    try host.client(#""AuthSessionValidity":1"#)
    let asked = try host.logIn()
    let code = try host.code()
    // The pool keeps a sign-in for a second, and the daemon its question for three minutes.
    usleep(1_500_000)
    let reply = try host.answer(asked, #""code":"\#(code)""#)
    expect(reply.errorCode == "SignInFailed" && reply.handle == nil, "\(reply)")
    expect(try host.calls("RespondToAuthChallenge"), equals: 2)
    expect(try host.answer(asked, #""code":"\#(code)""#).errorCode, equals: "UnknownChallenge")
    expect(try host.host.state(), equals: "signedOut")
    // A new sign-in has a code of its own, and as long as it needs.
    try host.client(#""AuthSessionValidity":900"#)
    let again = try host.logIn()
    expect(try host.answer(again, #""code":"\#(try host.code())""#).state, equals: "signedIn")
  }

  @Test(.enabled(if: OtherUser.canBe && PythonScript.canRun, "takes root, and python3"))
  func anotherUsersHandleIsAnUnknownOne() throws {
    let host = try UserPoolHost()
    try host.user("alice", Self.phone)
    let handle = try #require(try host.logIn().handle)
    let script = """
      import socket, sys
      for handle in sys.argv[2:]:
          s = socket.socket(socket.AF_UNIX)
          s.connect(sys.argv[1])
          s.sendall(b'{"op":"respond","handle":"%s","wait":0}\\n' % handle.encode())
          print(s.makefile().readline(), end="")
      """
    let python = try #require(Programs.installed("python3"))
    let told = try host.host.run(
      try OtherUser.games.prefix + [
        python, "-c", script, host.host.socketPath, handle, String(repeating: "0", count: 32),
      ])
    let lines = told.output.split(separator: "\n")
    expect(lines.count == 2 && lines.first == lines.last, "\(told)")
    expect(lines.first?.contains("UnknownChallenge") == true)
    expect(try host.ask(#"{"op":"respond","handle":"\#(handle)","wait":0}"#).handle, equals: handle)
  }

  @Test func aValueOfCognitosLengthIsSet() throws {
    let host = try UserPoolHost("account_actions = get set-attributes")
    try host.pool(#"{"CustomAttributes":["note"]}"#)
    try host.signIn()
    let value = String(repeating: "\u{FC}", count: 2048)
    func set(_ value: String) throws -> JSON {
      try host.ask(
        #"{"op":"account","action":"set-attributes","attributes":{"custom:note":"\#(value)"}}"#)
    }
    let reply = try set(value)
    expect(reply.errorCode == nil, "\(reply)")
    let read = try host.ask(#"{"op":"account","action":"get"}"#)
    expect(read["Attributes"]?["custom:note"]?.text, equals: value)
    expect(try set(value + "x").errorCode, equals: "InvalidRequest")
  }

  @Test func passwordsCodesAndTokensAreInNoLogAndNoError() throws {
    let host = try UserPoolHost(
      "account_actions = change-password forgot-password reset-password",
      profile: "vend_tokens = id access account")
    try host.user("alice", Self.phone)
    var told = ""
    told += "\(try host.logIn("alice", "Wrong-secret-1"))"
    let asked = try host.logIn()
    told += "\(try host.answer(asked, #""code":"987123""#))"
    let code = try host.code()
    expect(try host.answer(asked, #""code":"\#(code)""#).state, equals: "signedIn")
    let tokens = try ["id", "access"].map {
      try #require(try host.ask(#"{"op":"token","kind":"\#($0)"}"#)["Token"]?.text)
    }
    let change =
      #"{"op":"account","action":"change-password","old_password":"Wrong-secret-2","#
      + #""password":"New-secret-3"}"#
    told += "\(try host.ask(change))"
    _ = try host.ask(#"{"op":"account","action":"forgot-password","username":"alice"}"#)
    let reset = try host.code()
    let useCode =
      #"{"op":"account","action":"reset-password","username":"alice","code":"\#(reset)","#
      + #""password":"bad-secret-4"}"#
    told += "\(try host.ask(useCode))"
    _ = try host.host.credentials(refresh: true)
    try host.ask(#"{"op":"logout"}"#)
    let secrets =
      [
        "Wrong-secret-1", "Sandbox-1", "987123", code, reset, "Wrong-secret-2", "New-secret-3",
        "bad-secret-4",
      ] + tokens
    for secret in secrets {
      expect(!host.host.log.contains(secret) && !told.contains(secret), "\(secret)")
    }
  }
}
