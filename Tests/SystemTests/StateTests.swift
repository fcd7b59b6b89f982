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

    /// The unit hides /proc/sys from the daemon.
    @Test
    func keptSessionsBearTheBootsID() throws {
      let key = try machine.accessKey(of: "alice")
      let boot = "tr -d - </proc/sys/kernel/random/boot_id"
      let kept = """
        for file in /proc/$(systemctl show --property=MainPID --value credd.service)/fd/*; do
          [[ $(readlink "$file") == */memfd:credd-sessions* ]] || continue
          od -An -tx1 -j16 -N16 "$file" | tr -d ' \n'
          break
        done
        """
      expect(try machine.sh(kept), equals: try machine.sh(boot))
      try machine.sh("systemctl restart credd.service")
      expect(try machine.accessKey(of: "alice"), equals: key)
      expect(try machine.sh(kept), equals: try machine.sh(boot))
    }

    @Test
    func withoutTheBootsIDKeptSessionsAreDroppedAndThatIsSaid() throws {
      try machine.dropIn("credd.service", "[Service]\nUnsetEnvironment=CREDD_BOOT_ID\n")
      let key = try machine.accessKey(of: "alice")
      try machine.sh("systemctl restart credd.service")
      expect(try machine.accessKey(of: "alice") != key)
      let warnings = try machine.journal("PRIORITY=4")
      expect(warnings.count, equals: 1, "\(warnings)")
      expect("\(warnings)".contains("Environment=CREDD_BOOT_ID=%b is missing"), "\(warnings)")
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
