import CredCore
import Logging
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// On every failure a caller gets derived credentials that are still valid, or an error.
struct DerivedFailureTests: DerivedTesting {
  @Test(arguments: FakeSTS.Lie.allCases, ["narrow", "hop"])
  func anAnswerThatMayBeWiderIsRefused(_ lie: FakeSTS.Lie, _ profile: String) throws {
    // AssumeRole counts no policies, and in the enhanced flow nobody knows the source's ARN.
    if (lie, profile) == (.unscoped, "hop") || (lie, profile) == (.otherSession, "narrow") {
      return
    }
    let fixture = try fixture(Self.text(Self.narrow(), Self.hop()))
    let wide = try key(fixture, "work")
    fixture.host.upstreams.sts.lie = lie
    let reply = try fixture.ask(get(profile))
    expect(reply.accessKeyID, equals: nil)
    expect(reply.errorCode, equals: "PoolMisconfigured", "\(reply)")
    expect(reply["Error"]?["Reason"]?.text, equals: "AnswerRefused")
    let entry = fixture.host.log.entries.last { $0["reason"] == "AnswerRefused" }
    expect(entry?.level, equals: .warning)
    expect(!reply.text.contains(wide))
    fixture.host.upstreams.sts.lie = nil
    fixture.advance(by: .seconds(400))
    expect(try key(fixture, profile) != wide)
  }

  /// In the enhanced flow AWS tells neither an ARN nor an account of the source.
  @Test(arguments: [
    "account_id = 210987654321", "role_arn = arn:aws:iam::210987654321:role/chosen",
  ])
  func aKeyOfAnotherAccountIsRefused(_ keys: String) throws {
    let fixture = try fixture(Self.text(work: keys))
    let reply = try fixture.ask(get("narrow"))
    expect(reply.accessKeyID, equals: nil)
    expect(reply["Error"]?["Reason"]?.text, equals: "AnswerRefused", "\(reply)")
    let own = try self.fixture(
      Self.text(work: keys.replacing("210987654321", with: "123456789012")))
    expect(try own.ask(get("narrow")).accessKeyID != nil)
  }

