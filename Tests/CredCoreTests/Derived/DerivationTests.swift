import TestSupport
import Testing

@testable import CredCore

/// What a derived profile asks of STS, and what it takes from it.
struct DerivationTests {
  private static let role = "arn:aws:iam::210987654321:role/path/reports"
  private static let user = UnixUser(uid: 1000, name: "alice")
  private static let now = WallTime(milliseconds: 1_767_323_045_000)

  private static func credentials(
    _ key: String, endingIn life: Duration, account: String? = nil, session: STSSession? = nil
  ) -> Credentials {
    Credentials(
      accessKeyID: key, secretAccessKey: Secret("s"), sessionToken: Secret("t"),
      expiration: now + life, accountID: account, session: session)
  }

  private static func source(
    _ life: Duration = .seconds(3600), arn: String? = nil, scopes: Int = 0, account: String? = nil
  ) -> SourceCredentials {
    SourceCredentials(
      credentials(
        "ASIASOURCE0000000000", endingIn: life, account: account,
        session: arn.map { STSSession(arn: $0, scopes: scopes) }),
      lifetime: life)
  }

  private static let sts: STS = {
    guard let host = try? AWSHost(.sts, region: "eu-west-1") else { preconditionFailure() }
    return STS(host)
  }()

  private static func sent(_ sessionName: String? = nil) -> DerivedRequest {
    DerivedRequest(
      request: HTTPRequest(method: .post, url: sts.host.url), sessionName: sessionName, policy: nil)
  }

  private static func policy() throws -> SessionPolicy {
    try SessionPolicy(
      Array(
        #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"a:b","Resource":"arn:a:b:::{user}"}}"#
          .utf8))
  }

  private func body(_ derivation: Derivation, _ source: SourceCredentials) throws -> String {
    Samples.body(try derivation.request(from: source, Self.user, host: "web-1").request)
  }

  @Test func aScopeHasThePolicyOfItsUserAndEndsBeforeItsSource() throws {
    let scope = Derivation(
      .scope(description: "nightly"), at: Self.sts, policy: try Self.policy(),
      duration: .seconds(3600))
    let text = try body(scope, Self.source(.seconds(900)))
    expect(text.contains("%22Resource%22%3A%22arn%3Aa%3Ab%3A%3A%3Aalice%22"))
    expect(text.contains("&DurationSeconds=840"))
    expect(text.hasSuffix("&ScopedSessionDescription=nightly"))
    expect(try body(scope, Self.source(.seconds(7200))).contains("&DurationSeconds=3600"))
    let whole = Derivation(.scope(description: nil), at: Self.sts, policy: try Self.policy())
    expect(!(try body(whole, Self.source()).contains("DurationSeconds")))
  }

  @Test func aHopHasItsUsersNames() throws {
    var hop = RoleHop(roleARN: Self.role, sessionName: try Template("{user}@{host}"))
    hop.tags = [NamedTemplate("uid", try Template("{uid}"))]
    hop.transitiveTags = ["uid"]
    hop.externalID = "ext"
    hop.sourceIdentity = .user
    let text = try body(Derivation(.hop(hop), at: Self.sts, duration: .seconds(900)), Self.source())
    for part in [
      "&RoleSessionName=alice%40web-1&", "&DurationSeconds=900", "&Tags.member.1.Key=uid&",
      "&Tags.member.1.Value=1000&", "&TransitiveTagKeys.member.1=uid&", "&ExternalId=ext&",
      "&SourceIdentity=alice",
    ] {
      expect(text.contains(part))
    }
  }

