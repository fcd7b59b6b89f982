import AuthCore
import AuthTestSupport
import Foundation
import Testing

extension CommandLineTests {
  /// The commands as root runs them, where the database's folder is another user's: nothing is done with
  /// root's rights that this user has laid there.
  @Suite(.enabled(if: getuid() == 0, "takes root, who gives the database's folder away"))
  struct RootCommandTests {
    private let folder: TestFolder
    /// Root's own, which nobody else enters.
    private let safe: TestFolder
    private let fixture: CommandLineFixture
    private var database: String { folder.path + "/data/auth.db" }

    init() throws {
      folder = try TestFolder()
      safe = try TestFolder()
      try Command.run("/usr/bin/chmod", ["700", safe.path])
      try Command.run("/usr/bin/mkdir", [folder.path + "/data"])
      try Command.run("/usr/bin/chown", ["-R", "nobody:nogroup", folder.path])
      fixture = try CommandLineFixture(.sqlite(path: folder.path + "/data/auth.db"))
      try fixture.run("host", "enrol", "web1", "--pool", "work", "--vouches", "alice")
    }

    private var archive: [String] {
      ["audit", "archive", "--before", "0s", "--key", safe.path + "/key", safe.path + "/archive"]
    }

    private func owner(_ path: String) throws -> String {
      try Command.run("/usr/bin/stat", ["-c", "%U %a", path])
    }

    /// SQLite rolls a journal back that was left behind, and removes the file that it names as the journal
    /// of several databases.
    private func layJournal(naming victim: String) throws {
      func number(_ value: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
      }
      let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
      let (page, name) = (4096, Array(victim.utf8))
      let size = try FileManager.default.attributesOfItem(atPath: database)[.size] as? Int ?? 0
      var bytes = magic + number(0) + number(0) + number(size / page) + number(512) + number(page)
      bytes += [UInt8](repeating: 0, count: 512 - bytes.count)
      bytes += number(0x4000_0000 / page + 1) + name + number(name.count)
      bytes += number(name.reduce(0) { $0 + Int($1) }) + magic
      try Data(bytes).write(to: URL(filePath: database + "-journal"))
      try Command.run("/usr/bin/chown", ["nobody:nogroup", database + "-journal"])
      try "mine".write(toFile: victim, atomically: false, encoding: .utf8)
    }

    @Test func aJournalThatNamesAFileOfRootsRemovesNothing() throws {
      let victim = safe.path + "/victim"
      func isThere() -> Bool { FileManager.default.fileExists(atPath: victim) }
      // It does where root opens the database.
      try layJournal(naming: victim)
      try Command.run("/usr/bin/sqlite3", [database, "SELECT COUNT(*) FROM sqlite_master"])
      #expect(!isThere())
      for command in [
        archive, ["backup", safe.path + "/copy.db"], ["audit", "list"], ["audit", "verify"],
        ["migrate"], ["user", "list"], ["host", "rotate", "web1"],
      ] {
        try layJournal(naming: victim)
        try fixture.run(command)
        #expect(isThere(), "\(command)")
      }
      #expect(try owner(database) == "nobody 600\n")
    }

    @Test func aLinkToADatabaseOfRootsLeadsNowhere() throws {
      let copy = safe.path + "/auth.db"
      try fixture.run("backup", copy)
      let before = try Data(contentsOf: URL(filePath: copy))
      try Command.run("/usr/bin/ln", ["-sf", copy, database])
      for command in [archive, ["host", "revoke", "web1"], ["backup", safe.path + "/second"]] {
        #expect(fixture.failure(69, command) != nil, "\(command)")
      }
      // The folder itself.
      try Command.run("/usr/bin/rm", ["-r", folder.path + "/data"])
      try Command.run("/usr/bin/ln", ["-s", safe.path, folder.path + "/data"])
      for command in [archive, ["host", "revoke", "web1"], ["migrate"], ["serve"]] {
        let said = fixture.failure(65, command)
        #expect(said?.contains("others can change \(folder.path), and") == true, "\(command)")
      }
      #expect(try Data(contentsOf: URL(filePath: copy)) == before)
      let files = try FileManager.default.contentsOfDirectory(atPath: safe.path)
      #expect(Set(files) == ["auth.db", "key"])
    }

