import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// How a derived session gets and renews its credentials.
struct DerivedSessionTests: DerivedTesting {
  @Test func aScopeIsTheSourcesSessionWithThePolicyOfItsUser() throws {
    let fixture = try fixture()
    let key = try key(fixture)
    expect(policies(of: key, fixture), equals: [Self.policy(for: "alice")])
    expect(calls("token", fixture), equals: 1)
    expect(calls("GetScopedCredentials", fixture), equals: 1)
    // One call for all callers, and none for those that come later.
    expect(try self.key(fixture), equals: key)
    expect(calls("GetScopedCredentials", fixture), equals: 1)
    expect(
      policies(of: try self.key(fixture, of: 1001), fixture), equals: [Self.policy(for: "bob")])
  }

  @Test func aHopIsTheRolesSession() throws {
    let fixture = try fixture(
      Self.text(Self.hop("external_id = ext\nsession_tags.team = {user}\nduration = 30m")))
    let key = try key(fixture, "hop")
    let issued = fixture.host.upstreams.sts.keys[key]
    expect(issued?.arn, equals: "arn:aws:sts::210987654321:assumed-role/reports/alice")
    let form = fixture.host.upstreams.sts.forms.last
    expect(form?["ExternalId"], equals: "ext")
    expect(form?["Tags.member.1.Value"], equals: "alice")
    expect(form?["DurationSeconds"], equals: "1800")
  }

  @Test func twoDerivedProfilesInARowNarrowEachOther() throws {
    let fixture = try fixture(
      Self.text(
        Self.hop(), Configured.derived("last", from: "hop", "policy_file = \(Self.policyPath)")))
    let key = try key(fixture, "last")
    let issued = fixture.host.upstreams.sts.keys[key]
    expect(issued?.policies, equals: [Self.policy(for: "alice")])
    expect(issued?.arn, equals: "arn:aws:sts::210987654321:assumed-role/reports/alice")
  }

  @Test func manyCallersCauseOneCall() throws {
    let fixture = try fixture()
    fixture.host.upstreams.delays["GetScopedCredentials"] = .seconds(1)
    let clients = (0..<5).map { _ in fixture.connect() }
    for client in clients { client.send(get("narrow")) }
    fixture.advance(by: .seconds(2))
    let keys = try clients.map { try $0.next().accessKeyID }
    expect(Set(keys).count, equals: 1)
    expect(calls("GetScopedCredentials", fixture), equals: 1)
    expect(calls("token", fixture), equals: 1)
  }

  @Test func itIsRenewedWithItsSourceWhileItIsInUse() throws {
    let fixture = try fixture()
    let first = try key(fixture)
    fixture.advance(by: .seconds(60))
    expect(try key(fixture), equals: first)
    // Half of the hour, with what spreads renewals.
    fixture.advance(by: .seconds(2100))
    expect(calls("GetCredentialsForIdentity", fixture), equals: 2)
    expect(calls("GetScopedCredentials", fixture), equals: 2)
    let second = try key(fixture)
    expect(second != first)
    expect(policies(of: second, fixture), equals: [Self.policy(for: "alice")])
    // Nobody used it since: neither is renewed.
    fixture.advance(by: .seconds(4000))
    expect(calls("GetCredentialsForIdentity", fixture) <= 3)
    fixture.advance(by: .seconds(7200))
    let before = calls("GetScopedCredentials", fixture)
    fixture.advance(by: .seconds(7200))
    expect(calls("GetScopedCredentials", fixture), equals: before)
  }

  @Test func aSourceWithLessThanHalfOfItsLifeIsRenewedFirst() throws {
    let fixture = try fixture(Self.text(Self.narrow(), Self.hop()))
    _ = try key(fixture, "work")
    fixture.advance(by: .seconds(2400))
    let key = try key(fixture, "hop")
    expect(calls("GetCredentialsForIdentity", fixture), equals: 2)
    expect(fixture.host.upstreams.sts.keys[key]?.source, equals: try self.key(fixture, "work"))
  }

  @Test func aSourceWithLessThanTwoMinutesIsRenewedFirst() throws {
    let fixture = try fixture(
      Self.text(
        Self.narrow("duration = 3m"),
        Configured.derived("last", from: "narrow", "duration = 1m")))
    for _ in 0..<40 {
      _ = try key(fixture, "last")
      fixture.advance(by: .seconds(20))
    }
    let asked = fixture.host.upstreams.sts.forms.compactMap { $0["DurationSeconds"] }
    expect(Set(asked), equals: ["180", "60"])
  }

