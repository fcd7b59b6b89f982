import CredCore
import Logging
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Clients that wait for a sign-in, for a refresh, or for the end.
struct WaitingTests {
  private static let login = #"{"op":"login","username":"alice","password":"alice-password"}"#

  private func fixture() throws -> ServiceFixture { try ServiceFixture(Configured.password()) }

  private func waiting(_ fixture: ServiceFixture, _ line: String = #"{"wait":120}"#) -> TestClient {
    let client = fixture.connect()
    client.send(line)
    expect(client.isWaiting && client.replies.isEmpty)
    return client
  }

  private func waiters(_ fixture: ServiceFixture) throws -> Int64? {
    try fixture.status()?["Waiters"]?.integer
  }

  @Test func `a sign-in answers all that wait, by one exchange`() throws {
    let fixture = try fixture()
    let clients = (1...10).map { _ in waiting(fixture) }
    let token = waiting(fixture, #"{"op":"token","wait":120}"#)
    expect(try waiters(fixture), equals: 11)
    // A sign-in that fails answers none of them.
    let refused = try fixture.ask(Self.login.replacing("alice-p", with: "no-p"))
    expect(refused.errorCode, equals: "SignInFailed")
    expect(try waiters(fixture), equals: 11)
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    let replies = try clients.map { try $0.next() }
    expect(replies[0].accessKeyID != nil)
    expect(replies.allSatisfy { $0 == replies[0] })
    let identity = try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]
    expect(try token.next()["IdentityId"], equals: identity)
    expect(fixture.host.upstreams.calls("token"), equals: 1)
    expect(fixture.host.upstreams.calls("GetCredentialsForIdentity"), equals: 1)
  }

