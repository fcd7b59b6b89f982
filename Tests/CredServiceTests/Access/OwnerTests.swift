import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A uid that has another name is another person's, also where no profile needs a name.
struct OwnerTests {
  private static let login = #"{"op":"login","username":"alice","password":"alice-password"}"#

  /// A profile that needs no name: the backend names its users itself.
  private func signedIn() throws -> ServiceFixture {
    let fixture = try ServiceFixture(Configured.password())
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    expect(try fixture.ask().accessKeyID != nil)
    return fixture
  }

  private func passOn(_ fixture: ServiceFixture, to name: String, uid: UInt32 = 1000) {
    fixture.host.queries.users[uid] = UserEntry(uid: uid, name: name)
    fixture.advance(by: UserDirectory.keptFor + .seconds(1))
  }

  private let key = SessionKey(uid: 1000, profile: "default")

  // MARK: Another person

  @Test func `a uid that was given to another person gets nothing of the former one`() throws {
    let fixture = try signedIn()
    expect(fixture.host.store.records[key] != nil)
    expect(fixture.host.store.identities[key] != nil)
    passOn(fixture, to: "carol")
    expect(try fixture.ask(#"{"wait":0}"#).errorCode, equals: "SignInRequired")
    expect(fixture.host.store.records[key] == nil)
    expect(fixture.host.store.identities[key] == nil)
    let entry = try #require(
      fixture.host.log.entries.first { $0["former_user"] == "alice" }, "no entry names alice")
    expect(entry["user"] == "carol" && entry["uid"] == "1000" && entry["profile"] == "default")
    expect(entry["message_id"], equals: JournalEvent.uidPassedOn.rawValue)
  }

  @Test func `credentials that a backend gives to the host's word are fetched anew`() throws {
    let fixture = try ServiceFixture()
    let first = try fixture.ask().accessKeyID
    passOn(fixture, to: "carol")
    let second = try fixture.ask().accessKeyID
    expect(second != nil && second != first)
  }

  @Test func `a connection that stays open gets nothing of the former person after a minute`()
    throws
  {
    let fixture = try signedIn()
    let client = fixture.connect()
    expect(try client.ask("{}").accessKeyID != nil)
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    for _ in 0..<60 {
      fixture.advance(by: .seconds(1))
      _ = try client.ask(#"{"wait":0}"#)
    }
    fixture.advance(by: .seconds(1))
    expect(try client.ask(#"{"wait":0}"#).errorCode, equals: "SignInRequired")
  }

  @Test func `a restart remembers whose session it was`() throws {
    let fixture = try signedIn()
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    try fixture.restart(Configured.password())
    expect(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"] == nil)
    expect(try fixture.ask(#"{"wait":0}"#).errorCode, equals: "SignInRequired")
    expect(fixture.host.store.records[key] == nil)
  }

  @Test func `the same person goes on after a restart`() throws {
    let fixture = try signedIn()
    let credentials = try fixture.ask()
    try fixture.restart(Configured.password())
    expect(try fixture.ask(), equals: credentials)
  }

  @Test func `an IdentityId on disk goes to no other person`() throws {
    let text = """
      [profile default]
      identity_pool_id = \(FakeUpstreams.pool)
      cognito_endpoint = http://127.0.0.1:4599
      guest = yes

      """
    let fixture = try ServiceFixture(text)
    expect(try fixture.ask().accessKeyID != nil)
    let identity = try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]
    // A boot: only the file of IdentityIds stays.
    fixture.host.store.remove(key)
    try fixture.restart(text)
    expect(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"], equals: identity)
    fixture.host.store.remove(key)
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    try fixture.restart(text)
    expect(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"] == nil)
    expect(fixture.host.store.identities[key] == nil)
  }

  @Test func `everything of the former person is dropped in all profiles at once`() throws {
    let fixture = try ServiceFixture(Configured.usual() + Configured.profile("other"))
    let other = SessionKey(uid: 1000, profile: "other")
    expect(try fixture.ask().accessKeyID != nil)
    expect(try fixture.ask(#"{"profile":"other"}"#).accessKeyID != nil)
    passOn(fixture, to: "carol")
    expect(try fixture.ask().accessKeyID != nil)
    expect(fixture.service.sessions[other] == nil)
    expect(fixture.host.store.records[other] == nil && fixture.host.store.identities[other] == nil)
  }

  @Test func `waiting and watching clients of the former person are told`() throws {
    let fixture = try ServiceFixture(Configured.password())
    let (waiter, watcher, all) = (fixture.connect(), fixture.connect(), fixture.connect())
    waiter.send(#"{"wait":300,"id":1}"#)
    expect(try watcher.ask(#"{"op":"watch","profile":"default"}"#)["Event"]?.text, equals: "state")
    expect(try all.ask(#"{"op":"watch"}"#)["Event"]?.text, equals: "state")
    passOn(fixture, to: "carol")
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    expect(try fixture.ask().accessKeyID != nil)
    for client in [waiter, watcher, all] {
      let last = try #require(client.replies.last)
      expect(last.errorCode, equals: "AccessDenied", "\(last)")
      expect(last.errorMessage, equals: "this uid belongs to another user now")
    }
    expect(fixture.service.owners.watches.byUser.isEmpty)
  }

  @Test func `status and watch show nothing of the former person`() throws {
    let fixture = try signedIn()
    let asks = [#"{"op":"status"}"#, #"{"op":"watch"}"#]
    for ask in asks {
      try fixture.restart(Configured.password())
      fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "alice")
      expect(try fixture.ask(ask).text.contains("us-east-1:"))
    }
    for ask in asks {
      let fixture = try signedIn()
      passOn(fixture, to: "carol")
      expect(try !fixture.ask(ask).text.contains("us-east-1:"))
    }
  }

  /// A look-up that is overdue lets the known user go on; what it finds a moment later counts.
  @Test func `a name that is found late ends the cached answers of the former person`() throws {
    let fixture = try signedIn()
    let client = fixture.connect()
    let former = try #require(try client.ask("{}").accessKeyID)
    fixture.advance(by: UserDirectory.keptFor + .seconds(1))
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    fixture.host.background.time[.users] = UserDirectory.timeout + .milliseconds(500)
    for _ in 0..<3 {
      client.send("{}")
      fixture.advance(by: UserDirectory.timeout)
      if client.replies.last?.accessKeyID != nil { fixture.advance(by: .seconds(2)) }
    }
    try #require(client.replies.count > 2)
    expect(client.replies[1].accessKeyID, equals: former)
    expect(client.replies.last?.accessKeyID == nil, "\(String(describing: client.replies.last))")
  }

  @Test func `a name that is found late ends the cached answers of the endpoint`() throws {
    let fixture = try signedIn()
    let token = try EndpointLock.token(.user(1000))
    let former = try #require(try EndpointClient(fixture).ask(token)["AccessKeyId"])
    fixture.advance(by: UserDirectory.keptFor + .seconds(1))
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    fixture.host.background.time[.users] = UserDirectory.timeout + .milliseconds(500)
    expect(try EndpointClient(fixture).ask(token).status, equals: 503)
    fixture.advance(by: UserDirectory.timeout - Limits.Endpoint.wait + .milliseconds(100))
    // The database is late: what it said before counts.
    let client = EndpointClient(fixture)
    expect(try client.ask(token)["AccessKeyId"], equals: former)
    fixture.advance(by: .seconds(1))
    let answer = try client.ask(token)
    expect(answer.status != 200 && answer["AccessKeyId"] == nil, "\(answer)")
  }

  @Test func `a global sign-out says nothing of the session of the uid's next owner`() throws {
    let fixture = try signedIn()
    fixture.advance(by: UserDirectory.keptFor - .seconds(1))
    fixture.host.upstreams.delays["logout"] = .milliseconds(1500)
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    let former = fixture.connect()
    former.send(#"{"op":"logout","global":true}"#)
    expect(former.isWaiting)
    let login = #"{"op":"login","username":"bob","password":"bob-password"}"#
    expect(try fixture.ask(login).state, equals: "signedIn")
    expect(former.isWaiting)
    fixture.advance(by: .seconds(2))
    let reply = try former.next()
    expect(reply.state == "signedOut" && reply["IdentityId"] == nil, "\(reply)")
  }

  /// Swift takes the two as equal; to the host they are two users.
  @Test func `names are compared byte for byte`() throws {
    let fixture = try ServiceFixture(Configured.password())
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "jos\u{E9}")
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    passOn(fixture, to: "jose\u{301}")
    expect(try fixture.ask(#"{"wait":0}"#).errorCode, equals: "SignInRequired")
  }

  @Test func `who acts for users gets the one whose name it wrote, byte for byte`() throws {
    let text =
      Configured.http()
      + Configured.profile(
        "default", identifier: "{user}", "impersonate = root")
    let fixture = try ServiceFixture(text)
    let names: [(uid: UInt32, name: String)] = [(2003, "jos\u{E9}"), (2004, "jose\u{301}")]
    for (uid, name) in names {
      fixture.host.queries.users[uid] = UserEntry(uid: uid, name: name)
    }
    let own = try names.map { try fixture.ask(uid: $0.uid).accessKeyID }
    let (first, second) = (fixture.connect(uid: 0), fixture.connect(uid: 0))
    // Both look-ups are under way at once.
    fixture.host.background.time[.users] = .milliseconds(100)
    for (client, (_, name)) in zip([first, second], names) {
      client.sendOnly(#"{"user":"\#(name)"}"#)
    }
    fixture.advance(by: .seconds(1))
    expect(try [first.next().accessKeyID, second.next().accessKeyID], equals: own)
    // And both are known.
    let again = try names.map { try fixture.ask(#"{"user":"\#($0.name)"}"#, uid: 0).accessKeyID }
    expect(again == own && Set(own).count == 2)
  }

  @Test func `a profile that went away is named to nobody whose name only looks the same`() throws {
    let text = Configured.http() + Configured.profile("default", "allow_users = jos\u{E9}")
    let fixture = try ServiceFixture(text)
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "jos\u{E9}")
    expect(try fixture.ask().accessKeyID != nil)
    passOn(fixture, to: "jose\u{301}")
    let refused = try fixture.ask(#"{"wait":0}"#)
    expect(
      refused.errorMessage, equals: "profile 'default' is not available to 'jose\u{301}'",
      "\(refused)")
  }

  @Test func `a name of a moment ago gets nobody another user's credentials`() throws {
    let text = Configured.usual(profile: "impersonate = root")
    let fixture = try ServiceFixture(text)
    let first = try fixture.ask(#"{"user":"alice"}"#, uid: 0).accessKeyID
    expect(first != nil)
    // The database still has alice in one cache, and already carol in the other.
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    fixture.advance(by: .seconds(30))
    fixture.host.queries.users[2000] = UserEntry(uid: 1000, name: "alice")
    fixture.advance(by: .seconds(31))
    let refused = try fixture.ask(#"{"user":"alice"}"#, uid: 0)
    expect(refused.errorCode, equals: "AccessDenied")
    expect(refused.errorMessage?.contains("another name") == true)
  }

  // MARK: A name that cannot be read

  @Test func `a user whose name is not UTF-8 is refused and gets nobody's session`() throws {
    let fixture = try signedIn()
    let watchers = [#"{"op":"watch"}"#, #"{"op":"watch","profile":"default"}"#].map {
      let client = fixture.connect()
      client.send($0)
      return client
    }
    fixture.host.queries.unreadable = [1000]
    fixture.advance(by: UserDirectory.keptFor + .seconds(1))
    let lines = ["{}", #"{"op":"status"}"#, #"{"op":"watch"}"#, #"{"op":"identity"}"#, Self.login]
    for line in lines {
      let reply = try fixture.ask(line)
      expect(reply.errorCode, equals: "AccessDenied", "\(reply)")
      expect(reply.errorMessage?.contains("uid 1000") == true, "\(reply)")
      expect(reply.errorMessage?.contains("not UTF-8") == true, "\(reply)")
    }
    for watcher in watchers {
      expect(watcher.replies.last?.errorCode, equals: "AccessDenied", "\(watcher.replies)")
    }
    // Not taken for another person: a correction brings everything back.
    fixture.host.queries.unreadable = []
    fixture.advance(by: UserDirectory.keptFor + .seconds(1))
    expect(try fixture.ask().accessKeyID != nil)
  }

  @Test func `nobody acts for a user whose name is not UTF-8`() throws {
    let fixture = try ServiceFixture(Configured.usual(profile: "impersonate = root"))
    fixture.host.queries.unreadable = [1000]
    for name in ["alice", "1000"] {
      let reply = try fixture.ask(#"{"user":"\#(name)"}"#, uid: 0)
      expect(reply.errorCode, equals: "AccessDenied", "\(reply)")
      expect(reply.errorMessage?.contains("not UTF-8") == true, "\(reply)")
    }
  }

  // MARK: Without a name

  @Test func `a uid without a name uses a profile that needs none`() throws {
    let fixture = try ServiceFixture()
    expect(try fixture.ask(uid: 4000).accessKeyID != nil)
    try fixture.restart()
    expect(try fixture.ask(uid: 4000).accessKeyID != nil)
    expect(fixture.host.upstreams.calls("token"), equals: 1)
  }

  @Test func `a uid that gets a name is another person's`() throws {
    let fixture = try ServiceFixture(Configured.password())
    expect(try fixture.ask(Self.login, uid: 4000).state, equals: "signedIn")
    passOn(fixture, to: "carol", uid: 4000)
    expect(try fixture.ask(#"{"wait":0}"#, uid: 4000).errorCode, equals: "SignInRequired")
  }

  /// The database may be incomplete for a moment, so nothing is dropped.
  @Test func `a uid that lost its name gets nothing, and the user keeps everything`() throws {
    let fixture = try signedIn()
    let credentials = try fixture.ask()
    let entry = fixture.host.queries.users.removeValue(forKey: 1000)
    fixture.advance(by: UserDirectory.keptFor)
    let refused = try fixture.ask()
    expect(refused.errorCode, equals: "AccessDenied")
    expect(refused.errorMessage?.contains("uid 1000 has no user name") == true)
    expect(try fixture.ask(#"{"op":"status"}"#)["Sessions"]?.count, equals: 0)
    fixture.host.queries.users[1000] = entry
    fixture.advance(by: UserDirectory.keptFor)
    expect(try fixture.ask(), equals: credentials)
  }

  @Test func `a uid that lost its name hears no events of the user's sessions`() throws {
    let fixture = try signedIn()
    fixture.host.queries.users[1000] = nil
    fixture.advance(by: UserDirectory.keptFor + .seconds(1))
    let watcher = fixture.connect()
    watcher.send(#"{"op":"watch"}"#)
    let heard = watcher.replies.count
    // The credentials are renewed.
    fixture.advance(by: .seconds(3600))
    expect(watcher.replies.count, equals: heard)
  }

  @Test func `a slow user database is waited for, even where no name is needed`() throws {
    let fixture = try ServiceFixture()
    fixture.host.background.time[.users] = .milliseconds(1900)
    let client = fixture.connect()
    client.send("{}")
    expect(client.isWaiting && fixture.host.http.requests.isEmpty)
    fixture.advance(by: .milliseconds(1900))
    expect(try client.next().accessKeyID != nil)
  }

  @Test func `a user database that fails for a moment is waited for`() throws {
    let fixture = try ServiceFixture()
    fixture.host.queries.isUnavailable = true
    let client = fixture.connect()
    client.send("{}")
    fixture.advance(by: .seconds(1))
    expect(client.isWaiting)
    fixture.host.queries.isUnavailable = false
    fixture.advance(by: UserDirectory.retryPause)
    expect(try client.next().accessKeyID != nil)
  }

  @Test(arguments: ["{}", #"{"op":"identity"}"#, #"{"op":"status"}"#, #"{"op":"watch"}"#])
  func `a user database that does not answer in time ends the wait`(_ line: String) throws {
    let fixture = try ServiceFixture()
    let start = fixture.now
    fixture.host.queries.isUnavailable = true
    let refused = try fixture.ask(line)
    expect(refused.errorCode, equals: "Timeout", "\(refused)")
    expect(refused["Error"]?["RetryAfter"]?.integer, equals: 5)
    expect(fixture.now - start <= UserDirectory.timeout + .milliseconds(1))
    expect(fixture.service.sessions.isEmpty)
  }

  /// What is known stays known: being offline ends nobody's session.
  @Test func `a user database that is away changes nothing for users who are known`() throws {
    let fixture = try signedIn()
    let credentials = try fixture.ask()
    fixture.host.queries.isUnavailable = true
    for _ in 0..<10 {
      fixture.advance(by: .seconds(61))
      expect(try fixture.ask(), equals: credentials)
    }
  }

  // MARK: Where names are used

  @Test func `a callback by GET needs no name but that in its URL`() throws {
    let text =
      Configured.http(backend: "method = GET", url: "http://127.0.0.1/token?uid={uid}")
      + Configured.profile("default", identifier: "{user}")
    let fixture = try ServiceFixture(text)
    expect(try fixture.ask(uid: 4000).accessKeyID != nil)
    expect(fixture.host.http.requests.first?.url, equals: "http://127.0.0.1/token?uid=4000")
  }

  @Test
  func `a sign-in and a sign-out have the name in their URLs beside an identifier without it`()
    throws
  {
    let text =
      Configured.http(
        backend: """
          login_url = http://127.0.0.1/{user}/login
          logout_url = http://127.0.0.1/{user}/logout
          """) + Configured.profile("default", identifier: "{uid}")
    let fixture = try ServiceFixture(text)
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    expect(try fixture.ask(#"{"op":"logout","global":true}"#).errorCode == nil)
    let urls = fixture.host.http.requests.map(\.url)
    expect(urls.contains("http://127.0.0.1/alice/login"))
    expect(urls.contains("http://127.0.0.1/alice/logout"))
  }
}
