import CredCore
import Logging
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A backend says when its enrolment of this host ends: the journal warns, and `check` shows it.
struct HostEnrolmentNoticeTests {
  private static func say(_ end: WallTime?, _ fixture: ServiceFixture) {
    fixture.host.upstreams.tokenHeaders = end.map { [("Credd-Host-Expires", $0.iso8601)] } ?? []
  }

  private func warnings(_ fixture: ServiceFixture) -> [String] {
    fixture.host.log.messages.compactMap { message in
      message.firstMatch(of: /enrolment at backend 'corp' ends in less than (.+), at/)
        .map { String($0.output.1) }
    }
  }

  @Test func theJournalWarnsOnceForAllUsers() throws {
    let fixture = try ServiceFixture()
    let end = fixture.host.clock.wallTime + .seconds(8 * 86_400)
    Self.say(end, fixture)
    for uid in UInt32(1000)...1002 { _ = try fixture.ask(uid: uid) }
    expect(warnings(fixture), equals: ["30 days"])
    let entry = try #require(fixture.host.log.entries.first { $0.message.contains("enrolment") })
    expect(entry.level, equals: .warning)
    expect(entry["expiration"], equals: end.iso8601)
    fixture.advance(by: .seconds(2 * 86_400))
    _ = try fixture.ask()
    expect(warnings(fixture), equals: ["30 days", "7 days"])
  }

  @Test func aCheckShowsTheEnd() throws {
    let fixture = try ServiceFixture()
    let end = fixture.host.clock.wallTime + .seconds(200 * 86_400)
    Self.say(end, fixture)
    _ = try fixture.ask()
    fixture.advance(by: .seconds(120))
    let reply = try fixture.ask(#"{"op":"check"}"#)
    let step = try #require(reply.steps.first { $0.name == "enrolment at 'corp'" })
    expect(step.isOK && step.detail == "ends in 199 days, at \(end.iso8601)", "\(step)")
    expect(warnings(fixture).isEmpty)
    let all = try fixture.ask(#"{"op":"check","all":true}"#, uid: 0)
    expect(all.steps.last?.name, equals: "enrolment at 'corp'")
  }

  @Test func aBackendWithoutEndsHasNoStep() throws {
    let fixture = try ServiceFixture()
    Self.say(fixture.host.clock.wallTime + .seconds(86_400), fixture)
    _ = try fixture.ask()
    expect(warnings(fixture), equals: ["a day"])
    Self.say(nil, fixture)
    fixture.advance(by: .seconds(120))
    _ = try fixture.ask(#"{"refresh":true}"#)
    let reply = try fixture.ask(#"{"op":"check"}"#)
    expect(!reply.steps.contains { $0.name.contains("enrolment") }, "\(reply)")
  }
}
