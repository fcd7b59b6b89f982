import CredCore
import Logging
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Sessions that are renewed though nobody asks.
struct KeptSessionTests {
  private static let exchange = "GetCredentialsForIdentity"

  private static func text(_ value: String, _ keys: String = "", daemon: String = "") -> String {
    Configured.usual(profile: "keep_warm = \(value)\n\(keys)", daemon: daemon)
  }

  private func advance(_ fixture: ServiceFixture, minutes: Int) {
    for _ in 0..<minutes { fixture.advance(by: .seconds(60)) }
  }

  private func exchanges(_ fixture: ServiceFixture) -> Int {
    fixture.host.upstreams.calls(Self.exchange)
  }

  /// Whether the next caller is served at once, with what lasts.
  private func servesAtOnce(_ fixture: ServiceFixture, uid: UInt32 = 1000) throws -> Bool {
    fixture.host.upstreams.delays[Self.exchange] = .seconds(3)
    fixture.host.upstreams.delays["token"] = .seconds(3)
    defer { fixture.host.upstreams.delays = [:] }
    let before = fixture.now
    let reply = try fixture.ask(uid: uid)
    return reply.accessKeyID != nil && fixture.now - before < .seconds(1)
  }

  @Test func everySessionThatThereIsIsRenewed() throws {
    let fixture = try ServiceFixture(Self.text("yes"))
    expect(try fixture.ask().accessKeyID != nil)
    advance(fixture, minutes: 240)
    // Every half hour, more or less, and nothing more.
    expect((7...11).contains(exchanges(fixture)), "\(exchanges(fixture))")
    expect(try servesAtOnce(fixture))
    expect(fixture.service.sessions.count, equals: 1)
  }

  @Test func withoutTheKeyNothingIsRenewedThatNobodyUses() throws {
    let fixture = try ServiceFixture(Self.text("no"))
    expect(try fixture.ask().accessKeyID != nil)
    advance(fixture, minutes: 240)
    expect(exchanges(fixture) <= 2)
    expect(try !servesAtOnce(fixture))
  }

  @Test func namedUsersHaveCredentialsBeforeTheyAsk() throws {
    let fixture = try ServiceFixture(Self.text("alice 1001"))
    fixture.advance(by: .seconds(5))
    expect(exchanges(fixture), equals: 2)
    for uid in [1000, 1001] as [UInt32] { expect(try servesAtOnce(fixture, uid: uid)) }
    // Others have theirs when they ask.
    expect(fixture.service.sessions.count, equals: 2)
    expect(try fixture.ask(uid: 0).accessKeyID != nil)
  }

  @Test func aNamedUserWhoComesLaterIsFound() throws {
    let fixture = try ServiceFixture(Self.text("carol"))
    fixture.advance(by: .seconds(1))
    expect(fixture.host.log.entries.contains { $0["user"] == "carol" && $0.level == .warning })
    fixture.host.queries.users[1002] = UserEntry(uid: 1002, name: "carol")
    advance(fixture, minutes: 3)
    expect(try servesAtOnce(fixture, uid: 1002))
  }

  @Test func aReloadThatNamesAUserMakesTheSession() throws {
    let fixture = try ServiceFixture(Self.text("no"))
    try fixture.reload(Self.text("bob"))
    fixture.advance(by: .seconds(5))
    expect(try servesAtOnce(fixture, uid: 1001))
  }

