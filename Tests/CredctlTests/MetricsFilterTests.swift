import CredctlKit
import TestSupport
import Testing

struct MetricsFilterTests {
  @Test func whatNamesProfilesIsLeftOutWhole() {
    let text = """
      # HELP credd_sessions Sessions by their state.
      # TYPE credd_sessions gauge
      credd_sessions{profile="work",state="guest"} 1
      # HELP credd_waiters Requests that wait for a refresh or a sign-in.
      # TYPE credd_waiters gauge
      credd_waiters 2

      """
    expect(
      MetricsFilter.withoutProfiles(text),
      equals: """
        # HELP credd_waiters Requests that wait for a refresh or a sign-in.
        # TYPE credd_waiters gauge
        credd_waiters 2

        """)
  }
}
