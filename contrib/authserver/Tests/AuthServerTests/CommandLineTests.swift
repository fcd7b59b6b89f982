import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import Testing

@testable import AuthServer

/// One at a time: while a test waits for a program, servers within the tests' process have a thread less.
@Suite(.serialized) struct CommandLineTests {}

extension CommandLineTests {
  struct LookalikeNameTests {
    @Test func theAdministratorIsWarnedAndTheAccountIsMade() throws {
      let fixture = try CommandLineFixture(server: "registration = invite")
      let name = "\u{430}lice"
      let password = "three plain words\n"
      let said = try fixture.said("user", "add", name, "--password-stdin", input: password)
      #expect(said.contains("Warning: the name \(name) looks like 'alice'"), "\(said)")
      #expect(said.contains("account:\(name) may sign in"))
      #expect(try fixture.said("invite", "b\u{3BF}b").contains("looks like 'bob'"))
      let other = try fixture.said("user", "add", "alice", "--password-stdin", input: password)
      #expect(!other.contains("Warning"), "\(other)")
    }
  }

  struct FileSizeTests {
    /// Room for the memory that SQLite shares, and not for what is written.
    @Test func aFileOverTheLimitIsAnErrorAndEndsNothing() throws {
      let fixture = try CommandLineFixture()
      let enrol = ["host", "enrol", "web1", "--pool", "work", "--vouches", "alice"]
      // Who started the tests may ignore the signal.
      let said = fixture.failure(
        69, enrol,
        by: ["/usr/bin/env", "--default-signal=XFSZ", "/usr/bin/prlimit", "--fsize=32768"])
      #expect(said?.contains("disk I/O error: RLIMIT_FSIZE, or LimitFSIZE=") == true)
      try fixture.run(enrol)
      try fixture.run("audit", "verify")
    }
  }

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

