import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// One user with many uids has no more than a user has.
struct SubordinateUserTests {
  private static let login = #"{"op":"login","username":"alice","password":"alice-password"}"#

  private func fixture(_ text: String = Configured.usual()) throws -> ServiceFixture {
    let fixture = try ServiceFixture(text)
    fixture.host.queries.subordinates = "alice:100000:65536\n"
    // The file was read, as it is a moment after the first of these uids has connected.
    _ = try fixture.ask(#"{"op":"identity"}"#, uid: 100_000)
    _ = fixture.service.account(of: 100_000)
    fixture.host.settle()
    _ = fixture.service.account(of: 100_000)
    fixture.host.settle()
    return fixture
  }

  private func hits(_ fixture: ServiceFixture, _ limit: HitLimit) -> Int {
    fixture.service.figures.limitHits[limit] ?? 0
  }

  // MARK: Upstream

  @Test func `failures of one owner's uids are no outage for others`() throws {
    let fixture = try fixture(
      Configured.http() + Configured.profile("default", identifier: "{uid}"))
    let usual = fixture.host.http.answer
    fixture.host.http.answer = { request in
      let user = request.json?["DeveloperUserIdentifier"]?.text.flatMap { UInt32($0) }
      return (user ?? 0) >= 100_000 ? .reply(500, "") : usual(request)
    }
    for _ in 0..<10 {
      for uid in UInt32(100_000)..<100_003 { _ = try fixture.ask(#"{"wait":0.5}"#, uid: uid) }
      fixture.advance(by: .seconds(10))
    }
    expect(try fixture.ask(#"{"wait":1}"#).accessKeyID != nil)
    expect(!fixture.host.log.messages.contains { $0.contains("does not work") })
  }

  /// Nobody knows whose the other uid is: it may be the same person's.
  @Test func `failures of a user and of a uid of nobody are no outage for others`() throws {
    let fixture = try fixture(
      Configured.http() + Configured.profile("default", identifier: "{uid}"))
    let usual = fixture.host.http.answer
    fixture.host.http.answer = { request in
      let user = request.json?["DeveloperUserIdentifier"]?.text
      return ["1000", "600000"].contains(user) ? .reply(503, "") : usual(request)
    }
    for _ in 0..<10 {
      for uid in [UInt32(1000), 600_000] { _ = try fixture.ask(#"{"wait":1}"#, uid: uid) }
      fixture.advance(by: .seconds(10))
    }
    expect(try fixture.ask(#"{"wait":1}"#, uid: 1001).accessKeyID != nil)
    expect(!fixture.host.log.messages.contains { $0.contains("does not work") })
  }

  // MARK: Sessions

  @Test func `ten thousand uids that ask for their identity make no session`() throws {
    let fixture = try fixture()
    for uid in UInt32(100_000)..<110_000 {
      let reply = try fixture.ask(#"{"op":"identity"}"#, uid: uid)
      guard reply.state == "signedOut" else {
        expect(false, "\(reply)")
        break
      }
    }
    expect(fixture.service.sessions.count, equals: 0)
    expect(try fixture.ask().accessKeyID != nil)
  }

  @Test(
    arguments: [
      #""identity""#, #""clear","what":"identity""#, #""watch""#, #""status""#,
    ])
  func `what needs no session makes none`(_ operation: String) throws {
    let fixture = try ServiceFixture()
    let reply = try fixture.ask("{\"op\":\(operation)}")
    expect(reply.errorCode == nil, "\(reply)")
    expect(fixture.service.sessions.count, equals: 0)
  }

  @Test func `a sign-out makes a session where the next request would sign in again`() throws {
    let trusted = try ServiceFixture()
    expect(try trusted.ask(#"{"op":"logout"}"#).state, equals: "signedOut")
    expect(trusted.service.sessions.count, equals: 1)
    expect(try trusted.ask().errorCode, equals: "SignInRequired")
    let password = try ServiceFixture(Configured.password())
    expect(try password.ask(#"{"op":"logout"}"#).state, equals: "signedOut")
    expect(password.service.sessions.count, equals: 0)
  }

  @Test func `uids of nobody have half of the sessions, and others theirs`() throws {
    let fixture = try ServiceFixture(Configured.usual(daemon: "max_sessions = 20"))
    var refused = 0
    for uid in UInt32(500_000)..<500_030 {
      let reply = try fixture.ask(uid: uid)
      if reply.errorCode == "TooManyRequests" { refused += 1 }
    }
    expect(refused, equals: 20)
    expect(hits(fixture, .sessions), equals: 20)
    let entries = fixture.host.log.entries.filter { $0.message.hasPrefix("a limit was hit") }
    expect((1...2).contains(entries.count), "\(entries)")
    expect(entries.first?.message.contains("max_sessions") == true)
    for uid: UInt32 in [0, 1000, 1001] { expect(try fixture.ask(uid: uid).accessKeyID != nil) }
  }

  @Test func `an owner's uids have together what a user may have`() throws {
    let fixture = try fixture()
    let most = Limits.Session.ofOwner
    for uid in 0..<UInt32(most) {
      expect(try fixture.ask(uid: 100_000 + uid).accessKeyID != nil)
    }
    let refused = try fixture.ask(uid: 160_000)
    expect(refused.errorCode, equals: "TooManyRequests")
    expect(refused.errorMessage?.contains("max_sessions") == true)
    // The owner is served, and a uid that is in no range.
    expect(try fixture.ask().accessKeyID != nil)
    expect(try fixture.ask(uid: 500_000).accessKeyID != nil)
    // A file that gives the range to nobody gives it the share of nobody.
    fixture.host.queries.subordinates = ""
    fixture.advance(by: .seconds(20))
    _ = try fixture.ask(#"{"op":"identity"}"#, uid: 160_000)
    expect(try fixture.ask(uid: 160_001).accessKeyID != nil)
  }

  @Test func `a session that holds nothing goes first`() throws {
    let fixture = try ServiceFixture(
      Configured.http(
        daemon: "max_sessions = 2",
        backend: "login_url = http://127.0.0.1/login\nlogout_url = http://127.0.0.1/logout\n")
        + Configured.profile("default"))
    expect(try fixture.ask().errorCode, equals: "SignInRequired")
    expect(try fixture.ask(Self.login, uid: 1001).state, equals: "signedIn")
    expect(fixture.service.sessions.count, equals: 2)
    // Alice's session holds nothing.
    expect(try fixture.ask(Self.login, uid: 0).state, equals: "signedIn")
    expect(fixture.service.sessions.keys.map(\.uid).sorted(), equals: [0, 1001])
    // No session that holds something makes room.
    let refused = try fixture.ask()
    expect(refused.errorCode, equals: "TooManyRequests")
    expect(refused.errorMessage?.contains("max_sessions") == true)
    expect(try fixture.ask(uid: 1001).accessKeyID != nil)
  }

  @Test func `of sessions that hold nothing, those without a name go first`() throws {
    let fixture = try ServiceFixture(
      Configured.http(
        daemon: "max_sessions = 4",
        backend: "login_url = http://127.0.0.1/login\nlogout_url = http://127.0.0.1/logout\n")
        + Configured.profile("default"))
    for uid: UInt32 in [1000, 1001, 500_000, 500_001, 500_002] {
      expect(try fixture.ask(uid: uid).errorCode, equals: "SignInRequired")
    }
    // The third without a name takes the place of the first.
    expect(
      fixture.service.sessions.keys.map(\.uid).sorted(), equals: [1000, 1001, 500_001, 500_002])
    expect(try fixture.ask(uid: 0).errorCode, equals: "SignInRequired")
    expect(fixture.service.sessions.keys.map(\.uid).sorted(), equals: [0, 1000, 1001, 500_002])
  }

  @Test func `a session in which a request waits does not go`() throws {
    let fixture = try ServiceFixture(
      Configured.http(
        daemon: "max_sessions = 1",
        backend: "login_url = http://127.0.0.1/login\nlogout_url = http://127.0.0.1/logout\n")
        + Configured.profile("default"))
    let waiting = fixture.connect()
    waiting.send(#"{"wait":60}"#)
    expect(waiting.isWaiting)
    expect(try fixture.ask(uid: 1001).errorCode, equals: "TooManyRequests")
    waiting.leave()
    expect(try fixture.ask(uid: 1001).errorCode, equals: "SignInRequired")
  }

  // MARK: What a user may cause

  @Test func `requests of an owner's uids wait in as many sessions as a user's`() throws {
    let fixture = try fixture()
    fixture.host.upstreams.faults["token"] = .hang
    let limit = UInt32(Limits.Client.waitingSessions)
    let waiting = (0..<limit).map { number in
      let client = fixture.connect(uid: 100_000 + number)
      client.send(#"{"wait":60}"#)
      return client
    }
    expect(waiting.allSatisfy { $0.isWaiting })
    let refused = try fixture.ask(#"{"wait":60}"#, uid: 150_000)
    expect(refused.errorCode, equals: "TooManyRequests")
    let other = fixture.connect(uid: 1001)
    other.send(#"{"wait":60}"#)
    expect(other.isWaiting)
    waiting[0].leave()
    let next = fixture.connect(uid: 150_001)
    next.send(#"{"wait":60}"#)
    expect(next.isWaiting)
  }

  @Test func `an owner's uids cause as many calls as a user`() throws {
    let fixture = try fixture()
    var refused: Reply?
    for number in 0..<UInt32(200) where refused == nil {
      let reply = try fixture.ask(#"{"op":"login"}"#, uid: 100_000 + number % 20)
      if reply.errorCode != nil { refused = reply }
    }
    expect(refused?.errorCode, equals: "TooManyRequests")
    expect(try fixture.ask(#"{"op":"login"}"#).errorCode, equals: "TooManyRequests")
    expect(try fixture.ask(#"{"op":"login"}"#, uid: 1001).errorCode == nil)
  }

  @Test func `an owner's uids guess no faster than a user`() throws {
    let fixture = try fixture(Configured.password())
    let wrong = Self.login.replacing("alice-p", with: "no-p")
    var tried = 0
    for number in 0..<UInt32(20) {
      if try fixture.ask(wrong, uid: 100_000 + number).errorCode == "TooManyRequests" { break }
      tried += 1
    }
    expect(tried, equals: 3)
    expect(try fixture.ask(Self.login).errorCode, equals: "TooManyRequests")
    expect(try fixture.ask(Self.login, uid: 1001).state, equals: "signedIn")
  }

  @Test func `an owner's uids have their passwords checked one at a time`() throws {
    let fixture = try fixture(Configured.password())
    fixture.host.upstreams.delays["login"] = .seconds(1)
    let first = fixture.connect(uid: 100_000)
    first.send(Self.login)
    expect(first.isWaiting)
    let second = fixture.connect(uid: 100_001)
    second.send(Self.login)
    expect(try second.next().errorCode, equals: "TooManyRequests")
    let other = fixture.connect(uid: 1001)
    other.send(Self.login)
    expect(other.isWaiting)
  }

  // MARK: The journal

  @Test func `sign-outs of many uids of one owner are entries of one user`() throws {
    let fixture = try fixture()
    let entries = { fixture.host.log.entries.filter { $0.message == "signed out" } }
    for _ in 0..<20 {
      for uid in UInt32(100_000)..<100_030 { _ = try fixture.ask(#"{"op":"logout"}"#, uid: uid) }
    }
    expect(entries().count, equals: 20)
    expect(try fixture.ask(#"{"op":"logout"}"#, uid: 1001).state, equals: "signedOut")
    expect(entries().count, equals: 21)
    fixture.advance(by: .seconds(61))
    _ = try fixture.ask(#"{"op":"logout"}"#, uid: 100_000)
    expect(entries().last?["repeats"], equals: "580")
  }

  @Test func `what happens to the sessions of an owner's uids is written so many times a minute`()
    throws
  {
    let fixture = try fixture()
    for _ in 0..<4 {
      for uid in UInt32(100_000)..<100_030 {
        _ = try fixture.ask(uid: uid)
        _ = try fixture.ask(#"{"op":"logout"}"#, uid: uid)
        _ = try fixture.ask(#"{"op":"clear","what":"identity"}"#, uid: uid)
      }
    }
    let entries = fixture.host.log.entries.filter { $0.message == "credentials refreshed" }
    expect(entries.count <= 60, "\(entries.count)")
  }

  // MARK: Who sees what

  @Test func `a session is its uid's alone, whoever the owner is`() throws {
    let fixture = try fixture()
    expect(try fixture.ask(uid: 100_000).accessKeyID != nil)
    expect(try fixture.ask(#"{"op":"status"}"#)["Sessions"]?.count, equals: 0)
    expect(try fixture.ask(#"{"op":"status"}"#, uid: 100_001)["Sessions"]?.count, equals: 0)
    expect(try fixture.ask(#"{"op":"status"}"#, uid: 100_000)["Sessions"]?.count, equals: 1)
  }
}
