import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Memberships that change while connections live: the kernel goes on saying that the process has the
/// group, as it does until a logout.
struct MembershipTests {
  private func fixture() throws -> ServiceFixture {
    let text =
      Configured.http() + Configured.profile("default", identifier: "{user}", "allow_groups = mail")
        + """
        [backend people]
        type = http
        url = http://127.0.0.1/token
        login_url = http://127.0.0.1/login

        """
      + Configured.profile("personal", identifier: "{user}", "allow_groups = mail")
      .replacing("= corp", with: "= people")
    let fixture = try ServiceFixture(text)
    fixture.host.queries.setGroups([8], of: 1000)
    return fixture
  }

  /// A client that asks once a second hears of it, and so do one that watches and one that waits.
  @Test func `a membership that is withdrawn ends within a minute on connections that live`() throws
  {
    let fixture = try fixture()
    let (asking, watching, waiting) = (
      fixture.connect(groups: [8]), fixture.connect(groups: [8]), fixture.connect(groups: [8])
    )
    expect(try watching.ask(#"{"op":"watch","profile":"default"}"#)["Event"]?.text, equals: "state")
    waiting.send(#"{"profile":"personal","wait":300}"#)
    expect(try asking.ask("{}").accessKeyID != nil)
    fixture.host.queries.setGroups([], of: 1000)
    let withdrawn = fixture.now
    var served = 0
    while try asking.ask("{}").errorCode == nil, served < 100 {
      served += 1
      fixture.advance(by: .seconds(1))
    }
    expect(asking.replies.last?.errorCode, equals: "AccessDenied")
    expect((40...61).contains(served))
    expect(fixture.now - withdrawn <= .seconds(62))
    fixture.advance(by: .seconds(15))
    for client in [watching, waiting] {
      expect(client.replies.last?.errorCode, equals: "AccessDenied")
      expect(!client.isWaiting)
    }
    expect(watching.client?.watch == nil)
  }

  @Test func `a process without the group is refused, whatever the database says of its user`()
    throws
  {
    let fixture = try fixture()
    let reply = try fixture.ask()
    expect(reply.errorCode, equals: "AccessDenied")
    expect(
      reply.errorMessage,
      equals:
        "'alice' is in a group that may use profile 'default', but this process began before that: "
        + "log in to this host again")
    expect(
      fixture.host.log.entries.contains { $0["reason"]?.contains("must log in again") ?? false })
    expect(try fixture.connect(groups: [8]).ask("{}").accessKeyID != nil)
  }

  @Test func `who is in no such group is not told to log in again`() throws {
    let fixture = try fixture()
    fixture.host.queries.setGroups([9], of: 1000)
    expect(
      try fixture.ask().errorMessage, equals: "profile 'default' is not available to 'alice'")
  }

  /// Groups that the database never listed may come from elsewhere, such as pam_group.
  @Test func `a group that the database never listed counts`() throws {
    let fixture = try fixture()
    fixture.host.queries.setGroups([], of: 1000)
    let client = fixture.connect(groups: [8])
    expect(try client.ask("{}").accessKeyID != nil)
    fixture.advance(by: .seconds(600))
    expect(try client.ask("{}").accessKeyID != nil)
  }

  @Test func `a database that is unavailable withdraws nothing`() throws {
    let fixture = try fixture()
    let client = fixture.connect(groups: [8])
    expect(try client.ask("{}").accessKeyID != nil)
    fixture.host.queries.isUnavailable = true
    for _ in 0..<20 {
      fixture.advance(by: .seconds(61))
      expect(try client.ask("{}").accessKeyID != nil)
    }
    fixture.host.queries.isUnavailable = false
    fixture.host.queries.setGroups([], of: 1000)
    fixture.advance(by: .seconds(61))
    _ = try client.ask("{}")
    fixture.advance(by: UserDirectory.missingFor)
    expect(try client.ask("{}").errorCode, equals: "AccessDenied")
  }

  /// A daemon behind the database restarts, and no error says so.
  @Test func `a list of groups that is shorter for a moment ends nothing`() throws {
    let fixture = try fixture()
    let (asking, watching) = (fixture.connect(groups: [8]), fixture.connect(groups: [8]))
    expect(try watching.ask(#"{"op":"watch","profile":"default"}"#)["Event"]?.text, equals: "state")
    expect(try asking.ask("{}").accessKeyID != nil)
    var shorter = 0
    for second in 0..<300 {
      // Four seconds of every thirteen: some look-ups meet them.
      let isShorter = second % 13 < 4
      let asked = fixture.host.queries.asked.count
      fixture.host.queries.unlistedGroups = isShorter ? [8] : []
      fixture.advance(by: .seconds(1))
      expect(try asking.ask("{}").accessKeyID != nil, "second \(second)")
      if isShorter { shorter += fixture.host.queries.asked.count - asked }
    }
    expect(shorter > 0)
    expect(watching.client?.watch != nil)
  }

  @Test func `a list that is shorter for a moment ends no right to act for its user`() throws {
    let text =
      Configured.http()
      + Configured.profile(
        "default", identifier: "{user}", "allow_groups = mail\nimpersonate = bob")
    let fixture = try ServiceFixture(text)
    fixture.host.queries.setGroups([8], of: 1000)
    let bob = fixture.connect(uid: 1001)
    expect(try bob.ask(#"{"user":"alice"}"#).accessKeyID != nil)
    fixture.host.queries.unlistedGroups = [8]
    fixture.advance(by: .seconds(61))
    expect(try bob.ask(#"{"user":"alice"}"#).accessKeyID != nil)
    fixture.advance(by: UserDirectory.missingFor)
    expect(try bob.ask(#"{"user":"alice"}"#).errorCode, equals: "AccessDenied")
    // A longer list counts at once.
    fixture.host.queries.unlistedGroups = []
    fixture.advance(by: .seconds(61))
    expect(try bob.ask(#"{"user":"alice"}"#).accessKeyID != nil)
  }

  @Test func `the groups of a uid's former owner never count for the next one`() throws {
    let text =
      Configured.http()
      + Configured.profile(
        "default", identifier: "{user}", "allow_groups = mail\nimpersonate = bob")
    let fixture = try ServiceFixture(text)
    fixture.host.queries.setGroups([8], of: 1000)
    let bob = fixture.connect(uid: 1001)
    expect(try bob.ask(#"{"user":"alice"}"#).accessKeyID != nil)
    // A process that alice left behind.
    let process = fixture.connect(groups: [8])
    expect(try process.ask("{}").accessKeyID != nil)
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    fixture.advance(by: .seconds(61))
    expect(try process.ask("{}").errorCode, equals: "AccessDenied")
    expect(try bob.ask(#"{"user":"carol"}"#).errorCode, equals: "AccessDenied")
    expect(try bob.ask(#"{"user":"1000"}"#).errorCode, equals: "AccessDenied")
  }

  /// A module of the database is away, and no error says so: the rest of the list is shorter.
  @Test func `a group that a part of the database did not list counts when it is listed again`()
    throws
  {
    let fixture = try fixture()
    let client = fixture.connect(groups: [8])
    fixture.host.queries.unlistedGroups = [8]
    // Never listed, it counts as the kernel says.
    expect(try client.ask("{}").accessKeyID != nil)
    fixture.host.queries.unlistedGroups = []
    fixture.advance(by: .seconds(61))
    expect(try client.ask("{}").accessKeyID != nil)
    fixture.host.queries.unlistedGroups = [8]
    for _ in 0..<10 {
      fixture.advance(by: .seconds(61))
      _ = try client.ask("{}")
    }
    fixture.host.queries.unlistedGroups = []
    fixture.advance(by: .seconds(61))
    expect(try client.ask("{}").accessKeyID != nil)
  }

  /// Processes of a user live on when the account is removed, and the kernel says what it always said.
  @Test(arguments: [true, false])
  func aMembershipDoesNotComeBackWhenItsUserIsRemoved(_ isWithdrawnFirst: Bool) throws {
    let text =
      Configured.http() + Configured.profile("first", identifier: "{uid}", "allow_groups = mail")
      + Configured.profile("other", identifier: "{uid}", "allow_groups = mail")
    let fixture = try ServiceFixture(text)
    fixture.host.queries.setGroups([8], of: 1000)
    let client = fixture.connect(groups: [8])
    expect(try client.ask(#"{"profile":"first"}"#).accessKeyID != nil)
    if isWithdrawnFirst {
      fixture.host.queries.setGroups([], of: 1000)
      fixture.advance(by: .seconds(61))
      _ = try client.ask(#"{"profile":"first"}"#)
      fixture.advance(by: UserDirectory.missingFor)
      expect(try client.ask(#"{"profile":"first"}"#).errorCode, equals: "AccessDenied")
    }
    fixture.host.queries.users[1000] = nil
    fixture.advance(by: .seconds(61))
    // The database may have lost the user for a moment.
    if !isWithdrawnFirst { expect(try client.ask(#"{"profile":"other"}"#).accessKeyID != nil) }
    fixture.advance(by: UserDirectory.missingFor)
    expect(try client.ask(#"{"profile":"other"}"#).errorCode, equals: "AccessDenied")
    // A uid that never had a name has the groups that the kernel says.
    expect(
      try fixture.connect(uid: 4000, groups: [8]).ask(#"{"profile":"other"}"#).accessKeyID != nil)
  }

  @Test func `one user whose look-up hangs delays no other user`() throws {
    let fixture = try fixture()
    fixture.host.queries.setGroups([8], of: 1001)
    fixture.host.background.nextTimes[.users] = [nil]
    let (slow, quick) = (fixture.connect(groups: [8]), fixture.connect(uid: 1001, groups: [8]))
    slow.send(#"{"wait":1}"#)
    expect(slow.isWaiting)
    let began = fixture.now
    for _ in 0..<100 { expect(try quick.ask("{}").accessKeyID != nil) }
    // The virtual clock ticks when it is read.
    expect(fixture.now - began < .milliseconds(1))
    fixture.advance(by: .seconds(3))
    // In time, and no refusal: the database may know the user.
    expect(try slow.next().errorCode, equals: "Timeout")
  }

  @Test func `a failure for one user is no other user's, and no refusal`() throws {
    let fixture = try fixture()
    fixture.host.queries.setGroups([8], of: 1001)
    fixture.host.queries.unavailable = [1000]
    expect(try fixture.connect(groups: [8]).ask("{}").errorCode, equals: "Timeout")
    expect(try fixture.connect(uid: 1001, groups: [8]).ask("{}").accessKeyID != nil)
    fixture.host.queries.unavailable = []
    fixture.advance(by: .seconds(6))
    expect(try fixture.connect(groups: [8]).ask("{}").accessKeyID != nil)
  }

  @Test func `a uid with another name is another person`() throws {
    let fixture = try fixture()
    let client = fixture.connect(groups: [8])
    let alice = try client.ask("{}")
    let identity = try client.ask(#"{"op":"identity"}"#)["IdentityId"]
    fixture.host.queries.users[1000]?.name = "carol"
    fixture.advance(by: .seconds(61))
    let carol = try client.ask("{}")
    expect(carol.accessKeyID != nil && carol != alice)
    expect(try client.ask(#"{"op":"identity"}"#)["IdentityId"] != identity)
    expect(
      fixture.host.log.messages.contains {
        $0.hasPrefix("a uid belongs to another user now")
      })
  }

  @Test func `a user without a name cannot use a profile that needs one`() throws {
    let fixture = try ServiceFixture(
      Configured.http() + Configured.profile("default", identifier: "{user}"))
    let refused = try fixture.ask(uid: 4000)
    expect(refused.errorCode, equals: "AccessDenied")
    expect(refused.errorMessage?.contains("no user name") == true)
    // What an administrator can do where a host has uids alone, as a container has.
    expect(refused.errorMessage?.contains("user_identifier = {uid}") == true)
    // That the database does not answer is no reason to say so.
    fixture.host.queries.isUnavailable = true
    let unknown = try fixture.ask(uid: 4001)
    expect(unknown.errorCode, equals: "Timeout")
    expect(unknown["Error"]?["RetryAfter"]?.integer, equals: 5)
  }
}
