import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import Testing

@testable import AuthServer

/// One at a time: while a test waits for a program, servers within the tests' process have a thread less.
@Suite(.serialized) struct CommandLineTests {}

extension CommandLineTests {
  struct BackupCommandTests {
    @Test func aBackUpIsOfOneMomentAlsoUnderLoad() async throws {
      let fixture = try CommandLineFixture()
      let store = try AuthStore(fixture.database)
      let now = Timestamp(Date.now)
      let writer = Task {
        while !Task.isCancelled {
          let notes = (0..<50).map { AuditNote("token", ["n": "\($0)"], at: now) }
          try await store.commit(notes: notes, chain: "a", now: now)
        }
      }
      while try await store.auditHeads().isEmpty { await Task.yield() }
      let file = fixture.folder.path + "/copy.db"
      #expect(try fixture.run("backup", file).contains("copy.db has the database of"))
      writer.cancel()
      _ = await writer.result
      #expect(try fixture.mode("copy.db") == 0o600)
      let copy = try AuthStore(.sqlite(path: file), .read)
      let (ends, faults) = try await copy.verifyAudit(heads: [])
      #expect(faults.isEmpty && ends[0].sequence >= 50 && ends[0].sequence % 50 == 0)
      for store in [store, copy] { await store.close() }
    }

    @Test func noFileGoesForACopy() throws {
      let fixture = try CommandLineFixture()
      let file = fixture.folder.path + "/there"
      try "mine".write(toFile: file, atomically: false, encoding: .utf8)
      let before = fixture.files
      #expect(fixture.failure(64, "backup", file)?.contains("/there is there already") == true)
      #expect(
        fixture.failure(69, "backup", "/no/such/folder")?.contains("cannot be written") == true)
      #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
      #expect(fixture.files.subtracting(["auth.db-wal", "auth.db-shm"]) == before)
    }

    @Test func postgresHasItsOwnProgram() throws {
      let fixture = try CommandLineFixture(try TestDatabase.postgres.make())
      #expect(fixture.failure(64, "backup", "f")?.contains("pg_dump -Fc -f f") == true)
    }

    @Test(.enabled(if: SmallDisk.isPossible, "takes root, to mount a small disk"))
    func aFullDiskLeavesNoCopy() throws {
      let fixture = try CommandLineFixture()
      let disk = try SmallDisk(megabytes: 1)
      defer { disk.remove() }
      try disk.fill()
      let said = fixture.failure(69, "backup", disk.path + "/copy.db")
      #expect(said?.contains("no room is left for \(disk.path)/copy.db") == true)
      #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == ["filler"])
    }
  }
}

extension CommandLineTests {
  struct AuditCommandTests {
    private func enrol(_ fixture: CommandLineFixture, _ hosts: String...) throws {
      for host in hosts {
        try fixture.run("host", "enrol", host, "--pool", "work", "--vouches", "alice")
      }
    }

    @Test func entriesAreFoundByHostAndTime() throws {
      let fixture = try CommandLineFixture()
      try enrol(fixture, "web1", "web2")
      let found = try fixture.run("audit", "list", "--host", "web2", "--since", "1h")
      #expect(found.split(separator: "\n").count == 2 && found.contains("hostEnrolled"))
      #expect(
        try fixture.run("audit", "list", "--until", "2026-01-01").split(separator: "\n").count == 1)
      for wrong in ["yesterday", "2026-13-01", "24", "-1h"] {
        let said = fixture.failure(64, "audit", "list", "--since=" + wrong)
        #expect(said?.contains("--since \(wrong) is not as 2026-01-31") == true, "\(wrong)")
      }
      #expect(fixture.failure(64, "audit", "list", "--limit", "0")?.contains("--limit 0") == true)
    }

    /// A variable of the environment says what its owner likes.
    @Test func whoActsIsWhoLoggedIn() throws {
      let fixture = try CommandLineFixture()
      try fixture.run(
        "host", "enrol", "web1", "--pool", "work", "--vouches", "alice",
        environment: ["SUDO_USER": "mallory", "USER": "mallory", "LOGNAME": "mallory"])
      let list = try fixture.run("audit", "list")
      #expect(list.contains(#""by":""#) && !list.contains("mallory"))
    }

