import TestSupport
import Testing

@testable import CredCore

struct ConfigurationSummaryTests {
  private func summary(
    _ files: [(name: String, text: String)], warnings: Int = 0, unmade: Int = 0
  ) -> String {
    "\(ConfigurationSummary(reading(files), warnings: warnings, unmade: unmade))"
  }

  @Test func `files, profiles and backends are counted`() {
    let main = (name: "/etc/credd/credd.conf", text: plainProfile)
    let backend = (
      name: "/etc/credd/credd.conf.d/a.conf", text: "[backend b]\ntype = exec\ncommand = /bin/x\n"
    )
    let more = (
      name: "/etc/credd/credd.conf.d/b.conf",
      text: plainProfile.replacing("profile p", with: "profile q")
        + "[socket /run/x/sock]\nprofiles = p\n"
    )
    expect(summary([main]), equals: "/etc/credd/credd.conf: 1 profile, 0 backends, no errors")
    expect(
      summary([main, backend], warnings: 1),
      equals:
        "/etc/credd/credd.conf and 1 file of /etc/credd/credd.conf.d: 1 profile, 1 backend, no "
        + "errors, 1 warning")
    expect(
      summary([main, backend, more], warnings: 2, unmade: 1),
      equals:
        "/etc/credd/credd.conf and 2 files of /etc/credd/credd.conf.d: 2 profiles, 1 backend, 1 "
        + "socket, no errors, 2 warnings, 1 check not made")
  }

  @Test func `an empty configuration gives nothing`() {
    expect(
      summary([("/c", "")], warnings: 1),
      equals: "/c: no profile, so nothing can be asked for; no errors, 1 warning")
  }
}