  @Test(arguments: ["a b", "J\u{F6}rg", "a/b"])
  func aUserWhoseNameIsNoSourceIdentityIsRefused(_ name: String) throws {
    let fixture = try fixture(
      Self.text(Self.hop("role_session_name = u{uid}\nsource_identity = {user}")))
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: name)
    let reply = try fixture.ask(get("hop"))
    expect(reply.errorCode, equals: "AccessDenied", "\(reply)")
    expect(reply.errorMessage?.contains("source_identity") ?? false, "\(reply)")
    expect(!(reply.errorMessage?.contains(name) ?? false))
    expect(calls("AssumeRole", fixture), equals: 0)
  }

  @Test(arguments: [
    (400, "Throttling", "Throttled"), (503, "ServiceUnavailable", "CognitoUnavailable"),
    (403, "AccessDenied", "PoolMisconfigured"),
    (400, "MalformedPolicyDocument", "PoolMisconfigured"),
    (400, "PackedPolicyTooLarge", "PoolMisconfigured"),
    (400, "ValidationError", "PoolMisconfigured"),
    (400, "InvalidAction", "PoolMisconfigured"),
  ])
  func afterARefusalThereIsAnErrorWithSTSsWords(
    _ status: Int, _ name: String, _ code: String
  ) throws {
    let fixture = try fixture()
    fixture.host.upstreams.faults["GetScopedCredentials"] = .init(
      answer: FakeSTS.refusal(status, name, "not authorized to perform: sts:TagSession"))
    _ = try fixture.ask(get("narrow", #","wait":0"#))
    let later = try fixture.ask(get("narrow"))
    expect(later.accessKeyID, equals: nil)
    expect(later.errorCode, equals: code, "\(later)")
    if code == "PoolMisconfigured" {
      expect(later["Error"]?["Reason"]?.text, equals: name)
      expect(later.errorMessage?.contains("sts:TagSession") ?? false, "\(later)")
    }
  }

  @Test(arguments: [
    FakeUpstreams.Fault.status(503), .failure(.timeout), .failure(.reset), .hang,
    .init(answer: FakeSTS.refusal(403, "AccessDenied", "no")),
  ])
  func whatIsValidIsGivenUntilItEnds(_ fault: FakeUpstreams.Fault) throws {
    let fixture = try fixture()
    let first = try key(fixture)
    fixture.advance(by: .seconds(60))
    _ = try key(fixture)
    fixture.host.upstreams.faults["GetScopedCredentials"] = fault
    fixture.advance(by: .seconds(2400))
    expect(try key(fixture), equals: first)
    fixture.advance(by: .seconds(1200))
    let reply = try fixture.ask(get("narrow"))
    expect(reply.accessKeyID, equals: nil)
    expect(reply.errorCode != nil)
  }

  @Test(arguments: [
    "ExpiredToken", "InvalidClientTokenId", "InvalidSubjectCredentials",
    "InsufficientSessionLifetime",
  ])
  func credentialsThatSTSDoesNotTakeAreRenewedOnce(_ name: String) throws {
    let fixture = try fixture()
    _ = try key(fixture, "work")
    fixture.host.upstreams.faults["GetScopedCredentials"] = .init(
      answer: FakeSTS.refusal(403, name, "no"), count: 1)
    expect(policies(of: try key(fixture), fixture)?.count, equals: 1)
    expect(calls("GetCredentialsForIdentity", fixture), equals: 2)
    expect(calls("GetScopedCredentials", fixture), equals: 2)
    fixture.host.upstreams.faults["GetScopedCredentials"] = .init(
      answer: FakeSTS.refusal(403, name, "no"))
    fixture.advance(by: .seconds(60))
    let reply = try fixture.ask(get("narrow", #","refresh":true,"wait":3"#))
    expect(reply.errorCode, equals: "PoolMisconfigured", "\(reply)")
    expect(calls("GetScopedCredentials", fixture), equals: 4)
  }

  /// Older sessions of the role may have been revoked.
  @Test func afterAccessDeniedOldCredentialsOfTheSourceAreRenewedOnce() throws {
    let fixture = try fixture()
    let denied = FakeUpstreams.Fault(
      answer: FakeSTS.refusal(403, "AccessDenied", "no"), count: 1)
    _ = try key(fixture, "work")
    fixture.host.upstreams.faults["GetScopedCredentials"] = denied
    expect(try fixture.ask(get("narrow")).errorCode, equals: "PoolMisconfigured")
    expect(calls("GetCredentialsForIdentity", fixture), equals: 1)
    fixture.advance(by: .seconds(400))
    fixture.host.upstreams.faults["GetScopedCredentials"] = denied
    expect(policies(of: try key(fixture), fixture)?.count, equals: 1)
    expect(calls("GetCredentialsForIdentity", fixture), equals: 2)
  }

  @Test func whileAccessDeniedLastsTheSourceIsNotRenewedForItAgain() throws {
    let fixture = try fixture()
    _ = try key(fixture, "work")
    fixture.advance(by: .seconds(120))
    fixture.host.upstreams.faults["GetScopedCredentials"] = .init(
      answer: FakeSTS.refusal(403, "AccessDenied", "no"))
    for _ in 0..<3 {
      expect(try fixture.ask(get("narrow")).errorCode, equals: "PoolMisconfigured")
      fixture.advance(by: .seconds(400))
    }
    expect(calls("GetCredentialsForIdentity", fixture), equals: 2)
    expect(calls("GetScopedCredentials", fixture), equals: 4)
  }

  @Test func aSignatureWithTheWrongTimeIsMadeOnceMoreBySTSsClock() throws {
    let fixture = try fixture()
    fixture.host.upstreams.dateSkew = .seconds(1200)
    let time = FakeUpstreams.httpDate(fixture.host.clock.wallTime + .seconds(1200))
    fixture.host.upstreams.faults["GetScopedCredentials"] = .status(
      403,
      "<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code>"
        + "<Message>Signature expired: 1 is now earlier than 2</Message></Error></ErrorResponse>",
      headers: [("Date", time)], count: 1)
    expect(policies(of: try key(fixture), fixture)?.count, equals: 1)
    expect(calls("GetScopedCredentials", fixture), equals: 2)
  }

  @Test(arguments: ["a/b", "a:b", "a\u{7}b", "\u{100}"])
  func aUserWhoseNameDoesNotFitIsRefused(_ name: String) throws {
    let fixture = try fixture()
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: name)
    let reply = try fixture.ask(get("narrow"))
    expect(reply.errorCode, equals: "AccessDenied", "\(reply)")
    expect(reply.errorMessage?.contains("readonly.json") ?? false, "\(reply)")
    expect(!(reply.errorMessage?.contains(name) ?? false))
    expect(calls("GetScopedCredentials", fixture), equals: 0)
  }

  @Test(arguments: ["*", "${x}", "a\"b", "a?b"])
  func aNameStandsForItselfInThePolicy(_ name: String) throws {
    let fixture = try fixture()
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: name)
    let sent = try #require(policies(of: try key(fixture), fixture)?.first)
    let resource = try JSONValue.parse(Array(sent.utf8))["Statement"]?[0]?["Resource"]?.text
    let escaped = name.map { "*?$".contains($0) ? "${\($0)}" : "\($0)" }.joined()
    expect(resource, equals: "arn:aws:s3:::b/\(escaped)/*")
  }

  @Test func theSourcesTroubleIsTold() throws {
    let fixture = try fixture()
    fixture.host.upstreams.faults["token"] = .status(500)
    let reply = try fixture.ask(get("narrow"))
    expect(reply.errorCode, equals: "BackendUnavailable", "\(reply)")
    expect(reply.errorMessage?.contains("backend 'corp'") ?? false, "\(reply)")
    fixture.host.upstreams.faults["token"] = nil
    fixture.advance(by: .seconds(6))
    expect(policies(of: try key(fixture), fixture)?.count, equals: 1)
  }
}