    @Test func theLogsLinesFindAChainThatIsGone() async throws {
      let fixture = try CommandLineFixture()
      try enrol(fixture, "web1", "web2")
      let store = try AuthStore(fixture.database)
      let now = Timestamp(Date.now)
      try await store.commit(notes: [AuditNote("token", [:], at: now)], chain: "a/b", now: now)
      let heads = try await store.auditHeads()
      await store.close()
      let log = fixture.folder.path + "/log"
      let lines = heads.map {
        "Nov 27 host credd-authserver[1]: "
          + #"{"head":"\#($0.text)","level":"notice","message":"audit head","time":"x"}"#
      }
      try (["another line"] + lines).joined(separator: "\n")
        .write(toFile: log, atomically: false, encoding: .utf8)
      #expect(try fixture.run("audit", "verify", "--heads", log).contains("a/b"))
      try fixture.sql(
        """
        DROP TRIGGER audit_no_delete; DELETE FROM audit WHERE chain = 'a/b' OR sequence = 2;
        DELETE FROM audit_heads WHERE chain = 'a/b';
        UPDATE audit_heads SET sequence = 1, hash = (SELECT hash FROM audit);
        """)
      try fixture.run("audit", "verify")
      let said = try #require(fixture.failure(1, "audit", "verify", "--heads", log))
      #expect(said.contains("chain a/b, which the log names, is gone"))
      #expect(said.contains("entry 2 of chain") && said.contains("which the log names, is missing"))
      try "nothing\n".write(toFile: log, atomically: false, encoding: .utf8)
      #expect(
        fixture.failure(65, "audit", "verify", "--heads", log)?.contains("no 'audit head'") == true)
      try #"\n{"head":"x:1","message":"audit head"}\#n"#
        .write(toFile: log, atomically: false, encoding: .utf8)
      #expect(fixture.failure(65, "audit", "verify", "--heads", log)?.contains("/log:1: ") == true)
      #expect(fixture.failure(69, "audit", "verify", "--heads", "/none")?.contains("/none") == true)
      #expect(fixture.failure(64, "audit", "verify", "--head", "x")?.contains("--head x") == true)
    }

    @Test(arguments: TestDatabase.allCases)
    func oldEntriesGoIntoASignedFile(_ database: TestDatabase) throws {
      let fixture = try CommandLineFixture(database == .sqlite ? nil : try database.make())
      try enrol(fixture, "web1", "web2", "web3")
      let (file, key) = (fixture.folder.path + "/archive", fixture.folder.path + "/key")
      let none = try fixture.run(
        "audit", "archive", "--before", "2026-01-01", "--key", key, file, "--json")
      #expect(none.contains(#""entries" : 0"#))
      #expect(!fixture.files.contains("archive") && !fixture.files.contains("key"))
      let said = try fixture.run("audit", "archive", "--before", "0s", "--key", key, file)
      #expect(said.contains("has 3 entries"))
      #expect(try fixture.mode("archive") == 0o600 && fixture.mode("key") == 0o600)
      let list = try fixture.run("audit", "list")
      #expect(list.contains("archived") && !list.contains("hostEnrolled"))
      try fixture.run("audit", "verify")
      try fixture.run("audit", "verify", "--archive", file)
      let again = fixture.failure(64, "audit", "archive", "--before", "0s", "--key", key, file)
      #expect(again?.contains("is there already") == true)
      let later = fixture.failure(64, "audit", "archive", "--before", "2999-01-01", file + "2")
      #expect(later?.contains("has not come yet") == true)
      // Somebody changes it.
      let text = try String(contentsOfFile: file, encoding: .utf8)
      try text.replacing("web2", with: "web9").write(
        toFile: file, atomically: false, encoding: .utf8)
      let changed = fixture.failure(1, "audit", "verify", "--archive", file)
      #expect(changed?.contains("archive: line 3: entry 2 of chain") == true)
    }

    @Test func anArchiveOfAnotherKeyIsNotTaken() throws {
      let fixture = try CommandLineFixture()
      try enrol(fixture, "web1")
      let file = fixture.folder.path + "/archive"
      try fixture.run("audit", "archive", "--before", "0s", file)
      #expect(fixture.files.contains("audit.key"))
      try fixture.sql(
        "DROP TRIGGER audit_no_update; "
          + "UPDATE audit SET event = 'x', detail = replace(detail, 'key', 'kez')")
      let said = try #require(fixture.failure(1, "audit", "verify", "--archive", file))
      #expect(said.contains("which the audit does not name"))
      try "x".write(
        toFile: fixture.folder.path + "/audit.key", atomically: false, encoding: .utf8)
    }
  }
}