  @Test func aNameThatDoesNotFitAsksForNothing() throws {
    let scope = Derivation(.scope(description: nil), at: Self.sts, policy: try Self.policy())
    let error = #expect(throws: InvalidInput.self) {
      try scope.request(
        from: Self.source(), UnixUser(uid: 1, name: "a/b"), host: "h")
    }
    expect(error?.field, equals: "policy_file")
  }

  @Test(arguments: ["a b", "J\u{F6}rg", "x", String(repeating: "x", count: 257), "a/b"])
  func aNameThatIsNoSourceIdentityAsksForNothing(_ name: String) throws {
    var hop = RoleHop(roleARN: Self.role, sessionName: try Template("{uid}"))
    hop.sourceIdentity = .user
    let error = #expect(throws: InvalidInput.self) {
      try Derivation(.hop(hop), at: Self.sts).request(
        from: Self.source(), UnixUser(uid: 1000, name: name), host: "h")
    }
    expect(error?.field, equals: "source_identity")
    expect(!(error?.description.contains(name) ?? true) || name == "x")
  }

  private static let session = "arn:aws:sts::123456789012:assumed-role/r/CognitoIdentityCredentials"

  private static func reply(
    _ key: String = "ASIANARROW0000000000", endingIn life: Duration = .seconds(3600),
    arn: String = session, scopes: Int? = 1, account: String = "123456789012"
  ) -> SignedReply {
    SignedReply(
      credentials: credentials(key, endingIn: life, account: account), sessionARN: arn,
      scopes: scopes, serverTime: now)
  }

  @Test(
    arguments: [
      (reply(), source(), nil), (reply(endingIn: .seconds(3660)), source(), nil),
      (reply("ASIASOURCE0000000000"), source(), .sameKey),
      (reply(endingIn: .zero), source(), .ended), (reply(scopes: nil), source(), .unscoped),
      (reply(scopes: 0), source(), .unscoped),
      (reply(scopes: 1), source(arn: session, scopes: 1), .unscoped),
      (reply(scopes: 2), source(arn: session, scopes: 1), nil),
      (reply(), source(arn: "arn:aws:sts::123456789012:assumed-role/r/else"), .otherSession),
      (reply(), source(account: "210987654321"), .otherSession),
      (reply(endingIn: .seconds(3661)), source(), .late),
    ] as [(SignedReply, SourceCredentials, DerivedFault?)])
  func aScopeIsNeverWider(
    _ reply: SignedReply, _ source: SourceCredentials, _ fault: DerivedFault?
  ) throws {
    let scope = Derivation(.scope(description: nil), at: Self.sts, policy: try Self.policy())
    expect(scope.fault(in: reply, to: Self.sent(), from: source, now: Self.now), equals: fault)
  }

  /// Cognito names no account beside credentials of the enhanced flow.
  @Test(
    arguments: [
      (nil, nil, nil), ("123456789012", nil, nil), ("210987654321", nil, .otherSession),
      ("123456789012", "arn:aws:iam::210987654321:role/other", .otherSession),
      (nil, "arn:aws:iam::123456789012:role/other", nil),
    ] as [(String?, String?, DerivedFault?)])
  func anotherAccountsKeyIsRefused(
    _ configured: String?, _ role: String?, _ fault: DerivedFault?
  ) throws {
    var scope = Derivation(.scope(description: nil), at: Self.sts, policy: try Self.policy())
    scope.account = configured
    let source = SourceCredentials(
      Self.source().credentials, lifetime: .seconds(3600), role: role)
    expect(
      scope.fault(in: Self.reply(), to: Self.sent(), from: source, now: Self.now), equals: fault)
  }

  @Test func aShorterLifeThatWasAskedForIsNoLongerOne() {
    let shorter = Derivation(.scope(description: nil), at: Self.sts, duration: .seconds(900))
    for (life, fault) in [(Duration.seconds(960), nil), (.seconds(961), .late)]
      as [(Duration, DerivedFault?)]
    {
      let reply = Self.reply(endingIn: life, scopes: 0)
      expect(
        shorter.fault(in: reply, to: Self.sent(), from: Self.source(), now: Self.now),
        equals: fault)
    }
  }

  @Test func withoutAPolicyTheCountMayStay() {
    let shorter = Derivation(.scope(description: nil), at: Self.sts, duration: .seconds(900))
    let source = Self.source(arn: Self.session, scopes: 1)
    for (scopes, fault) in [(1, nil), (0, .unscoped)] as [(Int, DerivedFault?)] {
      expect(
        shorter.fault(
          in: Self.reply(endingIn: .seconds(900), scopes: scopes), to: Self.sent(), from: source,
          now: Self.now),
        equals: fault)
    }
  }

  @Test(
    arguments: [
      ("arn:aws:sts::210987654321:assumed-role/reports/alice", nil),
      ("arn:aws:sts::210987654321:assumed-role/reports/bob", .otherSession),
      ("arn:aws:sts::210987654321:assumed-role/other/alice", .otherSession),
      ("arn:aws:sts::123456789012:assumed-role/reports/alice", .otherSession),
      ("arn:aws-cn:sts::210987654321:assumed-role/reports/alice", .otherSession),
    ] as [(String, DerivedFault?)])
  func aHopIsTheRolesOwn(_ arn: String, _ fault: DerivedFault?) {
    let hop = Derivation(
      .hop(RoleHop(roleARN: Self.role, sessionName: .user)), at: Self.sts)
    let reply = Self.reply(arn: arn, scopes: nil, account: "210987654321")
    expect(
      hop.fault(in: reply, to: Self.sent("alice"), from: Self.source(), now: Self.now),
      equals: fault)
  }

  @Test func aHopMayOutliveItsSourceButNotWhatWasAsked() {
    let arn = "arn:aws:sts::210987654321:assumed-role/reports/alice"
    let hop = Derivation(
      .hop(RoleHop(roleARN: Self.role, sessionName: .user)), at: Self.sts, duration: .seconds(900))
    for (life, fault) in [(Duration.seconds(960), nil), (.seconds(961), .late)]
      as [(Duration, DerivedFault?)]
    {
      expect(
        hop.fault(
          in: Self.reply(endingIn: life, arn: arn, scopes: nil), to: Self.sent("alice"),
          from: Self.source(.seconds(300)), now: Self.now), equals: fault)
    }
  }
}