    /// They could put a file of their own in the copy's place.
    @Test func noFileIsMadeWhereOthersCanChangeIt() throws {
      let (fixture, folder) = (try CommandLineFixture(), try TestFolder())
      func refusal() -> String? { fixture.failure(65, "backup", folder.path + "/copy.db") }
      try Command.run("/usr/bin/chmod", ["777", folder.path])
      #expect(refusal()?.contains("others can write \(folder.path)") == true)
      try Command.run("/usr/bin/chmod", ["700", folder.path])
      if getuid() == 0 {
        try Command.run("/usr/bin/chown", ["nobody", folder.path])
        #expect(refusal()?.contains("others can write \(folder.path)") == true)
        try Command.run("/usr/bin/chown", ["root", folder.path])
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
      try Command.run("/usr/bin/chmod", ["1777", folder.path])
      try fixture.run("backup", folder.path + "/copy.db")
    }

    /// They could put a folder of their own in that one's place.
    @Test func noFileIsMadeBelowAFolderThatOthersCanChange() throws {
      let (fixture, folder, other) = (try CommandLineFixture(), try TestFolder(), try TestFolder())
      let link = other.path + "/link"
      try Command.run("/usr/bin/mkdir", ["-p", "-m", "700", folder.path + "/a/b"])
      try Command.run("/usr/bin/ln", ["-s", folder.path + "/a/b", link])
      func refused() -> Bool {
        [folder.path + "/a/b", link].allSatisfy { place in
          fixture.failure(65, "backup", place + "/copy.db")?
            .contains("others can write \(folder.path), and change the file") == true
        }
      }
      try Command.run("/usr/bin/chmod", ["777", folder.path])
      #expect(refused())
      try Command.run("/usr/bin/chmod", ["755", folder.path])
      if getuid() == 0 {
        try Command.run("/usr/bin/chown", ["nobody", folder.path])
        #expect(refused())
        try Command.run("/usr/bin/chown", ["root", folder.path])
      }
      try Command.run("/usr/bin/chmod", ["1777", folder.path])
      try fixture.run("backup", link + "/copy.db")
      #expect(FileManager.default.fileExists(atPath: folder.path + "/a/b/copy.db"))
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
      #expect(!fixture.files.contains("archive"))
      let said = try fixture.run("audit", "archive", "--before", "0s", "--key", key, file)
      #expect(said.contains("has 3 entries"))
      #expect(try fixture.mode("archive") == 0o600 && fixture.mode("key") == 0o600)
      let list = try fixture.run("audit", "list")
      #expect(list.contains("archived") && !list.contains("hostEnrolled"))
      try fixture.run("audit", "verify")
      try fixture.run("audit", "verify", "--archive", file)
      let other = fixture.failure(
        1, "audit", "verify", "--archive", file, "--key", String(repeating: "0", count: 64))
      #expect(other?.contains("which neither the audit names nor --key") == true)
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

    @Test func anArchiveThatBrokeOffIsFinishedByTheNext() throws {
      let fixture = try CommandLineFixture()
      try enrol(fixture, "web1", "web2", "web3")
      try fixture.sql(
        "CREATE TRIGGER refusal BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'no time'); END")
      func options(_ file: String) -> [String] {
        ["--before", "0s", "--key", fixture.folder.path + "/key", fixture.folder.path + "/" + file]
      }
      let said = fixture.failure(69, ["audit", "archive"] + options("one"))
      #expect(said?.contains("/one is whole, but some of its entries are in the database") == true)
      try fixture.sql("DROP TRIGGER refusal")
      let again = try fixture.run(
        ["audit", "archive", "--json"] + options("two").map { $0 == "0s" ? "2026-01-01" : $0 })
      #expect(again.contains(#""entries" : 0"#) && again.contains(#""removed" : 3"#))
      #expect(fixture.files.contains("one") && !fixture.files.contains("two"))
      try fixture.run("audit", "verify", "--archive", fixture.folder.path + "/one")
    }

    @Test func anArchiveOfAnotherKeyIsNotTaken() throws {
      let fixture = try CommandLineFixture()
      try enrol(fixture, "web1")
      let (file, key) = (fixture.folder.path + "/archive", fixture.folder.path + "/key")
      try fixture.run("audit", "archive", "--before", "0s", "--key", key, file)
      try fixture.sql(
        "DROP TRIGGER audit_no_update; "
          + "UPDATE audit SET event = 'x', detail = replace(detail, 'key', 'kez')")
      let said = try #require(fixture.failure(1, "audit", "verify", "--archive", file))
      #expect(said.contains("which neither the audit names nor --key"))
    }

    /// Who owns the database's folder could lay a key there first.
    @Test func theKeyIsNotTheServers() throws {
      let fixture = try CommandLineFixture()
      try enrol(fixture, "web1")
      let help = try fixture.run("audit", "archive", "--help")
      #expect(help.contains("/etc/credd-authserver/audit.key"))
      let (file, key) = (fixture.folder.path + "/archive", fixture.folder.path + "/key")
      func refusal() -> String? {
        fixture.failure(65, "audit", "archive", "--before", "0s", "--key", key, file)
      }
      try "x".write(toFile: key, atomically: false, encoding: .utf8)
      try Command.run("/usr/bin/chmod", ["600", key])
      #expect(refusal()?.contains("holds no key") == true)
      try (String(repeating: "ab", count: 32) + "\n")
        .write(toFile: key, atomically: false, encoding: .utf8)
      try Command.run("/usr/bin/chmod", ["640", key])
      #expect(refusal()?.contains("is not yours alone") == true)
      try Command.run("/usr/bin/chmod", ["600", key])
      if getuid() == 0 {
        try Command.run("/usr/bin/chown", ["nobody", key])
        #expect(refusal()?.contains("is not yours alone") == true)
        try Command.run("/usr/bin/chown", ["root", key])
      }
      #expect(!fixture.files.contains("archive"))
      try fixture.run("audit", "archive", "--before", "0s", "--key", key, file)
    }

    @Test func aNameThatNothingHasIsAMistake() throws {
      let fixture = try CommandLineFixture()
      try enrol(fixture, "web1", "frontend")
      for (option, name, status, words) in [
        ("--host", "frontent", 65, "there is no host frontent; did you mean 'frontend'?"),
        ("--user", "zoe", 65, "there is no user zoe: 'user list' shows them"),
        ("--event", "hostRevokt", 64, "there is no event hostRevokt; did you mean 'hostRevoked'?"),
      ] as [(String, String, Int32, String)] {
        #expect(fixture.failure(status, "audit", "list", option, name)?.contains(words) == true)
      }
      #expect(try fixture.run("audit", "list", "--event", "hostRevoked") == "\(Self.head)\n")
      #expect(
        try fixture.run("audit", "list", "--host", "web1", "--until", "2026-01-01")
          == "\(Self.head)\n")
      // Nothing but the audit knows this one.
      try fixture.sql("PRAGMA foreign_keys = OFF; DELETE FROM host_tokens; DELETE FROM hosts")
      #expect(
        try fixture.run("audit", "list", "--host", "web1", "--until", "2026-01-01")
          == "\(Self.head)\n")
    }