extension CommandLineTests {
  /// Root runs the commands, and the database belongs to the server's user.
}

extension CommandLineTests {
  @Suite(.enabled(if: getuid() == 0, "takes root, to give files to another user"))
  struct RootCommandTests {
    @Test func rootsFilesAreRootsAndTheDatabasesAreTheServers() throws {
      let (fixture, own) = (try CommandLineFixture(isMigrated: false), try TestFolder())
      try Command.run("/usr/bin/chown", ["nobody", fixture.folder.path])
      try Command.run("/usr/bin/chmod", ["700", own.path])
      try fixture.run("migrate")
      try fixture.run("host", "enrol", "web1", "--pool", "work", "--vouches", "alice")
      try fixture.run("backup", own.path + "/copy.db")
      try fixture.run(
        "audit", "archive", "--before", "0s", "--key", own.path + "/key", own.path + "/archive")
      try fixture.run("audit", "verify", "--archive", own.path + "/archive")
      try fixture.run("host", "revoke", "web1")
      for (folder, owner) in [(fixture.folder.path, "nobody"), (own.path, "root")] {
        let others = try Command.run(
          "/usr/bin/find", [folder + "/", "-type", "f", "!", "-user", owner])
        #expect(others.split(separator: "\n").allSatisfy { $0.hasSuffix("/authserver.conf") })
      }
    }
  }
}

extension CommandLineTests {
  struct SchemaCommandTests {
    @Test func noCommandMakesADatabase() throws {
      let fixture = try CommandLineFixture(isMigrated: false)
      let before = fixture.files
      for command in [
        ["host", "list"], ["user", "list"], ["audit", "list"], ["audit", "verify"],
        ["backup", fixture.folder.path + "/b"], ["invite", "zoe"], ["host", "revoke", "web1"],
      ] {
        let said: String? = {
          do {
            try Command.run(
              Programs.program, command + ["--config", fixture.folder.path + "/authserver.conf"],
              environment: [:])
            return nil
          } catch { return "\(error)" }
        }()
        #expect(said?.contains("ended with 69") == true, "\(command)")
        #expect(said?.contains("run 'credd-authserver migrate'") == true, "\(command)")
      }
      #expect(fixture.files == before)
    }

    /// On a disk that nobody can write, by a user to whom nothing belongs.
    @Test(.enabled(if: getuid() == 0, "takes root, to become another user"))
    func theAuditOfACopyIsRead() throws {
      let fixture = try CommandLineFixture()
      try fixture.run("host", "enrol", "web1", "--pool", "work", "--vouches", "alice")
      for name in ["auth.db", "authserver.conf"] {
        try FileManager.default.setAttributes(
          [.posixPermissions: 0o444], ofItemAtPath: fixture.folder.path + "/" + name)
      }
      let program = fixture.folder.path + "/program"
      try FileManager.default.copyItem(atPath: Programs.program, toPath: program)
      for command in ["list", "verify"] {
        let said = try Command.run(
          "/usr/sbin/runuser",
          [
            "-u", "nobody", "--", program, "audit", command, "--config",
            fixture.folder.path + "/authserver.conf",
          ])
        #expect(said.contains("/cli"))
      }
      #expect(fixture.files == ["auth.db", "auth.db.reserve", "authserver.conf", "program"])
    }
  }
}
