import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import Testing

/// What the administrator's commands mean and leave behind, with the real program.
@Suite(
  .serialized, .enabled(if: Programs.folder != nil || Programs.isCI, "CREDD_BINARIES is not set"))
struct AdministratorTests {
  private func json(_ text: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
  }

  private func path(_ programs: Programs) throws -> String {
    guard case .sqlite(let path) = programs.database else { throw CommandFailed("no SQLite") }
    return path
  }

  private func sql(_ statements: String, _ programs: Programs) throws {
    try Command.run("/usr/bin/sqlite3", [try path(programs), statements])
  }

  @discardableResult
  private func enrol(_ programs: Programs, _ users: String...) throws -> String {
    let text = try programs.admin(
      "host", "enrol", "web1", "--pool", "work", "--vouches", users.joined(separator: " "),
      "--signs-in", "zoe", "--json")
    return try #require(try json(text)["token"] as? String)
  }

  /// libpq would look for Kerberos' tickets before it speaks to a server by TCP.
  @Test func librariesWriteNoFilesThatTheEnvironmentNames() throws {
    let sandbox = try Programs(.sqlite)
    defer { sandbox.stop() }
    let port = try #require(URL(string: sandbox.sandbox)?.port)
    let programs = try Programs(
      .postgres(url: "postgresql://postgres@127.0.0.1:\(port)/test"), sandbox: sandbox)
    let file = programs.folder.path + "/trace"
    let names = ["KRB5_TRACE", "SSLKEYLOGFILE", "OPENSSL_MALLOC_FD"]
    let files = Dictionary(uniqueKeysWithValues: names.map { ($0, file) })
    #expect {
      try programs.admin("host", "list", environment: files)
    } throws: { "\($0)".contains("127.0.0.1") }
    #expect(!FileManager.default.fileExists(atPath: file))
  }

  @Test func aDatabaseThatACommandMakesIsForNobodyElse() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    try enrol(programs, "alice")
    let attributes = try FileManager.default.attributesOfItem(atPath: try path(programs))
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }

  /// The database alone cannot show that the administrator's chain was cut off.
  @Test func theLogKnowsTheEndOfTheAdministratorsChain() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    try enrol(programs, "alice")
    _ = try programs.admin("host", "revoke", "web1")
    let server = try programs.serve()
    server.process.terminate()
    server.process.waitUntilExit()
    let lines = try String(contentsOfFile: server.log, encoding: .utf8).split(separator: "\n")
    let heads = lines.compactMap { line in
      (try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["head"]
        as? String
    }
    let head = try #require(heads.last { $0.contains("/cli:2:") })
    #expect(try programs.admin("audit", "verify", "--head", head).contains("/cli"))
    try sql(
      """
      DROP TRIGGER audit_no_delete; DELETE FROM audit WHERE event = 'hostRevoked';
      UPDATE audit_heads SET sequence = 1, hash = (SELECT hash FROM audit WHERE chain LIKE '%/cli')
      WHERE chain LIKE '%/cli';
      """, programs)
    #expect(try programs.admin("audit", "verify").contains("/cli"))
    #expect(throws: CommandFailed.self) { try programs.admin("audit", "verify", "--head", head) }
    try sql("DELETE FROM audit; DELETE FROM audit_heads", programs)
    #expect(throws: CommandFailed.self) { try programs.admin("audit", "verify", "--head", head) }
  }

  @Test func aNameThatMayMeanTwoIsAskedFor() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    _ = try programs.admin("user", "add", "zoe", "--password-stdin", input: "three plain words\n")
    for command in ["disable", "enable", "delete"] {
      #expect(throws: CommandFailed.self) { try programs.admin("user", command, "zoe") }
    }
    #expect(try !programs.admin("user", "list").contains("disabled"))
    _ = try programs.admin("user", "disable", "zoe", "--vouched")
    let users = try programs.admin("user", "list").split(separator: "\n").map(String.init)
    #expect(users.contains { $0.hasPrefix("zoe ") && $0.contains("disabled") })
    #expect(users.contains { $0.hasPrefix("account:zoe ") && $0.contains("enabled") })
    // Only accounts have passwords.
    _ = try programs.admin(
      "user", "password", "zoe", "--password-stdin", input: "four other plain words\n")
    _ = try programs.admin("user", "disable", "account:zoe")
    #expect(!(try programs.admin("user", "list").contains("enabled")))
  }

  @Test func aNewPasswordEndsSignIns() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let host = try enrol(programs, "alice")
    let server = try programs.serve()
    #expect(try server.register("zoe").status == 201)
    func login(_ password: String) throws -> ServerReply {
      try server.post(
        "/v1/login", #"{"Username": "zoe", "Password": "\#(password)"}"#,
        ["Authorization: Bearer \(host)"])
    }
    let session = try #require(try login("three plain words")["SessionToken"])
    func callback() throws -> Int {
      try server.post(
        "/v1/token",
        #"{"IdentityPoolId": "\#(Programs.poolID)", "DeveloperProviderName": "login.example.app", "#
          + #""DeveloperUserIdentifier": "account:zoe"}"#,
        ["Authorization: Bearer \(session)", "Credd-Host-Authorization: Bearer \(host)"]
      ).status
    }
    #expect(try callback() == 200)
    _ = try programs.admin(
      "user", "password", "zoe", "--password-stdin", input: "four other plain words\n")
    #expect(try callback() == 401)
    #expect(try login("three plain words").status == 401)
    #expect(try login("four other plain words").status == 200)
  }

  @Test func aDeviceIsRevoked() async throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    try enrol(programs, "alice")
    let store = try AuthStore(programs.database)
    let user = try Identifier(registering: "bob", as: .sample)
    let now = Timestamp(Date.now)
    _ = try await store.register(
      user, password: "s", invitation: nil, avoidsEnrolments: false, now: now)
    for uid in ["d1", "d2"] {
      let device = SampleDevice(uid: uid, identifier: user.text, key: "k", created: now)
      #expect(try await store.keep(device, password: "s"))
    }
    _ = try programs.admin("user", "devices", "sample:bob", "--revoke", "d1")
    #expect(try await store.device("d1")?.isRevoked == true)
    #expect(try await store.device("d2")?.isRevoked == false)
    await store.close()
    #expect(throws: CommandFailed.self) {
      try programs.admin("user", "devices", "sample:bob", "--revoke", "d3")
    }
    #expect(try programs.admin("audit", "list").contains("deviceRevoked"))
  }

  @Test func linkingSaysWhoseTheIdentityIs() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let host = try enrol(programs, "alice", "bob")
    let server = try programs.serve()
    let alice = try #require(try server.callback(host, "alice")["IdentityId"])
    // What cannot be a name does not come as far as Cognito.
    #expect(throws: CommandFailed.self) { try programs.admin("link", "add", " bob", alice) }
    #expect(throws: CommandFailed.self) { try programs.admin("link", "merge", " bob", "alice") }
    #expect(throws: CommandFailed.self) { try programs.admin("link", "merge", "alice", "alice") }
    #expect(!(try programs.admin("link", "list", "alice").contains("bob")))
    let said = try json(try programs.admin("link", "add", "bob", alice, "--json"))
    #expect(said["sharedWith"] as? String == "alice")
    #expect(try programs.admin("audit", "list", "--event", "linked").contains("sharedWith"))
  }

  @Test func anOlderServerLeavesANewerSchemaAlone() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    try enrol(programs, "alice")
    try sql("UPDATE schema_version SET version = 99", programs)
    for arguments in [["host", "list"], ["migrate"]] {
      do {
        _ = try programs.admin(arguments[0], arguments.count > 1 ? arguments[1] : "--json")
        Issue.record("\(arguments) went on")
      } catch let error as CommandFailed {
        #expect(error.description.contains("version 99"))
      }
    }
    try sql("UPDATE schema_version SET version = \(AuthStore.schemaVersion)", programs)
    #expect(try programs.admin("host", "list").contains("web1"))
  }

  @Test func anEarlierSchemaIsBroughtUpToDate() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let host = try enrol(programs, "alice")
    for statement in TestDatabase.beforeArchives(programs.database) { try sql(statement, programs) }
    try sql(
      "DROP TABLE adoptions; ALTER TABLE hosts DROP COLUMN host_group; DROP TABLE host_groups; "
        + "UPDATE schema_version SET version = 1", programs)
    let said = try json(try programs.admin("migrate", "--json"))
    #expect(said["was"] as? Int == 1)
    #expect(said["version"] as? Int == AuthStore.schemaVersion)
    #expect(try programs.serve().callback(host, "alice").status == 200)
  }

  /// A wrong command line ends with 64, a wrong name or file with 65, and what may pass with 69; each
  /// message names the value.
  @Test(
    arguments: [
      (["host", "enrol", "web1", "--pool", "work"], 64, "--vouches"),
      (["host", "enrol", "web 1", "--pool", "work", "--vouches", "a"], 64, "web 1"),
      (["host", "enrol", "web1", "--pool", "wrok", "--vouches", "a"], 65, "did you mean 'work'?"),
      (
        ["host", "enrol", "web1", "--pool", "work", "--vouches", "a", "--url", "auth"], 64, "'auth'"
      ),
      (["host", "rotate", "web1", "--overlap", "soon"], 64, "'soon'"),
      (["invite", "a\nb"], 64, "a\\u{a}b"), (["invite", "revoke", "zoe"], 65, "zoe"),
      (["user", "disable", "zoe"], 65, "there is no user zoe"),
      (["user", "add", "account:x", "--password-stdin"], 64, "account:x"),
      (["link", "list", "zoe", "--pool", "wrok"], 65, "[pool wrok]"),
      (["link", "add", "zoe", "x"], 64, "x is no IdentityId"),
    ] as [([String], Int32, String)])
  func aMistakeIsNamedAndChangesNothing(
    _ arguments: [String], _ status: Int32, _ words: String
  ) throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    _ = try programs.admin("migrate")
    let before = try programs.admin("audit", "list")
    #expect {
      try programs.admin(arguments)
    } throws: {
      "\($0)".contains("ended with \(status)") && "\($0)".contains(words)
    }
    #expect(try programs.admin("audit", "list") == before)
  }

  @Test func whatCannotBeOpenedIsNamed() throws {
    let database = AuthCore.Configuration.Database.sqlite(path: "/nonexistent/auth.db")
    let programs = try Programs(database)
    defer { programs.stop() }
    #expect {
      try programs.admin("host", "list")
    } throws: {
      "\($0)".contains("ended with 69: Error: /nonexistent/auth.db: ")
    }
    let other = try TestDatabase.sqlite.make()
    let configured = try Programs(other, sandbox: programs).configuration(
      listen: "/nonexistent/s", admin: programs.folder.path + "/admin")
    #expect {
      try Command.run(
        Programs.program, ["serve", "--config", configured], environment: Programs.environment)
    } throws: {
      "\($0)".contains("ended with 69: ")
        && "\($0)".contains("/nonexistent/s cannot be listened on: No such file")
    }
  }

  @Test func whatIsPrintedForTheHostNamesServerAndAuthority() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    func lines(_ options: String...) throws -> String {
      let text = try programs.admin(
        ["host", "enrol", "web\(options.count)", "--pool", "work", "--vouches", "a"] + options)
      return text
    }
    let url = "https://auth.example.com:8443"
    let text = try lines("--url", url + "/", "--ca-file", "/etc/credd/authority.pem")
    #expect(text.contains("url = \(url)/v1/token\n"))
    #expect(text.contains("ca_file = /etc/credd/authority.pem\n"))
    #expect(try lines("--url", url).contains("; ca_file = FILE"))
  }

  /// It registers that name, so it must be one that can be registered.
  @Test func anInvitationIsForAFreeName() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    func admin(_ arguments: String..., expecting status: Int32 = 0) throws -> String {
      try programs.admin(arguments, expecting: status)
    }
    _ = try programs.admin("user", "add", "zoe", "--password-stdin", input: "three plain words\n")
    _ = try admin("invite", "ZOE", expecting: 65)
    _ = try admin("invite", "yan", "--expires", "0", expecting: 64)
    #expect(try admin("invite", "yan").hasPrefix("cri1_"))
    let listed = try admin("invite", "list", "--json")
    let rows = try JSONSerialization.jsonObject(with: Data(listed.utf8)) as? [[String: Any]]
    #expect(rows?.map { $0["name"] as? String } == ["yan"])
    #expect(rows?.first?["state"] as? String == "open" && rows?.first?["used"] is NSNull)
    #expect(!listed.contains("cri1_"))
    _ = try admin("invite", "revoke", "yna", expecting: 65)
    _ = try admin("invite", "revoke", "yan")
    #expect(try admin("invite", "list").contains("ended"))
    #expect(try programs.admin("audit", "list").contains("invitationRevoked"))
  }
}
