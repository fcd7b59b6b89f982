import CredCore
import Testing

@testable import CredService

/// What `systemctl status` shows.
struct ServiceStatusTests {
  @Test func `it says what an operator wants to know`() {
    #expect(ServiceStatus().text == "0 sessions")
    #expect(ServiceStatus(sessions: 1).text == "1 session")
    let full = ServiceStatus(
      sessions: 12, degraded: 1, nextRefresh: WallTime(milliseconds: 1_700_000_000_000),
      trouble: "configuration not reloaded: a:1: b")
    #expect(
      full.text
        == "12 sessions, next refresh at 2023-11-14T22:13:20Z, 1 degraded, "
        + "configuration not reloaded: a:1: b")
  }
}
