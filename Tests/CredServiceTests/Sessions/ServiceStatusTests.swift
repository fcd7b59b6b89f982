import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What `systemctl status` shows.
struct ServiceStatusTests {
  @Test func `it says what an operator wants to know`() {
    expect(ServiceStatus().text, equals: "0 sessions")
    expect(ServiceStatus(sessions: 1).text, equals: "1 session")
    let full = ServiceStatus(
      sessions: 12, degraded: 1, nextRefresh: WallTime(milliseconds: 1_700_000_000_000),
      trouble: "configuration not reloaded: a:1: b")
    expect(
      full.text,
      equals: "12 sessions, next refresh at 2023-11-14T22:13:20Z, 1 degraded, "
        + "configuration not reloaded: a:1: b")
  }

  @Test func `the next refresh is said though a caller's wait ends before`() throws {
    let fixture = try ServiceFixture(Configured.password())
    let login = #"{"op":"login","username":"alice","password":"alice-password"}"#
    expect(try fixture.ask(login).state, equals: "signedIn")
    _ = try fixture.ask()
    let alone = fixture.service.summary.nextRefresh
    expect(alone != nil)
    let waiting = fixture.connect(uid: 1001)
    waiting.send(#"{"wait":300}"#)
    expect(waiting.hasReadAll)
    expect(fixture.service.summary.nextRefresh, equals: alone)
  }
}
