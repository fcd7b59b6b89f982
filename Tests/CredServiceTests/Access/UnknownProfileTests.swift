import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What is said of a profile that does not exist, and to whom.
struct UnknownProfileTests {
  private static let names = (1000..<1100).map { "team-\($0)" }

  private static func text(_ keys: (Int) -> String = { _ in "" }) -> String {
    Configured.http()
      + names.enumerated().map { Configured.profile($1, keys($0)) }.joined()
  }

  private func message(_ fixture: ServiceFixture, _ name: String) throws -> String? {
    try fixture.ask(#"{"profile":"\#(name)","wait":0}"#).errorMessage
  }

  @Test func aMisspeltNameAmongManyIsCorrected() throws {
    let fixture = try ServiceFixture(Self.text())
    expect(
      try message(fixture, "taem-1042"),
      equals: "there is no profile 'taem-1042'; did you mean 'team-1042'?")
    expect(
      try message(fixture, "nothing"),
      equals: "there is no profile 'nothing'; known are "
        + Self.names.prefix(10).joined(separator: ", "))
    try fixture.reload(Configured.usual())
    expect(
      try message(fixture, "defualt"),
      equals: "there is no profile 'defualt'; did you mean 'default'?")
  }

  /// Profiles of one rule are tried once, and a caller for whom too many are to be tried is told as
  /// little as one who may not use them.
  @Test func aRuleIsTriedOnceHoweverManyProfilesHaveIt() throws {
    let fixture = try ServiceFixture(Self.text { "allow_users = alice user\($0 % 3)" })
    expect(fixture.service.configuration.restrictions.count, equals: 3)
    expect(
      try message(fixture, "team-104"),
      equals: "there is no profile 'team-104'; did you mean 'team-1040'?")
    let stranger = try fixture.ask(#"{"profile":"team-104","wait":0}"#, uid: 1001)
    expect(stranger.errorMessage, equals: "profile 'team-104' is not available to 'bob'")
  }

  @Test func whoMayUseTooManyRulesToTryIsToldNoNames() throws {
    let many = (0..<257).map { number in
      Configured.profile("p\(number)", "allow_users = alice user\(number)")
    }
    let fixture = try ServiceFixture(Configured.http() + many.joined())
    let reply = try fixture.ask(#"{"profile":"q1","wait":0}"#)
    expect(reply.errorCode, equals: "AccessDenied")
    // Root can read them in the configuration.
    let root = try fixture.ask(#"{"profile":"q1","wait":0}"#, uid: 0)
    expect(root.errorCode, equals: "UnknownProfile")
    expect(
      root.errorMessage?.hasPrefix("there is no profile 'q1'; ") == true, "\(root.text)")
    try fixture.reload(Configured.http() + many.dropLast().joined())
    expect(try fixture.ask(#"{"profile":"q1","wait":0}"#).errorCode, equals: "UnknownProfile")
  }

  /// A user who may not use every profile is told of the nearest of their own, in the same words whether
  /// or not the name is another's profile.
  @Test(arguments: [true, false])
  func whoMayUseSomeIsToldOfTheirOwn(_ exists: Bool) throws {
    var text =
      Configured.http() + Configured.profile("work", "allow_users = alice")
      + Configured.profile("payroll", "allow_users = bob")
    if exists {
      text += Configured.profile("wrok", "allow_users = bob")
      text += Configured.profile("payrol", "allow_groups = mail")
    }
    let fixture = try ServiceFixture(text)
    expect(
      try message(fixture, "wrok"),
      equals: "profile 'wrok' is not available to 'alice'; did you mean 'work'?")
    // Another's profile is not told of.
    expect(
      try message(fixture, "payrol"), equals: "profile 'payrol' is not available to 'alice'")
  }

  /// Root can read the configuration, also where the profiles are not open to it.
  @Test func rootIsToldOfAMisspeltName() throws {
    let fixture = try ServiceFixture(Self.text { _ in "allow_users = alice" })
    let unknown = try fixture.ask(#"{"profile":"team-104","wait":0}"#, uid: 0)
    expect(
      unknown.errorMessage, equals: "there is no profile 'team-104'; did you mean 'team-1040'?")
    let closed = try fixture.ask(#"{"profile":"team-1040","wait":0}"#, uid: 0)
    expect(closed.errorMessage?.contains(" is not open to root: ") == true, "\(closed.text)")
  }

  /// Its answer is the same for a profile that is forbidden.
  @Test func noNameIsLookedForAtTheEndpoint() throws {
    let fixture = try ServiceFixture(Self.text())
    let client = EndpointClient(fixture)
    let known = fixture.connect()
    let owner = TokenOwner.user(1000)
    let token = try EndpointLock.token(owner, for: "taem-1042")
    expect(try client.ask("taem-1042", token).status, equals: 403)
    let http = try #require(fixture.service.clients.inOrder.first { $0.http != nil })
    let line = try #require(known.client)
    func refusal(_ client: Client) -> String? {
      let requester = Requester(client: client, purpose: nil)
      let decision = fixture.service.owners.admittance.decide(
        "taem-1042", for: requester, fixture.now)
      guard case .refused(let error) = decision else { return nil }
      return error.message
    }
    expect(refusal(http), equals: "there is no profile 'taem-1042'")
    expect(
      refusal(line), equals: "there is no profile 'taem-1042'; did you mean 'team-1042'?")
  }
}
