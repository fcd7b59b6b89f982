import TestSupport
import Testing

extension SystemTests {
  /// The example's socket with a cap, as systemd.md has it.
  @Suite
  struct CappedSocketTests {
    private static let socket = "/run/credd-agents/sock"
    private static let section = "[socket \(socket)]\nprofiles = work\n"
    let machine: Machine

    init() throws { machine = try Machine.current() }

    /// Passes the socket by the page's commands.
    private func start(_ section: String) throws {
      try machine.write("/etc/credd/credd.conf.d/agents.conf", Machine.profile("work") + section)
      try machine.sh(
        """
        cp /usr/share/doc/credd/examples/credd-agents.socket /etc/systemd/system/
        systemctl enable --quiet credd-agents.socket
        systemctl stop credd.service credd.socket credd-tokens.socket
        systemctl start credd.socket credd-tokens.socket credd-agents.socket
        """)
    }

    private func end() {
      _ = try? machine.run(
        """
        systemctl disable --quiet credd-agents.socket
        systemctl stop credd-agents.socket
        rm -rf /etc/credd/credd.conf.d /etc/systemd/system/credd-agents.socket
        systemctl daemon-reload
        """)
    }

    private func get(_ options: String = "") throws -> Command.Outcome {
      try machine.attempt("credctl --socket \(Self.socket) get \(options)", as: "alice")
    }

    @Test
    func overItThereIsItsProfileAlone() throws {
      defer { end() }
      try start(Self.section)
      let key = try machine.accessKey(of: "alice", profile: "work")
      let own = try machine.accessKey(of: "alice")
      for _ in 1...2 {
        let given = try get()
        expect(given.output.contains(key), "\(given)")
        let others = try ["default", "nowhere"].map { try get("--profile \($0)") }
        expect(others.allSatisfy { $0.status == 77 && $0.output.isEmpty }, "\(others)")
        let denied = try machine.attempt("credctl --socket \(Self.socket) status", as: "root")
        expect(denied.status, equals: 77, "\(denied)")
        // What systemd passes after a restart is the same socket.
        try machine.sh("systemctl restart credd.service")
        expect(try machine.accessKey(of: "alice"), equals: own)
      }
    }

    @Test
    func withoutItsSectionItServesNobody() throws {
      defer { end() }
      try start(Self.section)
      expect(try get().status, equals: 0)
      try machine.write("/etc/credd/credd.conf.d/agents.conf", Machine.profile("work"))
      try machine.sh("systemctl reload credd.service")
      expect(try get().status, equals: 77)
      try machine.sh("systemctl restart credd.service")
      expect(try get().status, equals: 77)
      let errors = try machine.sh("journalctl -u credd.service -p err --no-pager")
      expect(errors.contains(Self.socket), "\(errors)")
      _ = try machine.accessKey(of: "alice", profile: "work")
    }

    /// The folder for containers holds the one socket, for whoever may reach it.
    @Test
    func itsFolderHasNothingElse() throws {
      defer { end() }
      try start(Self.section)
      expect(try machine.sh("ls -A /run/credd-agents"), equals: "sock")
      expect(try machine.sh("stat --format=%a:%U \(Self.socket)"), equals: "666:root")
      try machine.sh("systemctl stop credd-agents.socket")
      expect(try machine.attempt("test -e \(Self.socket)").status, equals: 1)
    }
  }
}