    private static let head = "TIME  CHAIN  SEQUENCE  EVENT  DETAIL"
  }
}

extension CommandLineTests {
  /// What `host enrol` prints for the host.
  struct HostHintTests {
    @Test(
      arguments: [
        ("10.127.0.5:8443", true, "https://\(ProcessInfo.processInfo.hostName):8443"),
        ("127.0.0.1:8443", false, "http://127.0.0.1:8443"),
        ("127.0.0.9:8443", true, "https://127.0.0.9:8443"),
        ("[::1]:80", false, "http://[::1]:80"), ("localhost:80", false, "http://localhost:80"),
      ])
    func theServerIsNamedAsItIsReached(_ listen: String, _ hasTLS: Bool, _ url: String) throws {
      let files = "\ntls_certificate = /none/pem\ntls_key = /none/key"
      let fixture = try CommandLineFixture(server: "listen = \(listen)" + (hasTLS ? files : ""))
      let said = try fixture.run("host", "enrol", "a", "--pool", "work", "--vouches", "b")
      #expect(said.contains("url = \(url)/v1/token\n"))
    }

    @Test func whoIsEnrolledAnewIsToldToMakeACertificate() throws {
      let fixture = try CommandLineFixture(
        server: "tls_certificate = /none/pem\ntls_key = /none/key\nclient_ca_file = /none/ca")
      let enrol = ["host", "enrol", "a", "--pool", "work", "--vouches", "b"]
      let words = "Certificates of a from before now are not accepted: make its new one now."
      #expect(try !fixture.run(enrol).contains(words))
      try fixture.run("host", "revoke", "a")
      #expect(try fixture.run(enrol).contains(words))
    }

    /// credd would refuse the lines.
    @Test func whatCreddRefusesIsRefused() throws {
      let fixture = try CommandLineFixture()
      for (option, value) in [
        ("--url", "https://a:x"), ("--url", "https://a b"), ("--url", "https://u@a"),
        ("--url", "http://auth.example.com"), ("--url", "https://a/?b"),
        ("--url", "https://a/../b"),
        ("--ca-file", "ca.pem"), ("--ca-file", "/a\nb"), ("--ca-file", "/a/${B}"),
        ("--ca-file", "/a "), ("--ca-file", ""),
      ] {
        let said = fixture.failure(
          64, "host", "enrol", "a", "--pool", "work", "--vouches", "b", option, value)
        #expect(said?.contains(option) == true, "\(option) \(value)")
      }
      #expect(try !fixture.run("host", "list").contains("enrolled"))
      try fixture.run(
        "host", "enrol", "a", "--pool", "work", "--vouches", "b", "--url", "http://127.0.0.1:8443",
        "--ca-file", "/etc/my ca.pem")
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
      let own = try TestFolder()
      // Names that mean something in a URI, or are not ASCII.
      let place = own.path + "/ä %3f.db"
      let fixture = try CommandLineFixture(.sqlite(path: place))
      try fixture.run("host", "enrol", "web1", "--pool", "work", "--vouches", "alice")
      for path in [place, fixture.folder.path + "/authserver.conf"] {
        try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: path)
      }
      let program = fixture.folder.path + "/program"
      try FileManager.default.copyItem(atPath: Programs.program, toPath: program)
      for (command, words) in [
        (["audit", "list"], "/cli"), (["audit", "verify"], "/cli"), (["host", "list"], "web1"),
        (["host", "group", "list"], "NAME"), (["user", "list"], "USER"),
        (["invite", "list"], "NAME"),
      ] {
        let said = try Command.run(
          "/usr/sbin/runuser",
          [
            "-u", "nobody", "--", program,
          ] + command + ["--config", fixture.folder.path + "/authserver.conf"])
        #expect(said.contains(words))
      }
      let files = try FileManager.default.contentsOfDirectory(atPath: own.path)
      #expect(Set(files) == ["ä %3f.db", "ä %3f.db.reserve"])
    }
  }
}
