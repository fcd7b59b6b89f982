import TestSupport
import Testing

extension SystemTests {
  /// `systemctl reload`.
  @Suite
  struct ReloadTests {
    let machine: Machine

    init() throws { machine = try Machine.current() }

    @Test
    func newProfileWithoutARestart() throws {
      let key = try machine.accessKey(of: "alice")
      let (pid, calls) = try (machine.property("MainPID"), machine.upstreamCalls)
      try machine.write("/etc/credd/credd.conf.d/more.conf", Machine.profile("more"))
      defer { _ = try? machine.run("rm -r /etc/credd/credd.conf.d") }
      try machine.sh("systemctl reload credd.service")
      // systemctl returns when it is in use.
      try machine.sh("credctl identity --profile more", as: "alice")
      expect(try machine.accessKey(of: "alice"), equals: key)
      expect(try machine.upstreamCalls, equals: calls)
      expect(try machine.accessKey(of: "alice", profile: "more") != key)
      expect(try machine.property("MainPID"), equals: pid)
      expect(try machine.property("ActiveState"), equals: "active")
    }

    /// A request after `systemctl reload` meets the new configuration, each time.
    @Test
    func reloadEndsWhenItIsDone() throws {
      try machine.sh("mkdir -p /etc/credd/credd.conf.d && systemctl start credd.service")
      defer { _ = try? machine.run("rm -r /etc/credd/credd.conf.d") }
      for round in 1...10 {
        let name = "round\(round)"
        try machine.write("/etc/credd/credd.conf.d/more.conf", Machine.profile(name))
        try machine.sh("systemctl reload credd.service && credctl identity --profile \(name)")
      }
    }

    /// Clients of the other sockets are served, and the journal says what is wrong.
    @Test
    func socketOfAnotherKindIsNamedAndLeftAlone() throws {
      try machine.dropIn("credd.socket", "[Socket]\nListenStream=127.0.0.1:4598")
      try machine.sh("systemctl restart credd.socket")
      _ = try machine.accessKey(of: "alice")
      expect(
        try machine.sh("journalctl -u credd.service -p warning --no-pager")
          .contains("ListenStream= of credd.socket"))
      expect(try machine.property("NRestarts"), equals: "0")
    }

    @Test
    func statusIsBackAfterwards() throws {
      _ = try machine.accessKey(of: "alice")
      for _ in 1...2 {
        try machine.sh("systemctl reload credd.service")
        expect(try machine.property("StatusText").hasPrefix("1 session"))
      }
    }

    @Test
    func wrongConfigurationFailsTheReloadAndChangesNothing() throws {
      let key = try machine.accessKey(of: "alice")
      let pid = try machine.property("MainPID")
      try machine.sh("echo 'colour = blue' >>/etc/credd/credd.conf")
      expect(try machine.attempt("systemctl reload credd.service").status != 0)
      expect(try machine.journalText().contains("credd.conf:11: unknown key 'colour'"))
      expect(try machine.property("ActiveState"), equals: "active")
      expect(try machine.property("MainPID"), equals: pid)
      expect(try machine.accessKey(of: "alice"), equals: key)
      // A SIGHUP without systemctl gets the same warning.
      try machine.sh("kill -HUP \(pid)")
      try machine.wait(for: "the warning") {
        try machine.journal("MESSAGE_ID=c0f5b5e7e64f4df9bb6601cd708b5fb6").count == 1
      }
      expect(try machine.accessKey(of: "alice"), equals: key)
    }
  }
}
