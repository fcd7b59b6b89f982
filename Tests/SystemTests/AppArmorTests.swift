import Foundation
import TestSupport
import Testing

extension SystemTests {
  /// credd under the AppArmor profile of its examples.
  @Suite(
    .enabled(
      if: (try? String(contentsOfFile: "/sys/module/apparmor/parameters/enabled", encoding: .utf8))?
        .hasPrefix("Y") ?? false, "this kernel has no AppArmor"))
  struct AppArmorTests {
    let machine: Machine

    init() throws { machine = try Machine.current() }

    @Test
    func profileIsEnforced() throws {
      try machine.sh(
        """
        mount -t securityfs securityfs /sys/kernel/security 2>/dev/null || true
        apparmor_parser -rT /usr/share/doc/credd/examples/usr.bin.credd
        """)
      defer {
        _ = try? machine.run(
          "apparmor_parser -RT /usr/share/doc/credd/examples/usr.bin.credd; systemctl stop credd")
      }
      let key = try machine.accessKey(of: "alice")
      expect(
        try machine.sh("cat /proc/$(pidof credd)/attr/current").contains("credd (enforce)"))
      // What outlives a restart does so under the profile too.
      try machine.sh("systemctl restart credd")
      expect(try machine.accessKey(of: "alice"), equals: key)
      expect(try !machine.journalText().contains("apparmor=\"DENIED\""))
    }
  }
}
