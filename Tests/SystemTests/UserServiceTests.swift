import TestSupport
import Testing

extension SystemTests {
  /// A user's own credd, of `systemctl --user`.
  @Suite
  struct UserServiceTests {
    let machine: Machine

    init() throws { machine = try Machine.current() }

    @Test
    func userRunsTheirOwn() throws {
      try machine.sh("loginctl enable-linger carol; systemctl start user@$(id -u carol).service")
      defer {
        _ = try? machine.run("loginctl disable-linger carol; systemctl stop user@$(id -u carol)")
      }
      try machine.sh(
        """
        mkdir -p ~/.config/credd
        cat >~/.config/credd/credd.conf
        systemctl --user enable --now credd.socket
        """, as: "carol",
        input: """
          [backend corp]
          type = http
          url = \(Machine.sandbox)/token

          \(Machine.profile("default"))
          """)
      _ = try machine.accessKey(of: "carol")
      let status = try machine.sh("systemctl --user status credd.service", as: "carol")
      expect(status.contains("active (running)"))
      expect(try machine.property("ActiveState"), equals: "inactive", "the host's was asked")
      try machine.sh("systemctl --user reload credd.service", as: "carol")
      // No other user gets at it, and without it the host's is asked.
      let socket = "/run/user/$(id -u carol)/credd/credd.sock"
      expect(try machine.attempt("credctl --socket \(socket) get", as: "alice").status, equals: 77)
      try machine.sh("systemctl --user disable --now credd.socket credd.service", as: "carol")
      _ = try machine.accessKey(of: "carol")
      expect(try machine.property("ActiveState"), equals: "active")
    }
  }
}
