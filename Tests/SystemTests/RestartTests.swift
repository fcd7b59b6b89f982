import TestSupport
import Testing

extension SystemTests {
  /// However the daemon ends, its sessions and its clients do not notice.
  @Suite
  struct RestartTests {
    let machine: Machine

    init() throws { machine = try Machine.current() }

    /// Three users ask as fast as they can while the daemon is restarted five times.
    @Test
    func restartsUnderLoadFailNoRequestAndCallNoUpstream() throws {
      let users = ["alice", "bob", "carol"]
      for user in users { _ = try machine.accessKey(of: user) }
      let calls = try machine.upstreamCalls
      let load = "while [ ! -e /run/enough ]; do credctl get || echo failed; done"
      try machine.sh("rm -rf /run/enough /run/load; mkdir --mode=1777 /run/load")
      for user in users {
        try machine.sh(
          "systemd-run --quiet --collect --unit=load-\(user) --uid=\(user) bash -c "
            + "'exec >/run/load/\(user) 2>&1; \(load)'")
      }
      for _ in 0..<5 {
        let pid = try machine.property("MainPID")
        let lines = try machine.sh("cat /run/load/* | wc -l")
        try machine.sh("systemctl restart credd.service")
        expect(try machine.property("MainPID") != pid)
        try machine.wait(for: "clients of the new daemon") {
          try Int(machine.sh("cat /run/load/* | wc -l")) ?? 0 > (Int(lines) ?? 0) + 50
        }
      }
      try machine.sh("touch /run/enough")
      for user in users {
        try machine.wait(for: "the end", until: "! systemctl is-active --quiet load-\(user)")
        let replies = try machine.sh("sort /run/load/\(user) | uniq")
        expect(replies.contains("AccessKeyId"))
        expect(replies.split(separator: "\n").count, equals: 1, "\(replies)")
      }
      expect(try machine.upstreamCalls, equals: calls)
      expect(try machine.property("NRestarts"), equals: "0")
    }

    @Test(arguments: ["KILL", "SEGV"])
    func killedDaemonComesBackWithItsSessions(signal: String) throws {
      let key = try machine.accessKey(of: "alice")
      let calls = try machine.upstreamCalls
      let pid = try machine.property("MainPID")
      try machine.sh("kill -\(signal) \(pid)")
      expect(try machine.accessKey(of: "alice"), equals: key)
      expect(try machine.property("MainPID") != pid)
      expect(try machine.upstreamCalls, equals: calls)
    }

    /// No user types a password again because the daemon was restarted.
    @Test
    func signInSurvives() throws {
      try machine.configure(
        """
        [backend corp]
        type = http
        url = \(Machine.sandbox)/token
        login_url = \(Machine.sandbox)/login

        \(Machine.profile("default"))
        """)
      expect(try machine.attempt("credctl get --wait 0", as: "alice").status, equals: 77)
      try machine.sh(
        "credctl login --username alice --password-stdin", as: "alice", input: "alice-password\n")
      let key = try machine.accessKey(of: "alice")
      try machine.sh("systemctl restart credd.service")
      expect(try machine.accessKey(of: "alice"), equals: key)
      expect(try machine.accessKey(of: "alice", "--refresh") != key)
    }

    @Test
    func watchdogRestartsADaemonThatHangs() throws {
      try machine.dropIn("credd.service", "[Service]\nWatchdogSec=1s\n")
      let key = try machine.accessKey(of: "alice")
      let calls = try machine.upstreamCalls
      try machine.sh("kill -STOP $(systemctl show --value --property=MainPID credd.service)")
      expect(try machine.accessKey(of: "alice", "--wait 30"), equals: key)
      expect(try machine.property("NRestarts"), equals: "1")
      expect(try machine.upstreamCalls, equals: calls)
      expect(try machine.journalText().contains("Watchdog timeout"))
    }

    /// A daemon that crashes at every start neither spins nor closes the socket for good.
    @Test
    func daemonThatCannotStartIsTriedAgain() throws {
      try machine.dropIn("credd.service", "[Service]\nExecStart=\nExecStart=/bin/false\n")
      try machine.sh("systemd-run --quiet --collect --uid=alice credctl get")
      try machine.wait(for: "attempts") { try Int(machine.property("NRestarts")) ?? 0 >= 3 }
      expect(try machine.property("ActiveState", of: "credd.socket"), equals: "active")
      try machine.sh("rm -r /etc/systemd/system/credd.service.d; systemctl daemon-reload")
      _ = try machine.accessKey(of: "alice")
    }
  }
}
