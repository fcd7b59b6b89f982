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
      try machine.wait(for: "the profile", until: "credctl identity --profile more")
      #expect(try machine.accessKey(of: "alice") == key)
      #expect(try machine.upstreamCalls == calls)
      #expect(try machine.accessKey(of: "alice", profile: "more") != key)
      #expect(try machine.property("MainPID") == pid)
      #expect(try machine.property("ActiveState") == "active")
    }

    @Test
    func wrongConfigurationFailsTheReloadAndChangesNothing() throws {
      let key = try machine.accessKey(of: "alice")
      let pid = try machine.property("MainPID")
      try machine.sh("echo 'colour = blue' >>/etc/credd/credd.conf")
      #expect(try machine.attempt("systemctl reload credd.service").status != 0)
      #expect(try machine.journalText().contains("credd.conf:11: unknown key 'colour'"))
      #expect(try machine.property("ActiveState") == "active")
      #expect(try machine.property("MainPID") == pid)
      #expect(try machine.accessKey(of: "alice") == key)
      // Who goes around systemctl is told the same.
      try machine.sh("kill -HUP \(pid)")
      try machine.wait(for: "the warning") {
        try machine.journal("MESSAGE_ID=c0f5b5e7e64f4df9bb6601cd708b5fb6").count == 1
      }
      #expect(try machine.accessKey(of: "alice") == key)
    }
  }
}
