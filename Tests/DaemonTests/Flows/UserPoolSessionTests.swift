import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// Sessions of the sandbox's user pool, through the real daemon.
@Suite(.onStage)
struct UserPoolSessionTests {
  private static let rotation =
    #""ExplicitAuthFlows":["ALLOW_USER_SRP_AUTH"],"RefreshTokenRotation":true"#

  @Test func aSessionIsRenewedWithRotation() throws {
    let host = try UserPoolHost()
    try host.client(Self.rotation)
    try host.signIn()
    for _ in 0..<4 { _ = try host.host.credentials(refresh: true) }
    expect(try host.calls("GetTokensFromRefreshToken") >= 1)
    expect(try host.host.state(), equals: "signedIn")
  }

  @Test func aRotatedTokenIsThereAfterARestart() throws {
    let host = try UserPoolHost(managed: true)
    try host.client(Self.rotation + #","IdTokenValidity":2,"AccessTokenValidity":2"#)
    try host.signIn()
    _ = try host.host.credentials(refresh: true)
    for signal in [SIGTERM, SIGKILL] {
      try host.host.restart(by: signal)
      expect(try host.host.state(), equals: "signedIn")
      _ = try host.host.credentials(refresh: true)
    }
  }

  @Test func aRevokedRefreshTokenEndsTheSession() throws {
    let host = try UserPoolHost()
    try host.signIn()
    let watcher = try host.host.watch()
    try host.user("alice", #""SignOut":true"#)
    let refused = try host.ask(#"{"refresh":true,"wait":30}"#)
    expect(refused.errorCode, equals: "SignInRequired", "\(refused)")
    expect(try watcher.event("state")["State"]?.text, equals: "tokensInvalid")
    try host.signIn()
    _ = try host.host.credentials()
  }

  @Test func aLostReplyToARotationCostsNoSession() throws {
    let host = try UserPoolHost()
    try host.client(Self.rotation + #","RetryGracePeriodSeconds":60"#)
    try host.signIn()
    try host.host.sandbox.plan(
      #"{"Service":"cognito-idp","Operation":"GetTokensFromRefreshToken","Kind":"truncate"}"#)
    try Deadline.usual.wait(for: "credentials") {
      try host.ask(#"{"refresh":true,"wait":120}"#)["AccessKeyId"] != nil
    }
    expect(try host.host.state(), equals: "signedIn")
    _ = try host.host.credentials(refresh: true)
  }

  @Test func anOrderlyStopTakesTheTokensThatAreOnTheirWay() throws {
    let host = try UserPoolHost(managed: true)
    try host.client(Self.rotation + #","RetryGracePeriodSeconds":0"#)
    try host.signIn()
    try host.host.sandbox.plan(
      #"{"Service":"cognito-idp","Operation":"GetTokensFromRefreshToken","Kind":"delay","#
        + #""Seconds":2}"#)
    let client = try host.host.connect()
    try client.send(#"{"refresh":true,"wait":30}"# + "\n")
    try Deadline.usual.wait(for: "the renewal") {
      try host.calls("GetTokensFromRefreshToken") == 1
    }
    host.host.daemon.send(SIGTERM)
    expect(try client.reply().errorCode, equals: "ShuttingDown")
    try host.host.daemon.wait()
    try host.host.startAgain()
    expect(try host.host.state(), equals: "signedIn")
    _ = try host.host.credentials(refresh: true)
    expect(try host.calls("GetTokensFromRefreshToken"), equals: 2)
  }

  // MARK: The end

  @Test func credctlSignsOutOnAllHosts() throws {
    let here = try UserPoolHost()
    try here.signIn()
    let there = try TestHost { _ in Configuration.userPool(here.host.sandbox) }
    expect(try there.logIn("alice", password: "Sandbox-1").state, equals: "signedIn")
    let outcome = try here.host.credctl("logout", "--global")
    expect(outcome.status == 0 && outcome.output.hasPrefix("default signedOut"), "\(outcome)")
    expect(try here.calls("GlobalSignOut") == 1 && here.calls("RevokeToken") == 0)
    expect(try there.ask(#"{"refresh":true,"wait":5}"#).errorCode, equals: "SignInRequired")
    // Nobody is left who could be signed out elsewhere.
    let again = try here.host.credctl("logout", "--global")
    expect(again.status == 77 && again.errors.contains("sign in again"), "\(again)")
  }

  // MARK: Identities, flows, other providers

  @Test func aGuestBecomesTheUserWithTheSameIdentity() throws {
    let host = try UserPoolHost(profile: "guest = yes", sandbox: ["--unauthenticated"])
    _ = try host.host.credentials()
    let identity = try #require(try host.host.identity())
    let reply = try host.logIn()
    expect(reply.state == "signedIn" && reply["IdentityId"]?.text == identity, "\(reply)")
    let issued = try host.host.issued(try host.host.credentials())
    expect(issued["IdentityId"]?.text, equals: identity)
    expect(issued["RoleArn"]?.text, equals: Configuration.role("authenticated"))
  }

  @Test func theBasicFlowWorksToo() throws {
    let host = try TestHost {
      Configuration.userPool(
        $0,
        profile: """
          flow = basic
          sts_endpoint = \($0.url)
          role_arn = \(Configuration.role("authenticated"))
          """)
    }
    expect(try host.logIn("alice", password: "Sandbox-1").state, equals: "signedIn")
    _ = try host.credentials()
    _ = try host.credentials(refresh: true)
    expect(try host.sandbox.calls("sts.AssumeRoleWithWebIdentity") >= 2)
  }

  // MARK: Tokens

  @Test func credctlGetsTokensByTheirKind() throws {
    let host = try UserPoolHost(profile: "vend_tokens = id access account")
    try host.signIn()
    let id = try host.host.credctl("token", "--kind", "id")
    expect(id.status, equals: 0, "\(id)")
    expect(try claims(JSON(id.output))["token_use"]?.text, equals: "id")
    let access = try host.host.credctl("token", "default", "--kind", "access")
    expect(try claims(JSON(access.output))["token_use"]?.text, equals: "access")
    expect(try claims(JSON(host.host.credctl("token").output))["token_use"]?.text, equals: "id")
    let none = try host.host.credctl("token", "--kind", "developer")
    expect(none.status != 0 && none.output.isEmpty, "\(none)")
  }

  @Test func anAccessTokenForTheAccountIsNotHandedOutByTheWordAccess() throws {
    let host = try UserPoolHost(profile: "vend_tokens = id access")
    try host.signIn()
    expect(try host.ask(#"{"op":"token","kind":"access"}"#).errorCode, equals: "AccessDenied")
    expect(try host.ask(#"{"op":"token","kind":"id"}"#)["Token"] != nil)
  }

  private func claims(_ reply: JSON) throws -> JSON {
    let token = try #require(reply["Token"]?.text, "\(reply)")
    let payload = try #require(token.split(separator: ".").dropFirst().first)
    var text = payload.replacing("-", with: "+").replacing("_", with: "/")
    while text.count % 4 != 0 { text += "=" }
    let data = try #require(Data(base64Encoded: String(text)))
    return try JSON(String(decoding: data, as: UTF8.self))
  }

  // MARK: Configuration

  @Test func anotherClientGetsNothingOfTheFormerOne() throws {
    let host = try UserPoolHost()
    try host.signIn()
    _ = try host.host.credentials()
    let calls = try host.host.sandbox.allCalls
    try #require(try host.calls("RevokeToken") == 0)
    try host.host.configure {
      Configuration.userPool($0)
        .replacing(UserPoolHost.client, with: "2sandboxclient234567890abc")
    }
    try host.host.reload()
    let refused = try host.ask(#"{"refresh":true,"wait":0}"#)
    expect(refused.errorCode, equals: "SignInRequired", "\(refused)")
    // The former client's token ends at the pool, which hears nothing else.
    try Deadline.usual.wait(for: "RevokeToken") { try host.calls("RevokeToken") == 1 }
    expect(try host.host.sandbox.allCalls, equals: calls + 1)
  }
}
