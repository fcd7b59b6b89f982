import TestSupport
import Testing

extension SystemTests {
  /// What is on disk, and a disk that cannot be written.
  @Suite
  struct StateTests {
    let machine: Machine

    init() throws { machine = try Machine.current() }

    private func identity(of user: String) throws -> String {
      let reply = try machine.sh("credctl identity", as: user)
      return String(try #require(reply.firstMatch(of: /us-east-1:[0-9a-f-]{36}/)).output)
    }

    /// The file is written a second after the change.
    private func waitForFile() throws {
      try machine.wait(for: "the file", until: "test -s /var/lib/credd/identities")
    }

    @Test
    func identitiesOutliveTheDaemonAndNothingElseIsWritten() throws {
      _ = try machine.accessKey(of: "alice")
      let before = try identity(of: "alice")
      try waitForFile()
      let files = "find /var/lib/credd -type f -printf '%f %m %u\\n'"
      expect(try machine.sh(files), equals: "identities 600 credd")
      expect(try machine.sh("stat --format='%a %U' /var/lib/credd"), equals: "700 credd")
      try machine.sh("systemctl stop credd.service")
      expect(try machine.attempt("grep -rE 'ASIA|eyJ' /var/lib/credd").status, equals: 1)
      _ = try machine.accessKey(of: "alice")
      expect(try identity(of: "alice"), equals: before)
    }

    @Test
    func readOnlyDirectoryDegradesToMemory() throws {
      try machine.dropIn("credd.service", "[Service]\nReadOnlyPaths=/var/lib/credd\n")
      try servesWithoutADisk()
    }

    @Test
    func fullDirectoryDegradesToMemory() throws {
      try machine.sh(
        """
        mkdir -p /var/lib/credd
        mount -t tmpfs -o size=4k,mode=700,uid=credd,gid=credd full /var/lib/credd
        head -c 4096 /dev/zero >/var/lib/credd/filler
        """)
      defer { _ = try? machine.run("systemctl stop credd.service; umount /var/lib/credd") }
      try servesWithoutADisk()
    }

    /// Serves, says so once, and goes on serving after a restart.
    private func servesWithoutADisk() throws {
      let key = try machine.accessKey(of: "alice")
      try machine.wait(
        for: "the problem in the status",
        until: "credctl status --json | grep --quiet '\"StateDirectory\": *\"'")
      expect(try machine.accessKey(of: "alice"), equals: key)
      try machine.sh("systemctl restart credd.service")
      expect(try machine.accessKey(of: "alice"), equals: key)
      let warnings = try machine.journal("PRIORITY=4")
      expect(warnings.count, equals: 1, "\(warnings)")
    }
  }
}
