import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A profile that is withdrawn from a user is withdrawn everywhere at once.
struct WithdrawalTests {
  private static let open = Configured.usual() + Configured.profile("other")
  private static let closed =
    Configured.usual(profile: "allow_users = bob") + Configured.profile("other")

  private func profiles(_ reply: Reply) -> [String] {
    guard case .array(let sessions) = reply["Sessions"] else { return [] }
    return sessions.compactMap { $0["Profile"]?.text }
  }

  private func fixture() throws -> ServiceFixture {
    let fixture = try ServiceFixture(Self.open)
    for profile in ["default", "other"] {
      expect(try fixture.ask(#"{"profile":"\#(profile)"}"#).accessKeyID != nil)
    }
    return fixture
  }

  @Test func `an answer that comes while access is decided anew waits for the decision`() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask()
    // The name is looked up anew, slowly, when the credentials come.
    fixture.advance(by: UserDirectory.keptFor - .milliseconds(500))
    fixture.host.background.time[.users] = .seconds(1.8)
    fixture.host.upstreams.delays["token"] = .seconds(1)
    let client = fixture.connect()
    client.send(#"{"refresh":true,"wait":30}"#)
    fixture.advance(by: .milliseconds(700))
    try fixture.reload(Configured.usual(profile: "allow_users = bob"))
    fixture.advance(by: .milliseconds(600))
    expect(fixture.host.http.underWay == 0 && client.hasReadAll)
    fixture.advance(by: .seconds(2))
    expect(try client.next().errorCode, equals: "AccessDenied")
  }

  /// One client that waits for a sign-in and one that watches, under a rule that admits both.
  private func waiterAndWatcher(
    _ fixture: ServiceFixture
  ) throws -> (waiter: TestClient, watcher: TestClient) {
    let (waiter, watcher) = (fixture.connect(groups: [8]), fixture.connect(groups: [8]))
    expect(try watcher.ask(#"{"op":"watch","profile":"default"}"#)["Event"]?.text, equals: "state")
    waiter.send(#"{"wait":300}"#)
    expect(waiter.isWaiting)
    return (waiter, watcher)
  }

  private static let billing =
    Configured.password(profile: "allow_executables = /usr/bin/billing")

  /// Who the user is, is known: the rest can be decided.
  @Test(arguments: ["/usr/bin/billing", "/usr/bin/other"])
  func aReloadWhileTheUserDatabaseFailsClosesAProfile(_ program: String) throws {
    let fixture = try ServiceFixture(Configured.password(profile: "allow_groups = mail"))
    fixture.host.queries.setGroups([8], of: 1000)
    fixture.host.queries.executables[42] = .init(path: program, sha256: nil)
    let (waiter, watcher) = try waiterAndWatcher(fixture)
    fixture.host.queries.isUnavailable = true
    try fixture.reload(Self.billing)
    fixture.advance(by: UserDirectory.timeout + .milliseconds(100))
    if program == "/usr/bin/billing" {
      fixture.advance(by: .seconds(60))
      expect(waiter.isWaiting && watcher.client?.watch != nil)
      expect(waiter.hasReadAll && watcher.hasReadAll)
    } else {
      expect(try waiter.next().errorCode, equals: "AccessDenied")
      expect(try watcher.next().errorCode, equals: "AccessDenied")
    }
  }

  /// A decision by the former rule does not go on because another one cannot be made.
  @Test func `after a reload whoever cannot be decided about is told so`() throws {
    let fixture = try ServiceFixture(Configured.password())
    let (waiter, watcher) = try waiterAndWatcher(fixture)
    fixture.host.queries.isUnavailable = true
    try fixture.reload(Configured.password(profile: "allow_groups = mail"))
    fixture.advance(by: UserDirectory.timeout + .milliseconds(100))
    for client in [waiter, watcher] { expect(try client.next().errorCode, equals: "Timeout") }
    expect(!waiter.isWaiting && watcher.client?.watch == nil)
    // As a new request is.
    expect(try fixture.connect(groups: [8]).ask("{}").errorCode, equals: "Timeout")
  }

  @Test func `after a reload a program that cannot be looked at ends what began before`() throws {
    let fixture = try ServiceFixture(Configured.password())
    let (waiter, watcher) = try waiterAndWatcher(fixture)
    fixture.host.background.time[.programs] = .some(nil)
    try fixture.reload(Self.billing)
    fixture.advance(by: ExecutableDirectory.timeout + .milliseconds(100))
    for client in [waiter, watcher] { expect(try client.next().errorCode, equals: "Timeout") }
    expect(!waiter.isWaiting && watcher.client?.watch == nil)
  }

  /// A sign-in whose answer comes while the caller's name is looked up anew, after a reload.
  private func signIn(thenAllowing users: String) throws -> (ServiceFixture, TestClient) {
    let fixture = try ServiceFixture(Configured.password())
    _ = try fixture.ask(#"{"op":"identity"}"#)
    fixture.advance(by: UserDirectory.keptFor - .milliseconds(500))
    fixture.host.background.time[.users] = .seconds(1.8)
    fixture.host.upstreams.delays["login"] = .seconds(1)
    let client = fixture.connect()
    client.send(#"{"op":"login","username":"alice","password":"alice-password","id":7}"#)
    fixture.advance(by: .milliseconds(700))
    try fixture.reload(Configured.password(profile: "allow_users = \(users)"))
    fixture.advance(by: .milliseconds(600))
    expect(fixture.host.http.underWay == 0 && client.hasReadAll)
    fixture.advance(by: .seconds(2))
    return (fixture, client)
  }

  @Test func `a sign-in that ends while access is decided anew waits for the decision`() throws {
    let (_, client) = try signIn(thenAllowing: "bob")
    let reply = try client.next()
    expect(reply.errorCode, equals: "AccessDenied")
    expect(reply["Id"], equals: .number("7"))
  }

  @Test func `a sign-in whose right remains is answered when that is known, and made once`() throws
  {
    let (fixture, client) = try signIn(thenAllowing: "alice")
    let reply = try client.next()
    expect(reply.state, equals: "signedIn")
    expect(reply["Id"], equals: .number("7"))
    expect(fixture.host.upstreams.calls("login"), equals: 1)
    let signedIn = fixture.host.log.entries.filter {
      $0["message_id"] == JournalEvent.signedIn.rawValue
    }
    expect(signedIn.count, equals: 1)
    // No password is under way any more.
    expect(
      try fixture.ask(#"{"op":"login","username":"alice","password":"alice-password"}"#).state,
      equals: "signedIn")
  }

  @Test func `status shows no session of a profile that was withdrawn`() throws {
    let fixture = try fixture()
    expect(try profiles(fixture.ask(#"{"op":"status"}"#)), equals: ["default", "other"])
    try fixture.reload(Self.closed)
    expect(try profiles(fixture.ask(#"{"op":"status"}"#)), equals: ["other"])
    // An administrator sees all sessions, and the user sees it again with the right to it.
    let all = try fixture.ask(#"{"op":"status","all":true}"#, uid: 0)
    expect(profiles(all), equals: ["default", "other"])
    try fixture.reload(Self.open)
    expect(try profiles(fixture.ask(#"{"op":"status"}"#)), equals: ["default", "other"])
  }

  @Test func `a watch of all sessions begins without those that were withdrawn`() throws {
    let fixture = try fixture()
    try fixture.reload(Self.closed)
    let watcher = fixture.connect()
    expect(try watcher.ask(#"{"op":"watch"}"#)["Profile"]?.text, equals: "other")
    expect(watcher.hasReadAll)
  }

  @Test func `a watch of all sessions hears nothing of a profile that was withdrawn`() throws {
    let fixture = try fixture()
    let watcher = fixture.connect()
    watcher.send(#"{"op":"watch"}"#)
    expect(watcher.replies.count, equals: 2)
    // The reload changes the session too: its user hears nothing of that.
    try fixture.reload(Self.closed.replacing("= alice", with: "= carol"))
    let events = watcher.replies.dropFirst(2)
    expect(events.allSatisfy { $0["Profile"]?.text == "other" }, "\(events)")
    expect(try fixture.ask(#"{"profile":"other"}"#).accessKeyID != nil)
    expect(watcher.replies.dropFirst(2).contains { $0["Event"]?.text == "refreshed" })
    expect(fixture.service.owners.watches.byUser.count, equals: 1)
  }

  @Test func `a watch of one profile hears nothing after its withdrawal`() throws {
    let fixture = try fixture()
    let watcher = fixture.connect()
    expect(try watcher.ask(#"{"op":"watch","profile":"default"}"#)["Event"]?.text, equals: "state")
    try fixture.reload(Self.closed.replacing("= alice", with: "= carol"))
    expect(try watcher.next().errorCode, equals: "AccessDenied")
    expect(watcher.hasReadAll)
  }

  @Test func `a watch of all sessions hears of a profile again with the right to it`() throws {
    let fixture = try fixture()
    try fixture.reload(Self.closed)
    let watcher = fixture.connect()
    watcher.send(#"{"op":"watch"}"#)
    expect(watcher.replies.count, equals: 1)
    try fixture.reload(Self.open)
    let event = try #require(watcher.replies.last)
    expect(event["Profile"]?.text == "default" && event["Event"]?.text == "state")
    expect(event.state, equals: "signedIn")
  }

  @Test func `a membership that ends is withdrawn from watch and status within a minute`() throws {
    let text = Configured.usual(profile: "allow_groups = mail") + Configured.profile("other")
    let fixture = try ServiceFixture(text)
    fixture.host.queries.setGroups([8], of: 1000)
    let (client, watcher) = (fixture.connect(groups: [8]), fixture.connect(groups: [8]))
    expect(try client.ask("{}").accessKeyID != nil)
    watcher.send(#"{"op":"watch"}"#)
    expect(watcher.replies.count, equals: 2)
    fixture.host.queries.setGroups([], of: 1000)
    fixture.advance(by: .seconds(61))
    expect(try profiles(client.ask(#"{"op":"status"}"#)), equals: [])
    let session = try #require(
      fixture.service.sessions[SessionKey(uid: 1000, profile: "default")])
    fixture.service.sessionTable.handle(.loggedOut, session, fixture.now)
    expect(watcher.replies.count, equals: 2)
    expect(watcher.client?.watch?.visible, equals: ["other"])
  }
}
