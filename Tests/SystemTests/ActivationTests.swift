import TestSupport
import Testing

extension SystemTests {
  /// The socket, the first client, and what systemd knows of the daemon.
  @Suite
  struct ActivationTests {
    let machine: Machine

    init() throws { machine = try Machine.current() }

    @Test
    func packageInstallsAndItsSocketListens() throws {
      expect(machine.installation.status, equals: 0, "\(machine.installation)")
      expect(try machine.sh("systemctl is-enabled credd.socket"), equals: "enabled")
      let status = try machine.sh("systemctl status credd.socket")
      expect(status.contains("active (listening)"))
      expect(status.contains("/run/credd/credd.sock (Stream)"))
      expect(try machine.property("ActiveState"), equals: "inactive")
      expect(try machine.sh("stat --format=%a:%U /run/credd/credd.sock"), equals: "666:root")
    }

    @Test
    func firstClientStartsTheDaemonAndEachUserGetsTheirOwn() throws {
      let alice = try machine.accessKey(of: "alice")
      let bob = try machine.accessKey(of: "bob")
      expect(alice != bob)
      expect(try machine.accessKey(of: "alice"), equals: alice)
      expect(try machine.property("ActiveState"), equals: "active")
      expect(try machine.property("User"), equals: "credd")
      let issued = try machine.sh(
        "curl --silent '\(Machine.sandbox)/control/issued?AccessKeyId=\(bob)'")
      let identity = try machine.sh("credctl identity", as: "bob")
      let known = try #require(identity.firstMatch(of: /us-east-1:[0-9a-f-]{36}/))
      expect(issued.contains(known.output))
    }

    @Test
    func stoppingTheDaemonLeavesTheSocket() throws {
      _ = try machine.accessKey(of: "alice")
      let inode = try machine.sh("stat --format=%i /run/credd/credd.sock")
      try machine.sh("systemctl stop credd.service")
      expect(try machine.property("Result"), equals: "success")
      expect(try machine.property("ActiveState", of: "credd.socket"), equals: "active")
      _ = try machine.accessKey(of: "alice")
      expect(try machine.sh("stat --format=%i /run/credd/credd.sock"), equals: inode)
    }

    @Test
    func unusedDaemonEndsAndTheNextClientFindsTheirSession() throws {
      try machine.sh("sed -i '1i [daemon]\\nexit_on_idle = 1s' /etc/credd/credd.conf")
      let key = try machine.accessKey(of: "alice")
      let calls = try machine.upstreamCalls
      try machine.wait(for: "the end", until: "! systemctl is-active --quiet credd.service")
      expect(try machine.property("Result"), equals: "success")
      expect(try machine.property("ActiveState", of: "credd.socket"), equals: "active")
      expect(try machine.accessKey(of: "alice"), equals: key)
      expect(try machine.upstreamCalls, equals: calls)
    }

    @Test
    func severalSockets() throws {
      try machine.sh("systemctl stop credd.socket")
      try machine.dropIn(
        "credd.socket", "[Socket]\nListenStream=/run/credd/second.sock\n")
      try machine.sh("systemctl start credd.socket")
      let key = try machine.accessKey(of: "alice")
      let second = try machine.sh("credctl --socket /run/credd/second.sock get", as: "alice")
      expect(second.contains(key))
    }

    @Test
    func stoppedSocketLeavesNothingToConnectTo() throws {
      try machine.sh("systemctl stop credd.socket credd.service")
      let outcome = try machine.attempt("credctl get", as: "alice")
      expect(outcome.status, equals: 69)
      expect(outcome.output.isEmpty)
      expect(outcome.errors.contains("systemctl enable --now credd.socket"))
      expect(try machine.attempt("test -e /run/credd/credd.sock").status, equals: 1)
    }

    @Test
    func wrongConfigurationIsOneClearLineAndMendsItself() throws {
      _ = try machine.accessKey(of: "alice")
      let before = try machine.property("MainPID")
      try machine.sh("echo 'colour = blue' >>/etc/credd/credd.conf")
      expect(try machine.attempt("systemctl restart credd").status != 0)
      let status = try machine.attempt("systemctl status credd.service").output
      expect(status.contains("status=78"))
      expect(status.contains("Status: \"configuration unusable: /etc/credd/credd.conf:11:"))
      // The journal may count the last line of the process before among those of this start.
      let lines = status.split(separator: "\n").filter {
        $0.contains("credd[") && !$0.contains("credd[\(before)]: stopping")
      }
      expect(lines.count, equals: 1)
      expect(lines.first?.contains("/etc/credd/credd.conf:11: unknown key 'colour'") == true)
      // However many clients come, each is told, and the socket stays.
      let clients = try machine.sh(
        "for _ in {1..100}; do credctl get 2>&1 && exit 1; done; true", as: "bob")
      let answers = Set(clients.split(separator: "\n"))
      expect(answers.count, equals: 1)
      expect(answers.first?.contains("its configuration is wrong") == true)
      expect(try machine.property("ActiveState", of: "credd.socket"), equals: "active")
      try machine.sh("sed -i '$ d' /etc/credd/credd.conf; systemctl restart credd")
      _ = try machine.accessKey(of: "alice")
    }
  }
}
