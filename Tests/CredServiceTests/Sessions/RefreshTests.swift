import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// When a session is renewed, and when it is not.
struct RefreshTests {
  private func refreshes(_ fixture: ServiceFixture, _ profile: String) -> Int {
    fixture.host.log.entries.count {
      $0.message == "credentials refreshed" && $0["profile"] == profile
    }
  }

  @Test func `a session in use is renewed ahead of time, and an idle one is not`() throws {
    let fixture = try ServiceFixture(
      Configured.http() + Configured.profile("used") + Configured.profile("idle", identifier: "bob")
    )
    let first = try fixture.ask(#"{"profile":"used"}"#)
    expect(try fixture.ask(#"{"profile":"idle"}"#).accessKeyID != nil)
    // Asked once more, it counts as in use.
    expect(try fixture.ask(#"{"profile":"used"}"#), equals: first)
    fixture.advance(by: .seconds(1981))
    expect(refreshes(fixture, "used"), equals: 2)
    let renewed = try fixture.ask(#"{"profile":"used"}"#)
    expect(renewed.accessKeyID != nil && renewed != first)
    fixture.advance(by: .seconds(1700))
    let idle = try fixture.status()
    expect(idle?["Profile"]?.text, equals: "idle")
    expect(idle?["Expiration"] == nil)
    expect(refreshes(fixture, "idle"), equals: 1)
    // Its next client gets new ones all the same.
    expect(try fixture.ask(#"{"profile":"idle"}"#).accessKeyID != nil)
  }

  @Test func `a failed refresh in the background is tried again before expiry`() throws {
    let fixture = try ServiceFixture()
    let first = try fixture.ask()
    expect(try fixture.ask(), equals: first)
    // At half of the lifetime it is renewed, while no client waits; that fails.
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(500, count: 1)
    fixture.advance(by: .seconds(1981))
    expect(fixture.host.upstreams.calls("GetCredentialsForIdentity") >= 2)
    fixture.advance(by: .seconds(30))
    expect(try fixture.status()?["Failures"]?.integer, equals: 0)
    expect(fixture.host.upstreams.calls("GetCredentialsForIdentity"), equals: 3)
    expect(try fixture.ask().accessKeyID != first.accessKeyID)
  }

  @Test(arguments: [
    ("token", "BackendUnavailable"), ("GetCredentialsForIdentity", "CognitoUnavailable"),
  ])
  func `a failed refresh does not last`(_ operation: String, _ code: String) throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.faults[operation] = .status(500)
    expect(try fixture.ask(#"{"refresh":true,"wait":1}"#).errorCode, equals: code)
    fixture.host.upstreams.faults = [:]
    // The fault is over, and nothing was restarted, cleared or signed in.
    fixture.advance(by: .seconds(6))
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
  }

  @Test func `expired credentials are never handed out`() throws {
    let fixture = try ServiceFixture()
    expect(try fixture.ask().accessKeyID != nil)
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(500)
    var refusals = 0
    for _ in 0..<90 {
      fixture.advance(by: .seconds(60))
      let reply = try fixture.ask(#"{"wait":1}"#)
      guard let expiration = reply["Expiration"]?.text else {
        expect(reply.errorCode, equals: "CognitoUnavailable")
        refusals += 1
        continue
      }
      expect(expiration > fixture.host.clock.wallTime.iso8601)
    }
    expect(refusals >= 30)
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(15))
    expect(try fixture.ask(#"{"wait":2}"#).accessKeyID != nil)
  }

  @Test func aTokenIsReplacedBeforeItRunsOut() throws {
    let fixture = try ServiceFixture()
    let line = #"{"op":"token"}"#
    let first = try fixture.ask(line)["Token"]
    expect(first != nil)
    var others = 0
    for _ in 0..<40 {
      fixture.advance(by: .seconds(30))
      let reply = try fixture.ask(line)
      if reply["Token"] != first { others += 1 }
      let expiration = try #require(reply["Expiration"]?.text)
      expect(expiration > fixture.host.clock.wallTime.iso8601)
    }
    expect((5...20).contains(others))
    expect(fixture.host.upstreams.calls("token"), equals: 2)
    expect(try fixture.ask().accessKeyID != nil)
  }

  @Test func `what Cognito says its own time is counts for lifetimes`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.dateSkew = .seconds(7200)
    let first = try fixture.ask()
    for _ in 0..<2 { expect(try fixture.ask(), equals: first) }
    // By this host's clock they would last three hours; they are renewed after half an hour.
    fixture.advance(by: .seconds(1981))
    expect(fixture.host.upstreams.calls("GetCredentialsForIdentity"), equals: 2)
  }

  @Test func `a host that slept for hours serves nothing old`() throws {
    let fixture = try ServiceFixture()
    let first = try fixture.ask()
    for _ in 0..<2 { expect(try fixture.ask(), equals: first) }
    fixture.host.upstreams.faults["token"] = .failure(.nameResolution)
    fixture.advance(by: .seconds(8 * 3600))
    expect(try fixture.ask(#"{"wait":1}"#).errorCode, equals: "BackendUnavailable")
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(15))
    let reply = try fixture.ask()
    expect(reply.accessKeyID != nil && reply != first)
  }

  @Test func `one timer wakes all sessions at their own times`() throws {
    let names = (0..<30).map { "p\($0)" }
    let fixture = try ServiceFixture(
      Configured.http() + names.map { Configured.profile($0) }.joined())
    for name in names {
      for _ in 0..<2 { expect(try fixture.ask(#"{"profile":"\#(name)"}"#).accessKeyID != nil) }
    }
    let due = try names.map { name in
      let session = try #require(
        fixture.service.sessions[SessionKey(uid: 1000, profile: name)])
      return (name, try #require(session.machine.credentials?.refreshAt))
    }.sorted { $0.1 < $1.1 }
    let wakes = fixture.service.sessions.values.map(\.machine.nextWake)
    expect(fixture.service.sessionTable.nextDue?.machine.nextWake, equals: wakes.min())
    for (name, time) in due {
      fixture.host.clock.advance(to: time - .milliseconds(1))
      expect(refreshes(fixture, name), equals: 1)
      fixture.host.clock.advance(to: time)
      expect(refreshes(fixture, name), equals: 2)
    }
  }
}
