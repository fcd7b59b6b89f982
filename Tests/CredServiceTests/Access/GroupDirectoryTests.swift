import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Groups of the configuration for which the user database does not answer: that is not "no such
/// group".
struct GroupDirectoryTests {
  private static let text = Configured.usual(profile: "allow_groups = mail")

  private func fixture(unavailable: Set<String> = []) throws -> ServiceFixture {
    let host = FakeHost()
    host.queries.unavailableGroups = unavailable
    host.queries.setGroups([8], of: 1000)
    return try ServiceFixture(Self.text, host: host)
  }

  @Test func `a group for which the database did not answer is looked up again`() throws {
    let fixture = try fixture(unavailable: ["mail"])
    let client = fixture.connect(groups: [8])
    expect(try client.ask("{}").errorCode, equals: "AccessDenied")
    let watcher = fixture.connect(groups: [8])
    fixture.host.queries.unavailableGroups = []
    fixture.advance(by: GroupDirectory.firstPause)
    expect(try client.ask("{}").accessKeyID != nil)
    expect(try watcher.ask(#"{"op":"watch","profile":"default"}"#).state, equals: "signedIn")
    // It is known now.
    let asked = fixture.host.queries.askedGroups.count
    fixture.advance(by: .seconds(3600))
    expect(fixture.host.queries.askedGroups.count, equals: asked)
  }

  @Test func `a group that does not exist is not looked up again`() throws {
    let host = FakeHost()
    host.queries.groups = [:]
    let fixture = try ServiceFixture(Self.text, host: host)
    fixture.advance(by: .seconds(3600))
    expect(host.queries.askedGroups, equals: ["mail"])
    expect(try fixture.connect(groups: [8]).ask("{}").errorCode, equals: "AccessDenied")
  }

  @Test func `the pauses between look-ups grow to five minutes`() throws {
    let fixture = try fixture(unavailable: ["mail"])
    fixture.advance(by: .seconds(315))
    expect(fixture.host.queries.askedGroups.count, equals: 7)
    fixture.advance(by: .seconds(3000))
    expect(fixture.host.queries.askedGroups.count, equals: 17)
    // That there is no such group ends it.
    fixture.host.queries.unavailableGroups = []
    fixture.host.queries.groups = [:]
    fixture.advance(by: .seconds(300))
    expect(fixture.host.queries.askedGroups.count, equals: 18)
    fixture.advance(by: .seconds(3600))
    expect(fixture.host.queries.askedGroups.count, equals: 18)
    expect(
      fixture.host.log.messages.contains { $0.hasPrefix("the host has no group of that name") })
  }

  @Test func `a look-up that hangs is not joined by a second one, and its answer counts`() throws {
    let fixture = try fixture(unavailable: ["mail"])
    fixture.host.background.time[.users] = .some(nil)
    fixture.advance(by: .seconds(3600))
    expect(fixture.host.background.asked[.users], equals: 1)
    fixture.host.queries.unavailableGroups = []
    fixture.host.background.time[.users] = .zero
    fixture.host.background.release(.users)
    fixture.host.settle()
    expect(try fixture.connect(groups: [8]).ask("{}").accessKeyID != nil)
  }

  @Test func `a database that fails during a reload ends no right`() throws {
    let fixture = try fixture()
    let (client, watcher) = (fixture.connect(groups: [8]), fixture.connect(groups: [8]))
    expect(try client.ask("{}").accessKeyID != nil)
    expect(try watcher.ask(#"{"op":"watch","profile":"default"}"#).state, equals: "signedIn")
    fixture.host.queries.unavailableGroups = ["mail"]
    try fixture.reload(Self.text)
    expect(try client.ask("{}").accessKeyID != nil)
    expect(watcher.client?.watch != nil)
    // Once it answers, its word counts: the group is another one now.
    fixture.host.queries.unavailableGroups = []
    fixture.host.queries.groups["mail"] = 9
    fixture.advance(by: GroupDirectory.firstPause)
    expect(try client.ask("{}").errorCode, equals: "AccessDenied")
    expect(watcher.client?.watch == nil)
  }

  @Test func `the admin group is looked up again`() throws {
    let host = FakeHost()
    host.queries.unavailableGroups = ["adm"]
    let fixture = try ServiceFixture(Configured.usual(daemon: "admin_group = adm"), host: host)
    let admin = fixture.connect(uid: 1001, groups: [4])
    expect(try admin.ask(#"{"op":"status","all":true}"#).errorCode, equals: "AccessDenied")
    host.queries.unavailableGroups = []
    fixture.advance(by: GroupDirectory.firstPause)
    expect(try admin.ask(#"{"op":"status","all":true}"#).errorCode == nil)
  }

  @Test func `a number is a group's id, even if a group has it for a name`() throws {
    let host = FakeHost()
    host.queries.groups = ["4": 9]
    let fixture = try ServiceFixture(
      Configured.usual(profile: "allow_groups = 4", daemon: "admin_group = 4"), host: host)
    for uid in [1000, 1001] as [UInt32] { host.queries.setGroups([4, 9], of: uid) }
    let line = #"{"op":"status","all":true}"#
    expect(try fixture.connect(uid: 1001, groups: [4]).ask(line).errorCode == nil)
    expect(try fixture.connect(groups: [4]).ask("{}").accessKeyID != nil)
    expect(try fixture.connect(uid: 1001, groups: [9]).ask(line).errorCode, equals: "AccessDenied")
    expect(try fixture.connect(groups: [9]).ask("{}").errorCode, equals: "AccessDenied")
    // The user database is not asked for it.
    expect(host.queries.askedGroups.isEmpty)
  }

  @Test func `a reload that names no such group ends the look-ups`() throws {
    let fixture = try fixture(unavailable: ["mail"])
    try fixture.reload(Configured.usual())
    let asked = fixture.host.queries.askedGroups.count
    fixture.advance(by: .seconds(3600))
    expect(fixture.host.queries.askedGroups.count, equals: asked)
  }
}