  @Test func whatTheSourceHasServesWhereItCannotBeRenewed() throws {
    let fixture = try fixture()
    _ = try key(fixture, "work")
    fixture.advance(by: .seconds(2400))
    fixture.host.upstreams.faults["token"] = .status(503)
    let key = try key(fixture)
    expect(policies(of: key, fixture), equals: [Self.policy(for: "alice")])
  }

  @Test func refreshRenewsTheSourceWithANewTokenToo() throws {
    let fixture = try fixture()
    let first = try key(fixture)
    fixture.advance(by: .seconds(60))
    let second = try key(fixture, "narrow", #","refresh":true"#)
    expect(second != first)
    expect(calls("token", fixture), equals: 2)
    expect(calls("GetCredentialsForIdentity", fixture), equals: 2)
    expect(calls("GetScopedCredentials", fixture), equals: 2)
    expect(policies(of: second, fixture)?.count, equals: 1)
  }

  @Test func moreLifeThanTheProfileHasIsRefusedAndRenewsNothing() throws {
    let fixture = try fixture(Self.text(Self.narrow("duration = 15m")))
    _ = try key(fixture)
    fixture.advance(by: .seconds(60))
    let reply = try fixture.ask(get("narrow", #","min_ttl":1000"#))
    expect(reply.errorCode, equals: "InvalidRequest", "\(reply)")
    expect(calls("GetScopedCredentials", fixture), equals: 1)
    expect(calls("token", fixture), equals: 1)
    _ = try key(fixture, "narrow", #","min_ttl":880"#)
    expect(calls("GetScopedCredentials", fixture), equals: 2)
  }

  @Test func moreLifeThanIsLeftRenewsTheSource() throws {
    let fixture = try fixture()
    _ = try key(fixture)
    fixture.advance(by: .seconds(1200))
    let key = try key(fixture, "narrow", #","min_ttl":3000"#)
    expect(calls("GetCredentialsForIdentity", fixture), equals: 2)
    expect(policies(of: key, fixture)?.count, equals: 1)
  }

  @Test func itsUseIsItsSourcesUse() throws {
    let fixture = try fixture(Self.text(work: "forget_after = 2h"))
    _ = try key(fixture)
    for _ in 0..<20 {
      fixture.advance(by: .seconds(1200))
      _ = try key(fixture)
    }
    expect(session("work", fixture) != nil)
    expect(calls("token", fixture) > 5)
    fixture.advance(by: .seconds(4 * 3600))
    expect(session("work", fixture) == nil)
    expect(session("narrow", fixture) == nil)
  }

  @Test func theJournalLeadsFromTheKeyToWhatNarrowsIt() throws {
    let fixture = try fixture()
    let key = try key(fixture)
    let entry = fixture.host.log.entries.last {
      $0.message == "credentials refreshed" && $0["profile"] == "narrow"
    }
    expect(entry?["access_key_id"], equals: key)
    expect(entry?["source_profile"], equals: "work")
    expect(entry?["source_access_key_id"], equals: try self.key(fixture, "work"))
    expect(entry?["policy_sha256"]?.count, equals: 64)
  }

  @Test func statusSaysWhereItComesFrom() throws {
    let fixture = try fixture(Self.text(Self.narrow(), Self.hop()))
    _ = try key(fixture)
    _ = try key(fixture, "hop")
    let sessions = try fixture.ask(#"{"op":"status","profiles":true}"#)
    expect(sessions["Sessions"]?[0]?["RoleArn"]?.text, equals: Self.role)
    let narrow = sessions["Sessions"]?[1]
    expect(narrow?["Source"]?.text, equals: "work")
    expect(narrow?["Policy"]?.text, equals: "readonly.json")
    expect(narrow?["PolicySha256"]?.text?.count, equals: 64)
    expect(narrow?["TokenUtilization"]?.integer, equals: 14)
    expect(narrow?["SignedInBy"]?.text, equals: "host")
    expect(sessions["Profiles"]?[1]?["Policy"]?.text, equals: "readonly.json")
  }

  @Test func aCheckGoesStepByStep() throws {
    let fixture = try fixture()
    _ = try key(fixture)
    fixture.advance(by: .seconds(60))
    let reply = try fixture.ask(#"{"op":"check","profile":"narrow"}"#)
    let steps = (0..<(reply["Steps"]?.count ?? 0)).compactMap { reply["Steps"]?[$0] }
    let names = steps.compactMap { $0["Name"]?.text }
    expect(
      Array(names.suffix(3)), equals: ["source 'work'", "GetScopedCredentials", "credentials"])
    expect(steps.last?["Detail"]?.text?.hasSuffix("; the session token is 14 % full") ?? false)
  }
}
