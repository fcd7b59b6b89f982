import TestSupport
import Testing

@testable import DaemonHarness

/// Faults of upstream for which the strict sandbox is needed; others are those of the service.
@Suite(.onStage)
struct FaultTests {
  @Test
  func changedIdentityIsAdopted() throws {
    let host = try TestHost()
    expect(try host.ask()["AccessKeyId"] != nil)
    let before = try #require(try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text)
    try host.sandbox.control("POST", "revoke", #"{"User":"alice"}"#)
    try host.sandbox.plan(#"{"Service":"backend","Kind":"changedIdentity"}"#)
    let refreshed = try host.ask(#"{"refresh":true}"#)
    let key = try #require(refreshed["AccessKeyId"]?.text, "\(refreshed)")
    let after = try #require(try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text)
    expect(after != before)
    expect(
      try host.sandbox.control("GET", "issued?AccessKeyId=\(key)")["IdentityId"]?.text,
      equals: after)
    expect(host.log.contains("identity changed"))
  }

  @Test
  func identityThatCognitoMergedIsAdopted() throws {
    let host = try TestHost()
    let before = try #require(try host.ask(#"{"op":"token"}"#)["IdentityId"]?.text)
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"changedIdentity"}"#)
    expect(try host.ask()["AccessKeyId"] != nil)
    let after = try #require(try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text)
    expect(after != before)
    expect(try host.ask(#"{"refresh":true}"#)["AccessKeyId"] != nil)
  }

  @Test
  func deletedIdentityIsReplaced() throws {
    let host = try TestHost()
    expect(try host.ask()["AccessKeyId"] != nil)
    let before = try #require(try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text)
    try host.sandbox.control("DELETE", "identity?IdentityId=\(before)")
    let refreshed = try host.ask(#"{"refresh":true}"#)
    expect(refreshed["AccessKeyId"] != nil, "\(refreshed)")
    expect(try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text != before)
  }

  @Test
  func wrongClockOfTheServiceDoesNoHarm() throws {
    let host = try TestHost()
    try host.sandbox.plan(
      #"{"Service":"backend","Kind":"dateSkew","Seconds":-7200,"Count":-1}"#)
    try host.sandbox.plan(
      #"{"Service":"cognito","Kind":"dateSkew","Seconds":-7200,"Count":-1}"#)
    let first = try host.ask()
    // By as much as the answers took the clock is further off.
    let atMost = 7200.0 + 300
    expect(first["AccessKeyId"] != nil, "\(first)")
    // By this host's clock they have expired; by the server's, which counts, they have not.
    expect(try host.ask(), equals: first)
    expect(try host.sandbox.exchanges, equals: 1)
    // A person is told, once, because clients go by the local clock.
    let told = host.log.split(separator: "\n").filter { $0.contains("says AWS") }
    expect(told.count, equals: 1)
    let fast = told.first?.firstMatch(of: /warning: this host's clock is (\d+) s fast/)
    expect(fast.flatMap { Double($0.1) }.map { (7200...atMost).contains($0) } ?? false)
    let skew = try host.ask(#"{"op":"status"}"#)["Daemon"]?["ClockSkew"]?.number
    expect(skew.map { (7198...atMost).contains(-$0) } ?? false)
    try host.sandbox.clearFaults()
    expect(try host.ask(#"{"refresh":true}"#)["AccessKeyId"] != nil)
    expect(host.log.contains("clock is right again"))
    expect(try host.ask(#"{"op":"status"}"#)["Daemon"]?["ClockSkew"] == nil)
  }
}