    /// Whoever can change a folder on the way does not choose whom root becomes: neither in a folder of
    /// their own, nor in one like /tmp, where the link alone is theirs.
    @Test(arguments: [false, true])
    func aLinkToAnothersFolderLeadsNowhere(_ isSticky: Bool) throws {
      let other = try TestFolder()
      try Command.run("/usr/bin/cp", [database, other.path + "/auth.db"])
      try Command.run("/usr/bin/chown", ["-R", "64998:64998", other.path])
      let before = try Command.run("/usr/bin/stat", ["-c", "%n %y", other.path + "/auth.db"])
      try Command.run("/usr/bin/rm", ["-r", folder.path + "/data"])
      try Command.run("/usr/bin/ln", ["-s", other.path, folder.path + "/data"])
      try Command.run("/usr/bin/chown", ["-h", "nobody:nogroup", folder.path + "/data"])
      if isSticky {
        try Command.run("/usr/bin/chown", ["root:root", folder.path])
        try Command.run("/usr/bin/chmod", ["1777", folder.path])
      }
      let open = folder.path + (isSticky ? "/data" : "")
      for command in [
        archive, ["host", "revoke", "web1"], ["migrate"], ["serve"], ["user", "list"],
      ] {
        let said = fixture.failure(65, command)
        #expect(said?.contains("others can change \(open), and") == true, "\(command)")
        #expect(said?.contains("the user 64998 the database's folder") == true, "\(command)")
      }
      #expect(try Command.run("/usr/bin/stat", ["-c", "%n %y", other.path + "/auth.db"]) == before)
      #expect(try FileManager.default.contentsOfDirectory(atPath: other.path) == ["auth.db"])
      // The same owner's.
      try Command.run("/usr/bin/chown", ["-R", "nobody:nogroup", other.path])
      try fixture.run("host", "revoke", "web1")
    }

    @Test func aLinkOfTheServersUserSendsNoFileOfRootsAway() throws {
      let link = folder.path + "/data/out"
      for owner in ["nobody", "root"] {
        try Command.run("/usr/bin/ln", ["-sfn", safe.path, link])
        try Command.run("/usr/bin/chown", ["-h", owner, link])
        let said = fixture.failure(65, ["backup", link + "/daily"])
        #expect(said?.contains("cannot be made: ") == true, "\(said ?? "")")
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: safe.path) == [])
    }

    @Test func rootsFilesAreRootsAndTheDatabasesAreTheServers() throws {
      let copy = safe.path + "/copy.db"
      try fixture.run("backup", copy)
      try fixture.run(archive)
      for file in ["copy.db", "archive", "key"] {
        #expect(try owner(safe.path + "/" + file) == "root 600\n")
      }
      #expect(
        try Command.run(
          "/usr/bin/sqlite3", [copy, "PRAGMA integrity_check; SELECT name FROM hosts"])
          == "ok\nweb1\n")
      try fixture.run("audit", "verify", "--archive", safe.path + "/archive")
      let others = try Command.run(
        "/usr/bin/find", [folder.path + "/data", "!", "-user", "nobody"])
      #expect(others == "")
      #expect(fixture.failure(64, ["backup", copy])?.contains("is there already") == true)
      let files = try FileManager.default.contentsOfDirectory(atPath: safe.path)
      #expect(Set(files) == ["archive", "copy.db", "key"])
    }

    /// The unit gives the server one, for port 443.
    @Test func theProgramForCredentialsGetsNoCapability() throws {
      let program = folder.path + "/program"
      try "#!/bin/sh\ngrep CapEff /proc/self/status | tr -d '\\t' >&2\nexit 1\n"
        .write(toFile: program, atomically: false, encoding: .utf8)
      try Command.run("/usr/bin/chmod", ["755", program])
      let fixture = try CommandLineFixture(
        .sqlite(path: database), aws: "credential_process = \(program)", isMigrated: false)
      let said = fixture.failure(
        69, ["link", "list", "alice"],
        by: [
          "/usr/bin/setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
          "--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service",
        ])
      #expect(said?.contains("CapEff:0000000000000000") == true, "\(said ?? "")")
    }

    /// As in a container, where the folder's user has no name.
    @Test func theOwnerNeedsNoName() throws {
      try Command.run("/usr/bin/chown", ["-R", "64999:0", folder.path])
      try fixture.run("backup", safe.path + "/copy.db")
      try fixture.run("host", "revoke", "web1")
      let files = try Command.run(
        "/usr/bin/find", [folder.path + "/data", "!", "-uid", "64999"])
      #expect(files == "")
    }
  }
}
