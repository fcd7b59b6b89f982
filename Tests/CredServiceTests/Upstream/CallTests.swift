import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Calls of sessions in the queues of their endpoints: single flight, order, and calls that nothing
/// waits for any more.
struct CallTests {
  private static func profiles(_ names: [String], limits: String) -> String {
    Configured.http(backend: limits) + names.map { Configured.profile($0) }.joined()
  }

  @Test func `many clients are one callback and one exchange`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.delays["token"] = .milliseconds(500)
    var clients = (0..<100).map { fixture.connect(pid: Int32(100 + $0)) }
    for client in clients { client.send(#"{"wait":30}"#) }
    expect(fixture.upstream.callCount, equals: 1)
    // One that leaves, the first at that, changes nothing for the others.
    clients.removeFirst()
    fixture.advance(by: .milliseconds(500))
    let first = try clients[0].next()
    expect(first.accessKeyID != nil)
    for client in clients.dropFirst() { expect(try client.next(), equals: first) }
    expect(fixture.host.upstreams.calls, equals: ["token": 1, "GetCredentialsForIdentity": 1])
  }

  @Test func `a refresh goes on when its first client leaves`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.delays["token"] = .milliseconds(500)
    let (first, second) = (fixture.connect(), fixture.connect())
    for client in [first, second] { client.send(#"{"wait":30}"#) }
    first.leave()
    expect(try fixture.status()?["Waiters"]?.integer, equals: 1)
    fixture.advance(by: .milliseconds(500))
    expect(try second.next().accessKeyID != nil)
    expect(first.replies.isEmpty)
    expect(fixture.host.upstreams.calls("token"), equals: 1)
  }

  @Test func `a refresh goes on when its last client leaves, and its result is kept`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.delays["token"] = .milliseconds(500)
    let client = fixture.connect()
    client.send("{}")
    client.leave()
    fixture.advance(by: .milliseconds(500))
    expect(try fixture.ask().accessKeyID != nil)
    expect(fixture.host.upstreams.calls("token"), equals: 1)
  }

  @Test func `the call of a user that signs out is withdrawn from its queue`() throws {
    let text = Self.profiles(["default", "second"], limits: "max_parallel = 1")
    let fixture = try ServiceFixture(text)
    fixture.host.upstreams.delays["token"] = .milliseconds(500)
    let (first, second) = (fixture.connect(), fixture.connect())
    first.send("{}")
    second.send(#"{"profile":"second"}"#)
    expect(fixture.upstream.callCount == 2 && fixture.host.http.requests.count == 1)
    _ = try fixture.ask(#"{"op":"logout","profile":"second"}"#)
    expect(fixture.upstream.callCount, equals: 1)
    fixture.advance(by: .seconds(2))
    expect(try first.next().accessKeyID != nil)
    expect(fixture.host.upstreams.calls("token"), equals: 1)
  }

  @Test func `the outcome of a call that was under way at a sign-out changes nothing`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.delays["token"] = .milliseconds(500)
    let client = fixture.connect()
    client.send("{}")
    _ = try fixture.ask(#"{"op":"logout"}"#)
    expect(fixture.upstream.callCount, equals: 1)
    fixture.advance(by: .milliseconds(500))
    expect(fixture.upstream.callCount, equals: 0)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
    expect(fixture.host.http.requests.count, equals: 1)
    expect(fixture.service.sessions.values.allSatisfy { $0.call == nil })
  }

  @Test func `a call is put first when a client begins to wait for it`() throws {
    let text = Self.profiles(["default", "first", "second"], limits: "max_parallel = 1")
    let fixture = try ServiceFixture(text)
    // Twice, so that the session is in use and renewed ahead of time.
    for _ in 0..<2 { expect(try fixture.ask().accessKeyID != nil) }
    let session = try #require(fixture.service.sessions.values.first)
    let due = try #require(session.machine.credentials?.refreshAt)
    fixture.host.clock.advance(to: due - .milliseconds(500))
    fixture.host.upstreams.delays["token"] = .seconds(1)
    let first = fixture.connect()
    first.send(#"{"profile":"first"}"#)
    fixture.host.clock.advance(to: due)
    expect(session.call?.isInPerson == false)
    let second = fixture.connect()
    second.send(#"{"profile":"second","wait":60}"#)
    expect(fixture.upstream.callCount == 3 && fixture.host.upstreams.calls("token") == 2)
    let client = fixture.connect()
    client.send(#"{"min_ttl":3000,"wait":60}"#)
    expect(session.call?.isInPerson == true)
    fixture.advance(by: .seconds(5))
    for client in [first, second, client] { expect(try client.next().accessKeyID != nil) }
  }

  @Test func `an upstream that fails again and again is left alone for a while`() throws {
    let names = (0..<8).map { "p\($0)" }
    let fixture = try ServiceFixture(Self.profiles(names, limits: "max_parallel = 1"))
    fixture.host.upstreams.faults["token"] = .failure(.connect)
    for name in names {
      expect(
        try fixture.ask(#"{"profile":"\#(name)","wait":1}"#).errorCode, equals: "BackendUnavailable"
      )
    }
    expect(fixture.host.upstreams.calls("token"), equals: 5)
    let refused = try fixture.ask(#"{"profile":"p7","wait":1}"#)
    expect(refused.errorMessage?.contains("offline since ") == true, "\(refused)")
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(15))
    for name in names {
      expect(try fixture.ask(#"{"profile":"\#(name)"}"#).accessKeyID != nil)
    }
  }

  @Test func `a file whose reading hangs takes one thread, until it answers`() throws {
    let fixture = try ServiceFixture(
      Configured.usual(backend: "bearer_token_file = /run/token"))
    fixture.host.queries.files["/run/token"] = "t"
    fixture.host.background.time[.files] = .some(nil)
    let others = (1001...1004 as ClosedRange<UInt32>).map { uid in fixture.connect(uid: uid) }
    for other in others { other.send(#"{"wait":6}"#) }
    for _ in 0..<10 {
      let refused = try fixture.ask(#"{"wait":6}"#)
      // It may answer again: nothing is wrong with the configuration.
      expect(refused.errorCode, equals: "BackendUnavailable", "\(refused)")
      expect(refused["Error"]?["Kind"]?.text, equals: "temporary")
      expect(refused["Error"]?["RetryAfter"] != nil)
      fixture.advance(by: .seconds(30))
    }
    expect(fixture.host.background.asked[.files], equals: 1)
    fixture.host.background.time[.files] = .zero
    fixture.host.background.release(.files)
    fixture.advance(by: .seconds(10))
    expect(try fixture.ask(#"{"wait":5}"#).accessKeyID != nil)
  }

  @Test func `the server's time is passed on to the clock, of AWS alone`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.dateSkew = .seconds(-7200)
    let first = try fixture.ask()
    expect(first.accessKeyID != nil)
    expect(fixture.host.clock.serverTimes.count, equals: 1)
    // By this host's clock they have expired; by the server's, which counts, they have not.
    fixture.advance(by: .seconds(10))
    expect(try fixture.ask(), equals: first)
    expect(fixture.host.upstreams.calls("GetCredentialsForIdentity"), equals: 1)
    fixture.host.clock.skew = .seconds(-7200)
    expect(try fixture.ask(#"{"op":"status"}"#)["Daemon"]?["ClockSkew"]?.double, equals: -7200)
  }
}
