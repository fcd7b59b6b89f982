import CredCore
import Logging
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What operators are told of an upstream that fails: what was asked of whom, what came back, how long
/// it took, and what happens next; an outage once when it begins and once when it ends.
struct OutageTests {
  private func outages(_ fixture: ServiceFixture) -> [LogBook.Entry] {
    fixture.host.log.entries.filter {
      $0.message.hasPrefix("calls fail: ") || $0.message.contains(" works again")
    }
  }

  @Test func `an outage is logged once when it begins and once when it ends`() throws {
    let fixture = try ServiceFixture(
      Configured.http(url: "http://127.0.0.1/token?key=secret")
        + Configured.profile("default"))
    fixture.host.upstreams.faults["token"] = .failure(
      TransportFailure(.connect, reason: "Connection refused", detail: "port 80: refused"))
    for _ in 0..<30 {
      _ = try fixture.ask(#"{"wait":0}"#)
      fixture.advance(by: .seconds(10))
    }
    let began = outages(fixture)
    expect(began.count, equals: 1, "\(began)")
    expect(began.first?.level, equals: .warning)
    expect(
      began.first?.message,
      equals:
        "calls fail: backend 'corp' cannot be reached; check the network, url and the proxy "
        + "(Connection refused)")
    expect(began.first?["upstream"], equals: "backend 'corp'")
    expect(
      began.first?["detail"], equals: "POST http://127.0.0.1/token: port 80: refused, after 0.0 s")
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(60))
    expect(try fixture.ask(#"{"wait":5}"#).accessKeyID != nil)
    let all = outages(fixture)
    expect(all.count, equals: 2, "\(all)")
    expect(all.last?.level, equals: .notice)
    let length = try #require(all.last?["seconds"].flatMap(Int.init))
    expect((300...420).contains(length))
    expect(all.last?.message, equals: "backend 'corp' works again, after \(length) s")
  }

  @Test func `a failure's cause and what comes next are in the journal`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
      400, #"{"__type":"TooManyRequestsException","message":"slow down"}"#)
    fixture.host.upstreams.delays["GetCredentialsForIdentity"] = .milliseconds(1234)
    expect(
      try fixture.ask(#"{"wait":5}"#)["Error"]?["Reason"]?.text, equals: "TooManyRequestsException")
    let entry = try #require(
      fixture.host.log.entries.first { $0.message.hasPrefix("no credentials: ") })
    expect(entry["detail"], equals: "POST http://127.0.0.1:4599/: HTTP 400, after 1.2 s")
    expect(entry["reason"], equals: "TooManyRequestsException")
    expect(entry["next"]?.hasSuffix("Z") == true, "\(entry.metadata)")
  }

  @Test func `status has the cause, its details for administrators alone`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.faults["token"] = .status(503, #"{"message":"closed"}"#)
    expect(try fixture.ask(#"{"wait":0.5}"#).errorCode, equals: "BackendUnavailable")
    let own = try #require(try fixture.status()?["LastError"])
    expect(own["Message"]?.text?.contains("(status 503: closed)") == true)
    expect(own["Detail"] == nil)
    let all = try fixture.ask(#"{"op":"status","all":true}"#, uid: 0)
    expect(
      all["Sessions"]?[0]?["LastError"]?["Detail"]?.text,
      equals: "POST http://127.0.0.1/token: HTTP 503, after 0.0 s")
  }

  @Test func `trouble of one user is said to be of that user`() {
    var watch = OutageWatch()
    let now: Instant = .distantFuture - .seconds(1000)
    let failure = UpstreamFailure.transport(.timeout, from: .backend("corp"))
    func user(_ uid: UInt32) -> UnixUser { UnixUser(uid: uid, name: "u\(uid)") }
    for _ in 0..<4 { expect(watch.ended(failure, of: user(7), now) == nil) }
    expect(
      watch.ended(failure, of: user(7), now), equals: .began(failure, since: now, isOfOneUser: true)
    )
    expect(watch.ended(failure, of: user(8), now) == nil)
    expect(watch.ended(nil, of: user(8), now + .seconds(9)), equals: .ended(after: .seconds(9)))
    for uid: UInt32 in 1...4 { expect(watch.ended(failure, of: user(uid), now) == nil) }
    expect(
      watch.ended(failure, of: user(5), now),
      equals: .began(failure, since: now, isOfOneUser: false))
  }
}