  @Test func whoSignedOutIsNotSignedInAgain() throws {
    let fixture = try ServiceFixture(Self.text("alice"))
    fixture.advance(by: .seconds(5))
    _ = try fixture.ask(#"{"op":"logout"}"#)
    let calls = fixture.host.upstreams.calls("token")
    advance(fixture, minutes: 120)
    try fixture.restart(Self.text("alice"))
    advance(fixture, minutes: 120)
    expect(fixture.host.upstreams.calls("token"), equals: calls)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
  }

  @Test(arguments: ["yes", "alice"])
  func accessIsDecidedAnewBeforeEachRenewal(_ value: String) throws {
    let fixture = try ServiceFixture(Self.text(value, "allow_groups = developers"))
    fixture.host.queries.setGroups([500], of: 1000)
    let client = fixture.connect(groups: [500])
    expect(try client.ask("{}").accessKeyID != nil)
    client.leave()
    advance(fixture, minutes: 60)
    let calls = exchanges(fixture)
    expect(calls > 1)
    fixture.host.queries.setGroups([], of: 1000)
    advance(fixture, minutes: 240)
    // One may have begun before.
    expect(exchanges(fixture) <= calls + 1)
  }

  @Test func theNextOwnerOfAUidIsNotRenewedInTheFormersName() throws {
    let fixture = try ServiceFixture(Self.text("yes"))
    expect(try fixture.ask().accessKeyID != nil)
    fixture.host.queries.users[1000] = nil
    advance(fixture, minutes: 240)
    let calls = exchanges(fixture)
    expect(calls <= 2)
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "mallory")
    advance(fixture, minutes: 240)
    expect(exchanges(fixture), equals: calls)
  }

  @Test func aRenewalIsNoUse() throws {
    let fixture = try ServiceFixture(Self.text("yes", "forget_after = 2d"))
    expect(try fixture.ask().accessKeyID != nil)
    advance(fixture, minutes: 4 * 24 * 60)
    expect(fixture.service.sessions.isEmpty)
    let calls = exchanges(fixture)
    advance(fixture, minutes: 120)
    expect(exchanges(fixture), equals: calls)
  }

  @Test func aFailedRenewalIsTriedAgainBeforeTheCredentialsEnd() throws {
    let fixture = try ServiceFixture(Self.text("yes"))
    expect(try fixture.ask().accessKeyID != nil)
    fixture.host.upstreams.faults[Self.exchange] = .status(500, count: 3)
    advance(fixture, minutes: 100)
    expect(try servesAtOnce(fixture))
  }

  @Test func whatLastsAMomentIsNotRenewedAllTheTime() throws {
    let fixture = try ServiceFixture(Self.text("yes"))
    fixture.host.upstreams.credentialLifetime = .seconds(1)
    expect(try fixture.ask().accessKeyID != nil)
    let calls = exchanges(fixture)
    advance(fixture, minutes: 10)
    expect((30...61).contains(exchanges(fixture) - calls), "\(exchanges(fixture) - calls)")
    // Once they last longer, nobody waits.
    fixture.host.upstreams.credentialLifetime = .seconds(3600)
    fixture.advance(by: .seconds(15))
    expect(try servesAtOnce(fixture))
  }

  @Test func whileTheUserDatabaseIsAwayKnownUsersAreRenewed() throws {
    let fixture = try ServiceFixture(Self.text("yes"))
    expect(try fixture.ask().accessKeyID != nil)
    fixture.host.queries.isUnavailable = true
    advance(fixture, minutes: 25)
    fixture.host.queries.isUnavailable = false
    advance(fixture, minutes: 60)
    expect(try servesAtOnce(fixture))
  }

  /// After a long stop everything is due at once.
  @Test func atTheStartSessionsAreRenewedAtTheUpstreamsRate() throws {
    let users = 2000..<2100 as Range<UInt32>
    let host = FakeHost()
    for uid in users { host.queries.users[uid] = UserEntry(uid: uid, name: "user\(uid)") }
    let text = Self.text(
      "yes", daemon: "get_credentials_rate_limit = 5/s")
    let fixture = try ServiceFixture(text, host: host)
    for uid in users { expect(try fixture.ask(uid: uid).accessKeyID != nil) }
    fixture.host.clock.disarmAll()
    fixture.advance(by: .seconds(7200))
    try fixture.restart(text)
    let before = exchanges(fixture)
    var most = 0
    for _ in 0..<60 {
      let calls = exchanges(fixture)
      fixture.advance(by: .seconds(1))
      most = max(most, exchanges(fixture) - calls)
    }
    expect(most <= 12, "in one second")
    expect(exchanges(fixture) - before >= 100)
    for uid in users { expect(try servesAtOnce(fixture, uid: uid)) }
  }
}