  @Test func `a sign-in answers them with its error, too`() throws {
    let fixture = try fixture()
    let client = waiting(fixture)
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
      400,
      #"{"__type":"InvalidIdentityPoolConfigurationException","message":"Check assigned IAM roles for this pool."}"#
    )
    // The password is good; the pool is not.
    expect(try fixture.ask(Self.login).errorCode, equals: "PoolMisconfigured")
    expect(try client.next().errorCode, equals: "PoolMisconfigured")
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(6))
    expect(try fixture.ask().accessKeyID != nil)
  }

  /// The pool is wrong for every user of the profile: one warning is enough, and each user has an entry.
  @Test func `a fault of the pool is one warning for all users`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
      400, #"{"__type":"InvalidIdentityPoolConfigurationException","message":"no role"}"#)
    func levels() -> [Logger.Level] {
      fixture.host.log.entries.filter { $0.message.contains("no role") }.map(\.level)
    }
    for uid in [1000, 1001] as [UInt32] {
      expect(try fixture.ask(uid: uid).errorCode, equals: "PoolMisconfigured")
    }
    expect(levels(), equals: [.warning, .info])
    // It is told again while it lasts.
    fixture.advance(by: .seconds(600))
    expect(try fixture.ask(uid: 1001).errorCode, equals: "PoolMisconfigured")
    expect(levels().count { $0 == .warning }, equals: 2)
  }

  @Test func `a web page in place of AWS is one warning for all users`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(200, "<html></html>")
    for uid in [1000, 1001] as [UInt32] {
      expect(try fixture.ask(#"{"wait":1}"#, uid: uid).errorCode, equals: "CognitoUnavailable")
    }
    let levels = fixture.host.log.entries.filter { $0.message.hasPrefix("no credentials") }
      .map(\.level)
    expect(levels, equals: [.warning, .info], "\(fixture.host.log.messages)")
  }

  @Test func `release ends the wait`() throws {
    let fixture = try fixture()
    let clients = (1...3).map { _ in waiting(fixture) }
    let line = #"{"op":"release"}"#
    expect(try fixture.ask(line)["Released"]?.integer, equals: 3)
    for client in clients { expect(try client.next().errorCode, equals: "SignInRequired") }
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
    expect(try fixture.ask(line)["Released"]?.integer, equals: 0)
    // The clients were released; the next one may wait again.
    let next = waiting(fixture)
    _ = try fixture.ask(Self.login)
    expect(try next.next().accessKeyID != nil)
  }

  @Test func `no client waits longer than it asked`() throws {
    let fixture = try fixture()
    let patient = waiting(fixture)
    let client = fixture.connect()
    let start = fixture.now
    client.send(#"{"wait":0.5}"#)
    fixture.advance(by: .milliseconds(499))
    expect(client.hasReadAll)
    fixture.advance(by: .milliseconds(1))
    expect(try client.next().errorCode, equals: "SignInRequired")
    expect(fixture.now - start < .milliseconds(501))
    expect(try waiters(fixture), equals: 1)
    _ = try fixture.ask(Self.login)
    expect(try patient.next().accessKeyID != nil)
  }

  @Test func `a client that leaves disturbs no other`() throws {
    let fixture = try fixture()
    let (leaving, staying) = (waiting(fixture), waiting(fixture))
    leaving.leave()
    expect(try waiters(fixture), equals: 1)
    _ = try fixture.ask(Self.login)
    expect(try staying.next().accessKeyID != nil)
    expect(leaving.replies.isEmpty)
  }

  @Test func `a second password is not tried beside the first`() throws {
    let fixture = try fixture()
    fixture.host.upstreams.delays["login"] = .seconds(1)
    let first = waiting(fixture, Self.login)
    let second = fixture.connect()
    second.send(Self.login.replacing("alice", with: "bob"))
    expect(try second.next().errorCode, equals: "TooManyRequests")
    fixture.advance(by: .seconds(1))
    expect(try first.next().state, equals: "signedIn")
    expect(fixture.host.upstreams.calls("login"), equals: 1)
    let callback = fixture.host.http.requests.last { $0.operation == "token" }
    expect(callback?.json?["DeveloperUserIdentifier"]?.text, equals: "alice")
  }

  @Test func offlineSignsNoUserOut() throws {
    let fixture = try fixture()
    let identity = try fixture.ask(Self.login)["IdentityId"]
    let before = try fixture.ask()
    for operation in ["token", "login", "GetCredentialsForIdentity"] {
      fixture.host.upstreams.faults[operation] = .failure(.reset)
    }
    fixture.advance(by: .seconds(60))
    expect(try fixture.ask(#"{"refresh":true,"wait":3}"#).errorCode != nil)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    expect(try fixture.ask(), equals: before)
    _ = try fixture.ask(#"{"op":"clear","what":"credentials"}"#)
    expect(try fixture.ask(#"{"wait":1}"#).errorCode != nil)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(15))
    expect(try fixture.ask().accessKeyID != nil)
    expect(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"], equals: identity)
  }

  // MARK: The end of the daemon

  @Test func `clients that wait are dismissed at the end, each once`() throws {
    let fixture = try fixture()
    let (signIn, get) = (fixture.connect(), waiting(fixture, #"{"wait":120,"id":5}"#))
    fixture.host.upstreams.faults["login"] = .hang
    signIn.send(Self.login)
    let watcher = fixture.connect()
    watcher.send(#"{"op":"watch"}"#)
    _ = try watcher.next()
    // One that is looked up is dismissed, too.
    fixture.host.background.time[.users] = .some(nil)
    let unknown = fixture.connect(uid: 4000)
    unknown.send(#"{"user":"somebody"}"#)
    fixture.service.dismissWaiters()
    expect(try get.next().errorCode, equals: "ShuttingDown")
    expect(get.replies.last?["Id"]?.integer, equals: 5)
    expect(try signIn.next().errorCode, equals: "ShuttingDown")
    expect(watcher.hasReadAll)
    expect([get, signIn, unknown].allSatisfy { !$0.isWaiting })
    fixture.service.dismissWaiters()
    fixture.advance(by: .seconds(300))
    expect(get.replies.count == 1 && signIn.replies.count == 1 && unknown.replies.count == 1)
  }

  @Test func `a client that asks after the dismissal is served until the end`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.delays["token"] = .seconds(1)
    let client = fixture.connect()
    client.send(#"{"wait":30}"#)
    fixture.service.dismissWaiters()
    expect(try client.next().errorCode, equals: "ShuttingDown")
    client.send(#"{"wait":30}"#)
    fixture.advance(by: .seconds(1))
    expect(try client.next().accessKeyID != nil)
    expect(client.hasReadAll)
  }
}
