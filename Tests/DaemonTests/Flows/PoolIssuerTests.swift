import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// A user pool that switches to the issuer which AWS recommends, through the real daemon.
@Suite(.onStage)
struct PoolIssuerTests {
  private static let key = "cognito-idp.us-east-1.amazonaws.com/us-east-1_Sandbox"

  /// Which issuer the pool has from now on, and how the identity pool takes its tokens.
  private func set(_ host: TestHost, _ type: String, _ keys: String) throws {
    try host.sandbox.control(
      "POST", "user-pool", #"{"IssuerConfiguration":{"Type":"\#(type)"}}"#)
    try host.sandbox.control("POST", "pool", #"{"UserPoolKeys":"\#(keys)"}"#)
  }

  @Test(arguments: ["documented", "issuer"])
  func aBrowserSignsInAndTheSessionOutlivesSwitchesAndRestarts(_ keys: String) throws {
    let host = try ProviderHost(hostedUI: "")
    try set(host.host, "UPDATED", keys)
    let reply = try host.signIn()
    expect(reply.state, equals: "signedIn", "\(reply)")
    let identity = try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text
    for type in ["ORIGINAL", "UPDATED", "ORIGINAL", "UPDATED"] {
      try set(host.host, type, keys)
      let renewed = try host.ask(#"{"refresh":true,"wait":120}"#)
      expect(renewed["AccessKeyId"]?.text != nil, "\(type): \(renewed)")
      expect(try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text, equals: identity)
      // The same user again is not asked to confirm.
      expect(try host.signIn().state, equals: "signedIn", "\(type)")
    }
  }

  @Test func theKeyThatWorkedIsThereAfterARestart() throws {
    let host = try UserPoolHost(managed: true)
    try host.client(
      #""ExplicitAuthFlows":["ALLOW_USER_SRP_AUTH"],"IdTokenValidity":2,"AccessTokenValidity":2"#)
    try set(host.host, "UPDATED", "issuer")
    try host.signIn()
    for signal in [SIGTERM, SIGKILL] {
      try host.host.restart(by: signal)
      try host.host.sandbox.control("POST", "reset-stats")
      _ = try host.host.credentials(refresh: true)
      expect(try host.host.state(), equals: "signedIn")
      // The first key was the right one.
      expect(try host.host.sandbox.exchanges, equals: 1)
    }
  }

  @Test func anotherIdentityUnderTheOtherKeyIsRefusedByName() throws {
    let host = try UserPoolHost()
    try host.signIn()
    let identity = try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text
    try set(host.host, "UPDATED", "separate")
    let reply = try host.ask(#"{"refresh":true,"wait":5}"#)
    expect(reply.errorCode, equals: "IdentityConflict", "\(reply)")
    expect(reply["Error"]?["Message"]?.text?.contains("provider_name") == true)
    expect(try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text, equals: identity)
    expect(try host.host.state(), equals: "signedIn")
  }
}
