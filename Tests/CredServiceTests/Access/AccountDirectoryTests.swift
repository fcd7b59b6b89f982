import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// In whose share a uid counts.
struct AccountDirectoryTests {
  private func account(_ uid: UInt32, _ fixture: ServiceFixture) -> Account? {
    _ = fixture.service.account(of: uid)
    fixture.host.settle()
    _ = fixture.service.account(of: uid)
    fixture.host.settle()
    _ = fixture.service.account(of: uid)
    fixture.host.settle()
    return fixture.service.account(of: uid)
  }

  @Test func `a uid counts for itself, for the owner of its range, or for nobody`() throws {
    let fixture = try ServiceFixture()
    fixture.host.queries.subordinates = "alice:100000:10\ncontainers:200000:10\n1001:300000:10\n"
    expect(account(1000, fixture), equals: .user(1000))
    expect(account(100_003, fixture), equals: .user(1000))
    expect(account(200_003, fixture), equals: .range(200_000))
    expect(account(300_003, fixture), equals: .user(1001))
    expect(account(400_000, fixture), equals: .ownerless)
    expect(fixture.service.base.accounts.number(of: 100_003), equals: 1000)
  }

  @Test func `a uid that the system has named counts as one without a name`() throws {
    let fixture = try ServiceFixture()
    fixture.host.queries.subordinates = "alice:100000:10\n"
    for (uid, name) in [(UInt32(100_003), "vu-web-33"), (600_000, "ns-build-0")] {
      fixture.host.queries.users[uid] = UserEntry(uid: uid, name: name)
    }
    expect(account(100_003, fixture), equals: .user(1000))
    expect(account(600_000, fixture), equals: .ownerless)
    expect(fixture.service.base.accounts.number(of: 600_000), equals: Account.ownerless.number)
    // Nor does its session count as a person's.
    _ = try fixture.ask("{}", uid: 600_000)
    let session = fixture.service.sessions[SessionKey(uid: 600_000, profile: "default")]
    expect(session?.registration.share, equals: .ownerless)
  }

  @Test func `uids of root's ranges do not count for root`() throws {
    let fixture = try ServiceFixture()
    fixture.host.queries.users[0] = UserEntry(uid: 0, name: "root")
    fixture.host.queries.subordinates = "root:1000000:1000\n0:2000000:1000\n"
    expect(account(1_000_003, fixture), equals: .range(1_000_000))
    expect(account(2_000_003, fixture), equals: .range(2_000_000))
  }

  @Test func `connections start a part of all look-ups, and the others when there is room`() throws
  {
    let fixture = try ServiceFixture()
    let uids = UInt32(100_000)..<102_000
    fixture.host.queries.subordinates = "alice:100000:5000"
    fixture.host.background.time[.users] = .milliseconds(10)
    fixture.service.accountKnown = { [service = fixture.service] in _ = service.account(of: $0) }
    for uid in uids { _ = fixture.service.account(of: uid) }
    expect(fixture.service.base.directory.lookUpsUnderWay, equals: AccountDirectory.lookUpsHeld)
    // Nobody knows whose it is, until it is looked up.
    expect(fixture.service.account(of: 101_999), equals: .ownerless)
    fixture.advance(by: .seconds(10))
    for uid in uids { expect(fixture.service.account(of: uid), equals: .user(1000)) }
  }

  /// One owner must not use up the share of another.
  @Test func `a uid in the ranges of several owners is nobody's`() throws {
    let fixture = try ServiceFixture()
    fixture.host.queries.subordinates = "alice:100000:10\n1000:100000:10\nbob:100005:1\n"
    // The file may name one owner twice, by name and by number.
    expect(account(100_003, fixture), equals: .user(1000))
    expect(account(100_005, fixture), equals: .ownerless)
  }

  @Test func `until a uid is looked up it has no account, and counts for nobody`() throws {
    let fixture = try ServiceFixture()
    fixture.host.queries.subordinates = "alice:100000:10"
    var found: [UInt32] = []
    fixture.service.accountKnown = { found.append($0) }
    expect(fixture.service.account(of: 100_000) == nil)
    expect(fixture.service.base.accounts.number(of: 100_000), equals: Account.ownerless.number)
    fixture.host.settle()
    expect(found.contains(100_000))
    expect(account(100_000, fixture), equals: .user(1000))
  }

  @Test func `a host without the file has no owners`() throws {
    let fixture = try ServiceFixture()
    expect(account(100_000, fixture), equals: .ownerless)
  }

  @Test func `the file is read once, and again when it is another one`() throws {
    let fixture = try ServiceFixture()
    let queries = fixture.host.queries
    queries.subordinates = "alice:100000:10"
    for uid in UInt32(100_000)..<100_010 { expect(account(uid, fixture), equals: .user(1000)) }
    expect(queries.subordinateReads, equals: 1)
    fixture.advance(by: .seconds(20))
    expect(account(100_000, fixture), equals: .user(1000))
    expect(queries.subordinateReads, equals: 1)
    queries.subordinates = "bob:100000:10"
    fixture.advance(by: .seconds(20))
    expect(account(100_000, fixture), equals: .user(1001))
    expect(queries.subordinateReads, equals: 2)
  }

  @Test func `a file that cannot be read, or a wrong line, is said once`() throws {
    let fixture = try ServiceFixture()
    let queries = fixture.host.queries
    let entries = {
      fixture.host.log.entries.filter { $0.message.hasPrefix("/etc/subuid") }
    }
    queries.subordinates = "nonsense\nalice:100000:10"
    expect(account(100_000, fixture), equals: .user(1000))
    expect(entries().count, equals: 1)
    expect(entries().first?["reason"]?.contains("line 1") == true)
    queries.areSubordinatesUnreadable = true
    for _ in 0..<3 {
      fixture.advance(by: .seconds(20))
      // What was read before goes on counting.
      expect(account(100_000, fixture), equals: .user(1000))
    }
    expect(entries().count, equals: 2)
  }

  @Test func `a file that hangs holds nobody up`() throws {
    let fixture = try ServiceFixture()
    fixture.host.background.time[.configuration] = .some(nil)
    fixture.host.queries.subordinates = "alice:100000:10"
    expect(try fixture.ask(uid: 100_000).accessKeyID != nil)
    fixture.advance(by: .seconds(3))
    expect(account(100_000, fixture), equals: .ownerless)
  }
}
