import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Clients that watch or wait ask nothing more; their access is checked again all the same.
struct GrantTests {
  private func fixture(_ keys: String = "allow_groups = mail") throws -> ServiceFixture {
    let fixture = try ServiceFixture(Configured.usual(profile: keys))
    fixture.host.upstreams.faults["token"] = .hang
    fixture.host.queries.setGroups([8], of: 1000)
    return fixture
  }

  /// Makes the database known to the service.
  private func lookUp(_ fixture: ServiceFixture) throws {
    let client = fixture.connect(groups: [8])
    expect(try client.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
  }

  @Test func `a withdrawn membership ends the watch and the wait of its user`() throws {
    // Requests wait for a sign-in.
    let fixture = try ServiceFixture(Configured.password(profile: "allow_groups = mail"))
    fixture.host.queries.setGroups([8], of: 1000)
    try lookUp(fixture)
    let start = fixture.now
    let (watcher, waiter) = (fixture.connect(groups: [8]), fixture.connect(groups: [8]))
    expect(
      try watcher.ask(#"{"op":"watch","profile":"default","id":7}"#)["Event"]?.text, equals: "state"
    )
    waiter.send(#"{"wait":300,"id":8}"#)
    waiter.send("{}")
    expect(fixture.service.sessions.values.map(\.machine.waiterCount), equals: [1])
    // Withdrawn, and nothing was looked up yet.
    fixture.host.queries.setGroups([], of: 1000)
    fixture.advance(by: .seconds(59))
    expect(fixture.service.owners.grants.nextCheck, equals: start + .seconds(60))
    expect(waiter.hasReadAll && watcher.hasReadAll)
    fixture.advance(by: .seconds(1))
    for (client, id) in [(watcher, 7), (waiter, 8)] {
      let reply = try client.next()
      expect(reply.errorCode == "AccessDenied" && reply["Id"]?.integer == Int64(id), "\(reply)")
    }
    // The next request of the same connection is refused too.
    expect(try waiter.next().errorCode, equals: "AccessDenied")
    expect(fixture.service.sessions.values.map(\.machine.waiterCount), equals: [0])
    expect(fixture.service.owners.watches.byUser.isEmpty)
    expect(fixture.service.owners.grants.nextCheck, equals: .distantFuture)
  }

  @Test func `a member goes on, and is checked a minute later`() throws {
    let fixture = try fixture()
    try lookUp(fixture)
    let watcher = fixture.connect(groups: [8])
    expect(try watcher.ask(#"{"op":"watch","profile":"default"}"#)["Event"]?.text, equals: "state")
    // Another request renews what is known of the user after 45 s.
    fixture.advance(by: .seconds(50))
    try lookUp(fixture)
    let renewed = fixture.now
    fixture.advance(by: .seconds(11))
    expect(fixture.service.owners.grants.nextCheck, equals: renewed + .seconds(55))
    fixture.host.queries.setGroups([], of: 1000)
    fixture.advance(by: .seconds(48))
    expect(watcher.hasReadAll)
    fixture.advance(by: .seconds(1))
    expect(try watcher.next().errorCode, equals: "AccessDenied")
  }

  @Test func `an answer that is too old is looked up, and the check ends when it is known`() throws
  {
    let fixture = try fixture()
    try lookUp(fixture)
    let watcher = fixture.connect(groups: [8])
    expect(try watcher.ask(#"{"op":"watch","profile":"default"}"#)["Event"]?.text, equals: "state")
    fixture.host.background.time[.users] = .seconds(1)
    fixture.advance(by: .seconds(55))
    expect(fixture.service.owners.grants.nextCheck, equals: .distantFuture)
    expect(fixture.host.background.running(.users), equals: 1)
    fixture.advance(by: .seconds(1))
    expect(fixture.service.owners.grants.nextCheck < .distantFuture)
    expect(fixture.service.owners.watches.byUser.count, equals: 1)
    // For an hour, with the database asked once a minute.
    let asked = fixture.host.queries.asked.count
    fixture.advance(by: .seconds(3600))
    expect(watcher.hasReadAll)
    expect((58...66).contains(fixture.host.queries.asked.count - asked))
  }

  /// The uid may be given to another person, whom no profile's rule would stop.
  @Test(arguments: [#"{"op":"watch","profile":"default"}"#, #"{"op":"watch"}"#])
  func `a watch of an open profile ends a minute after the uid has changed hands`(
    _ line: String
  ) throws {
    let fixture = try ServiceFixture(Configured.usual())
    expect(try fixture.ask().accessKeyID != nil)
    let watcher = fixture.connect()
    expect(try watcher.ask(line)["IdentityId"] != nil)
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    fixture.advance(by: .seconds(61))
    expect(try watcher.next().errorCode, equals: "AccessDenied")
    expect(fixture.service.owners.watches.byUser.isEmpty)
    expect(fixture.service.sessions.values.allSatisfy { $0.userName == "carol" })
  }

  @Test func `a watch of a forgotten session ends too when the uid has changed hands`() throws {
    let fixture = try ServiceFixture(Configured.usual(profile: "forget_after = 10s"))
    expect(try fixture.ask().accessKeyID != nil)
    let watcher = fixture.connect()
    expect(try watcher.ask(#"{"op":"watch","profile":"default"}"#).state, equals: "signedIn")
    fixture.advance(by: .seconds(130))
    expect(fixture.service.sessions.isEmpty, "the watch made the session again")
    expect(try watcher.next().state, equals: "signedOut")
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    fixture.advance(by: .seconds(61))
    expect(try watcher.next().errorCode, equals: "AccessDenied")
    expect(fixture.service.owners.watches.byUser.isEmpty && fixture.service.sessions.isEmpty)
  }

  @Test func `a watcher that missed many events hears how things are`() throws {
    let fixture = try ServiceFixture()
    expect(try fixture.ask().accessKeyID != nil)
    let watcher = fixture.connect()
    expect(try watcher.ask(#"{"op":"watch","profile":"default"}"#).state, equals: "signedIn")
    let session = try #require(fixture.service.sessions.values.first)
    watcher.client?.watch?.allowedUntil = fixture.now
    for _ in 0..<200 {
      fixture.service.owners.watches.announce(.state(session.machine.state), session)
      expect((watcher.client?.watch?.held.count ?? 0) <= Limits.Client.heldEvents)
    }
    fixture.service.sessionTable.handle(.loggedOut, session, fixture.now)
    fixture.advance(by: .seconds(1))
    expect(watcher.replies.count == 2 && watcher.replies.last?.state == "signedOut")
  }

  /// A `login` that takes 2 s. After one the client's program is looked at again, which takes 4 s.
  private func slowLogin() throws -> (ServiceFixture, TestClient) {
    let fixture = try ServiceFixture(
      Configured.password(profile: "allow_executables = /usr/bin/billing"))
    fixture.host.queries.executables[42] = .init(path: "/usr/bin/billing")
    let client = fixture.connect()
    expect(try client.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
    fixture.host.upstreams.delays["login"] = .seconds(2)
    fixture.host.background.time[.programs] = .seconds(4)
    fixture.advance(by: .seconds(59))
    client.send(#"{"op":"login","username":"alice","password":"alice-password"}"#)
    return (fixture, client)
  }

  @Test func `a sign-in that has happened is no failure when the daemon stops`() throws {
    let (fixture, client) = try slowLogin()
    fixture.advance(by: .milliseconds(2500))
    expect(client.isWaiting && client.client?.waiting?.signedInTo != nil, "\(client.replies)")
    fixture.service.dismissWaiters()
    expect(try client.next().state, equals: "signedIn")
  }

  /// The reload comes before the sign-in has happened, or afterwards.
  @Test(arguments: [1.5, 2.2])
  func `who may be shut out hears of no sign-in when the daemon stops`(_ time: Double) throws {
    let (fixture, client) = try slowLogin()
    fixture.advance(by: .seconds(time))
    try fixture.reload(Configured.password(profile: "allow_executables = /usr/bin/other"))
    fixture.advance(by: .seconds(2.5 - time))
    expect(client.isWaiting, "\(client.replies)")
    fixture.service.dismissWaiters()
    expect(try client.next().errorCode, equals: "ShuttingDown")
  }

  @Test func `a question that was not asked is no sign-in when the daemon stops`() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
    fixture.host.queries.setGroups([8], of: 1000)
    provider.documentTime = .milliseconds(500)
    let client = fixture.connect(groups: [8])
    client.send(FakeProvider.login)
    fixture.host.background.time[.users] = .seconds(1)
    try fixture.reload(Configured.provider(profile: "allow_groups = mail"))
    fixture.advance(by: .milliseconds(900))
    expect(client.isWaiting && fixture.service.openSignIns == 1)
    fixture.service.dismissWaiters()
    expect(try client.next().errorCode, equals: "ShuttingDown")
  }

  /// What the session of somebody with a name does is nothing for a uid without one.
  @Test(arguments: [#"{"op":"watch","profile":"default"}"#, #"{"op":"watch"}"#])
  func `a watch ends a minute after the uid has lost its name`(_ line: String) throws {
    let fixture = try ServiceFixture(Configured.usual())
    expect(try fixture.ask().accessKeyID != nil)
    let watcher = fixture.connect()
    expect(try watcher.ask(line)["IdentityId"] != nil)
    fixture.host.queries.users[1000] = nil
    fixture.advance(by: .seconds(61))
    expect(try watcher.next().errorCode, equals: "AccessDenied")
    // The session is there for its owner, who may be known again.
    expect(fixture.service.sessions.values.map(\.userName), equals: ["alice"])
  }

  /// Its process has ended, or the kernel is older than Linux 6.5.
  @Test func `a watcher whose program is unknown does not keep the daemon busy`() throws {
    let fixture = try ServiceFixture(
      Configured.usual() + Configured.profile("tool", "allow_executables = /opt/tool"))
    let watcher = fixture.connect()
    watcher.isRunning = false
    watcher.send(#"{"op":"watch"}"#)
    fixture.advance(by: .seconds(60))
    expect(try watcher.next().state, equals: "signedOut")
    expect(fixture.service.owners.grants.nextCheck > fixture.now)
  }

  @Test func `a wait in an open profile ends a minute after the uid has changed hands`() throws {
    let fixture = try fixture("")
    let waiter = fixture.connect()
    waiter.send(#"{"wait":300}"#)
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    fixture.advance(by: .seconds(50))
    expect(waiter.hasReadAll)
    fixture.advance(by: .seconds(11))
    expect(try waiter.next().errorCode, equals: "AccessDenied")
  }

  @Test func `a watcher hears nothing before its access is decided after a suspension`() throws {
    let fixture = try ServiceFixture(Configured.usual())
    expect(try fixture.ask().accessKeyID != nil)
    let (former, present) = (fixture.connect(), fixture.connect())
    expect(try former.ask(#"{"op":"watch","profile":"default"}"#).state, equals: "signedIn")
    expect(try present.ask(#"{"op":"watch"}"#).state, equals: "signedIn")
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    fixture.host.background.time[.users] = .milliseconds(20)
    fixture.host.clock.sleep(for: .seconds(4000))
    fixture.advance(by: .milliseconds(20))
    for watcher in [former, present] {
      expect(try watcher.next().errorCode, equals: "AccessDenied")
      expect(watcher.hasReadAll)
    }
  }

  @Test func `what happens while access is decided reaches the watcher in order`() throws {
    let fixture = try ServiceFixture(Configured.usual())
    // Credentials that are used are renewed.
    for _ in 0..<2 {
      expect(try fixture.ask().accessKeyID != nil)
      fixture.advance(by: .seconds(60))
    }
    let watcher = fixture.connect()
    expect(try watcher.ask(#"{"op":"watch"}"#).state, equals: "signedIn")
    fixture.host.background.time[.users] = .seconds(1)
    // The next refresh is due.
    fixture.host.clock.sleep(for: .seconds(3000))
    fixture.advance(by: .milliseconds(500))
    expect(watcher.hasReadAll)
    expect(try fixture.connect().ask(#"{"op":"logout"}"#).state, equals: "signedOut")
    let refreshed = try watcher.next()
    expect(refreshed["Event"]?.text, equals: "refreshed", "\(refreshed)")
    expect(try watcher.next().state, equals: "signedOut")
  }

  @Test func `a database that hangs ends no user's access`() throws {
    let fixture = try fixture()
    try lookUp(fixture)
    let watcher = fixture.connect(groups: [8])
    expect(try watcher.ask(#"{"op":"watch","profile":"default"}"#)["Event"]?.text, equals: "state")
    fixture.host.background.time[.users] = .some(nil)
    fixture.advance(by: .seconds(600))
    expect(watcher.hasReadAll)
    expect(fixture.host.background.running(.users), equals: 1)
    // When it answers again, it is believed.
    fixture.host.queries.setGroups([], of: 1000)
    fixture.host.background.time[.users] = .zero
    fixture.host.background.release(.users)
    fixture.advance(by: .seconds(60))
    expect(try watcher.next().errorCode, equals: "AccessDenied")
  }

  @Test func `a client that left the admin group sees no other user's sessions`() throws {
    let fixture = try ServiceFixture(Configured.usual(daemon: "admin_group = mail"))
    fixture.host.queries.setGroups([8], of: 1000)
    expect(try fixture.ask(uid: 1001).accessKeyID != nil)
    // The kernel goes on saying that the process has the group.
    let member = fixture.connect(groups: [8])
    let line = #"{"op":"status","all":true}"#
    expect(try member.ask(line)["Sessions"]?.count, equals: 1)
    fixture.host.queries.setGroups([], of: 1000)
    fixture.advance(by: .seconds(61))
    expect(try member.ask(line)["Sessions"]?.count, equals: 1)
    fixture.advance(by: UserDirectory.missingFor)
    expect(try member.ask(line).errorCode, equals: "AccessDenied")
  }
}
