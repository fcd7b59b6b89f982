import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import Glibc
import Testing

/// The real program, beside credd-sandbox as Cognito. `CREDD_BINARIES` names the folder of credd's
/// own programs.
@Suite(
  .serialized, .enabled(if: Programs.folder != nil || Programs.isCI, "CREDD_BINARIES is not set"))
struct ProgramTests {
  private func json(_ text: String) throws -> [String: String] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String])
  }

  @Test(arguments: TestDatabase.allCases)
  func anAdministratorEnrolsRotatesAndRevokes(_ database: TestDatabase) throws {
    let programs = try Programs(database)
    defer { programs.stop() }
    let first = try json(
      try programs.admin("host", "enrol", "web1", "--pool", "work", "--vouches", "alice", "--json"))
    let token = try #require(first["token"])
    #expect(first["configuration"]?.contains("[backend authserver]") == true)
    let server = try programs.serve()
    #expect(try server.callback(token, "alice").status == 200)
    #expect(try server.callback(token, "bob").status == 403)
    let second = try json(try programs.admin("host", "rotate", "web1", "--json"))
    #expect(try server.callback(token, "alice").status == 200)
    #expect(try server.callback(try #require(second["token"]), "alice").status == 200)
    #expect(try programs.admin("host", "list").contains("enrolled"))
    _ = try programs.admin("host", "revoke", "web1")
    #expect(try server.callback(token, "alice").status == 401)
    #expect(try programs.admin("audit", "verify").contains("/cli"))
    #expect(throws: CommandFailed.self) { try programs.admin("host", "enrol", "x", "--pool", "no") }
  }

  /// Files in /proc of a process that may be dumped or traced are its user's, else root's (proc(5)).
  @Test(.enabled(if: getuid() == 0, "takes root, which can be another user"))
  func otherProcessesOfItsUserCannotLookIntoTheServer() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    // Other users cannot reach the folder of the tests.
    let copy = programs.folder.path + "/credd-authserver"
    try Command.run("/usr/bin/install", ["-m", "755", Programs.program, copy])
    try Command.run("/usr/bin/chown", ["65534", programs.folder.path])
    guard case .sqlite(let database) = programs.database else { return }
    try Command.run(
      "/usr/bin/chown", ["65534", URL(fileURLWithPath: database).deletingLastPathComponent().path])
    let server = try programs.serve(
      by: ["/usr/bin/setpriv", "--reuid=65534", "--clear-groups", copy])
    let process = "/proc/\(server.process.processIdentifier)"
    let status = try String(contentsOfFile: process + "/status", encoding: .utf8)
    #expect(status.contains("Uid:\t65534\t65534\t65534\t65534\n"))
    var memory = stat()
    #expect(unsafe stat(process + "/mem", &memory) == 0 && memory.st_uid == 0)
    let limits = try String(contentsOfFile: process + "/limits", encoding: .utf8)
    let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
    #expect(core?.split(whereSeparator: \.isWhitespace).dropFirst(4).first == "0")
  }

  @Test(.enabled(if: getuid() == 0, "takes root, who gives the database's folder away"))
  func noThreadStaysRoot() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    try Command.run("/usr/bin/chown", ["-R", "65534", programs.folder.path])
    guard case .sqlite(let database) = programs.database else { return }
    try Command.run(
      "/usr/bin/chown",
      ["-R", "65534", URL(fileURLWithPath: database).deletingLastPathComponent().path])
    let server = try programs.serve()
    let tasks = "/proc/\(server.process.processIdentifier)/task"
    let threads = try FileManager.default.contentsOfDirectory(atPath: tasks)
    #expect(threads.count > 1)
    for thread in threads {
      let status = try String(contentsOfFile: "\(tasks)/\(thread)/status", encoding: .utf8)
      #expect(status.contains("Uid:\t65534\t65534\t65534\t65534\n"), "\(status)")
      #expect(status.contains("CapPrm:\t0000000000000000\n"), "\(status)")
    }
  }

  @Test func allSymbolsAreBoundAtTheStart() throws {
    let section = try Command.run("/usr/bin/readelf", ["--dynamic", "--wide", Programs.program])
    #expect(section.contains("BIND_NOW") || section.contains("Flags: NOW"))
  }

  @Test func usersAreMadeAndLinkedByTheAdministrator() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let host = try json(
      try programs.admin(
        "host", "enrol", "web1", "--pool", "work", "--vouches", "alice bob", "--json"))
    let server = try programs.serve()
    let token = try #require(host["token"])
    let alice = try server.callback(token, "alice")["IdentityId"]
    let bob = try server.callback(token, "bob")["IdentityId"]
    #expect(alice != bob)
    #expect(try programs.admin("link", "list", "alice").contains(try #require(alice)))
    _ = try programs.admin("link", "merge", "bob", "alice")
    #expect(try server.callback(token, "bob", forced: true)["IdentityId"] == alice)
    _ = try programs.admin("link", "remove", "bob")
    #expect(try server.callback(token, "bob", forced: true)["IdentityId"] != alice)
    _ = try programs.admin("link", "remove", "bob")
    _ = try programs.admin("link", "add", "bob", try #require(alice))
    #expect(try server.callback(token, "bob", forced: true)["IdentityId"] == alice)
    _ = try programs.admin("user", "add", "zoe", "--password-stdin", input: "three plain words\n")
    #expect(try programs.admin("user", "list").contains("account:zoe"))
    _ = try programs.admin("user", "disable", "account:zoe")
    #expect(try programs.admin("user", "list", "--json").contains("disabled"))
    #expect(throws: CommandFailed.self) { try programs.admin("user", "delete", "nobody") }
    #expect(throws: CommandFailed.self) {
      try programs.admin("user", "add", "yan", "--password-stdin", input: "password1\n")
    }
  }

  /// A guest of Cognito's own: an identity without logins.
  @Test func aGuestIsAdoptedAndSomebodyElseIsNot() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let host = try json(
      try programs.admin(
        "host", "enrol", "web1", "--pool", "work", "--vouches", "alice bob", "--may-adopt-guests",
        "--json"))
    let token = try #require(host["token"])
    let server = try programs.serve()
    _ = try programs.cognito("control/pool", #"{"Unauthenticated": true}"#)
    let guest = try json(
      try programs.cognito(
        "", #"{"IdentityPoolId": "\#(Programs.poolID)"}"#, target: "GetId"))["IdentityId"]
    #expect(try server.callback(token, "alice", identity: guest)["IdentityId"] == guest)
    // Now it is alice's, and bob's claim is ignored.
    #expect(try server.callback(token, "bob", identity: guest)["IdentityId"] != guest)
    #expect(try programs.admin("audit", "list").contains("othersIdentity"))
  }

  /// systemd gives the server a socket for its errors; whoever tries it out, a file.
  @Test func theLogIsWholeInAFileAndOnASocket() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let host = try json(
      try programs.admin("host", "enrol", "web1", "--pool", "work", "--vouches", "*", "--json"))
    let server = try programs.serve()
    #expect(try server.callback(try #require(host["token"]), "alice").status == 200)
    server.process.terminate()
    server.process.waitUntilExit()
    let file = try String(contentsOfFile: server.log, encoding: .utf8)
    #expect(file.split(separator: "\n").filter { $0.contains("listening") }.count == 2)
    #expect(file.contains("audit head"))
    let (reader, writer) = try Self.socketPair()
    let other = try programs.serve(errors: writer)
    try writer.close()
    other.process.terminate()
    let lines = String(decoding: try reader.readToEnd() ?? Data(), as: UTF8.self)
    #expect(lines.contains("listening") && lines.contains("audit head"))
  }

  private static func socketPair() throws -> (FileHandle, FileHandle) {
    var ends: [Int32] = [0, 0]
    let code = unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
    guard code == 0 else { throw CommandFailed("no socket pair") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (
      FileHandle(fileDescriptor: ends[0], closeOnDealloc: true),
      FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    )
  }

  @Test(arguments: TestDatabase.allCases)
  func twoServersLoseNothingWhenOneIsKilled(_ database: TestDatabase) async throws {
    let programs = try Programs(database)
    defer { programs.stop() }
    let host = try json(
      try programs.admin("host", "enrol", "web1", "--pool", "work", "--vouches", "*", "--json"))
    let token = try #require(host["token"])
    let servers = [try programs.serve(), try programs.serve()]
    // Registrations and callbacks on both; one is killed in the middle.
    let acknowledged = await withTaskGroup(of: [String].self) { group in
      for worker in 0..<8 {
        group.addTask {
          var names: [String] = []
          for index in 0..<15 {
            // curl is waited for on this thread: the others have their turns here.
            await Task.yield()
            let name = "user-\(worker)-\(index)"
            let server = servers[worker % 2]
            if let reply = try? server.register(name), reply.status == 201 { names.append(name) }
            if let reply = try? server.callback(token, name), reply.status == 200 {
              names.append("token:" + name)
            }
          }
          return names
        }
      }
      group.addTask {
        try? await Task.sleep(for: .milliseconds(700))
        servers[1].kill()
        return []
      }
      return await group.reduce(into: [String]()) { $0 += $1 }
    }
    #expect(acknowledged.count >= 30)
    // It was killed under load: others of its worker's were not acknowledged.
    #expect(acknowledged.count < 8 * 15 * 2)
    let store = try AuthStore(programs.database)
    let users = Set(try await store.users().map(\.identifier))
    let vouched = Set(
      try await store.auditEntries(latest: 100_000, AuditFilter(event: "token")).map(\.detail))
    for name in acknowledged {
      if let user = name.split(separator: ":").dropFirst().first {
        #expect(vouched.contains { $0.contains("\"user\":\"\(user)\"") })
      } else {
        #expect(users.contains("account:" + name))
      }
    }
    #expect(try await store.verifyAudit(heads: []).faults.isEmpty)
    await store.close()
    // The other one serves on.
    #expect(try servers[0].callback(token, "after").status == 200)
  }

  @Test func withoutADatabaseTheServerSaysSoAndComesBack() throws {
    let postgres = try PostgresServer()
    let programs = try Programs(.postgres(url: try postgres.newDatabase()))
    defer { programs.stop() }
    let host = try json(
      try programs.admin("host", "enrol", "web1", "--pool", "work", "--vouches", "*", "--json"))
    let token = try #require(host["token"])
    let server = try programs.serve()
    #expect(try server.callback(token, "alice").status == 200)
    try postgres.stop()
    // Many times: each finds other connections of the pool, or makes new ones.
    for _ in 0..<20 {
      let away = try server.callback(token, "alice")
      #expect(away.status == 503 && away.retryAfter != nil)
    }
    #expect(throws: CommandFailed.self) { try programs.admin("host", "list") }
    #expect(try server.get("/readyz").status == 503)
    #expect(try server.get("/healthz").status == 200)
    try postgres.start()
    #expect(try server.callback(token, "alice").status == 200)
    #expect(try server.get("/readyz").status == 200)
    #expect(server.process.isRunning)
  }

  @Test func aReloadGivesNewConnectionsTheNewCertificate() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let certificates = try TestCertificates()
    try certificates.issue("server", "DNS:one.example")
    let server = try programs.serve([
      "server":
        "tls_certificate = \(certificates.path("server.pem"))\n"
        + "tls_key = \(certificates.path("server.key"))"
    ])
    func names() throws -> String {
      try Command.run(
        "/bin/bash",
        [
          "-c",
          "openssl s_client -unix \(server.socket) </dev/null 2>/dev/null "
            + "| openssl x509 -noout -ext subjectAltName",
        ])
    }
    #expect(try names().contains("one.example"))
    // A key that does not fit changes nothing.
    try certificates.issue("other", "DNS:two.example")
    try FileManager.default.removeItem(atPath: certificates.path("server.pem"))
    try FileManager.default.copyItem(
      atPath: certificates.path("other.pem"), toPath: certificates.path("server.pem"))
    server.reload()
    try server.wait(until: "the earlier certificate stays")
    #expect(try names().contains("one.example"))
    try FileManager.default.removeItem(atPath: certificates.path("server.key"))
    try FileManager.default.copyItem(
      atPath: certificates.path("other.key"), toPath: certificates.path("server.key"))
    server.reload()
    try server.wait(until: "the certificate was read again")
    #expect(try names().contains("two.example"))
  }

  @Test func aListOfCommonPasswordsOfOnesOwnCountsFromAReloadOn() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let list = programs.folder.path + "/common-passwords"
    func write(_ text: String) throws {
      try text.write(toFile: list, atomically: false, encoding: .utf8)
    }
    let server = try programs.serve()
    #expect(try server.register("zoe").status == 201)
    try write("three plain\u{2}words\n")
    server.reload()
    try server.wait(until: "the earlier common passwords stay")
    try server.wait(until: "common-passwords:1: the password holds a control character")
    #expect(try server.register("yan").status == 201)
    try write("hunter\nThree Plain Words\n")
    server.reload()
    try server.wait(until: "the common passwords were read again")
    let refused = try server.register("xu")
    #expect(refused.status == 400)
    #expect(refused["Message"] == "the password is one of the most common ones")
  }

  /// The server's own AWS credentials.
  @Test(arguments: ["file", "process", "broken"])
  func credentialsComeFromAFileOrAProgram(_ source: String) throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let host = try json(
      try programs.admin("host", "enrol", "web1", "--pool", "work", "--vouches", "*", "--json"))
    let folder = try TestFolder()
    let (file, count) = (folder.path + "/aws", folder.path + "/count")
    var aws = "credentials_file = \(file)"
    var text = """
      [other]
      aws_access_key_id = AKIAOTHER
      [default]
      aws_access_key_id = AKIASANDBOXDEVELOPER
      aws_secret_access_key = sandbox-developer-secret

      """
    if source != "file" {
      aws = "credential_process = /bin/bash \(file)"
      text =
        "echo x >>\(count)\n"
        + (source == "broken"
          ? "exit 1\n"
          : #"echo '{"Version": 1, "AccessKeyId": "AKIASANDBOXDEVELOPER", "#
            + "\"SecretAccessKey\": "
            + #""sandbox-developer-secret", "Expiration": "2099-01-01T00:00:00Z"}'"# + "\n")
    }
    try text.write(toFile: file, atomically: false, encoding: .utf8)
    let server = try programs.serve(["aws": aws], environment: ["PATH": "/usr/bin:/bin"])
    let token = try #require(host["token"])
    for user in ["alice", "bob", "carol"] {
      #expect(try server.callback(token, user).status == (source == "broken" ? 503 : 200))
    }
    // Once for all of them, also where it fails.
    if source != "file" { #expect(try String(contentsOfFile: count, encoding: .utf8) == "x\n") }
  }

  @Test(arguments: TestDatabase.allCases)
  func aBackUpIsRestored(_ database: TestDatabase) throws {
    let programs = try Programs(database)
    defer { programs.stop() }
    let host = try json(
      try programs.admin("host", "enrol", "web1", "--pool", "work", "--vouches", "*", "--json"))
    let server = try programs.serve()
    let token = try #require(host["token"])
    let identity = try server.callback(token, "alice")["IdentityId"]
    // Taken while the server runs, by the commands of docs/authserver.md.
    let folder = try TestFolder()
    let copy: AuthCore.Configuration.Database
    switch programs.database {
    case .sqlite(let path):
      try Command.run("/usr/bin/sqlite3", [path, ".backup \(folder.path)/backup.db"])
      copy = .sqlite(path: folder.path + "/backup.db")
    case .postgres(let url):
      try Command.run("/usr/bin/pg_dump", ["-Fc", "-f", folder.path + "/backup", url])
      let restored = try PostgresServer.shared().newDatabase()
      try Command.run("/usr/bin/pg_restore", ["-d", restored, folder.path + "/backup"])
      copy = .postgres(url: restored)
    }
    let other = try Programs(copy, sandbox: programs)
    defer { other.stop() }
    #expect(try other.admin("audit", "verify").contains("/cli"))
    #expect(try other.serve().callback(token, "alice")["IdentityId"] == identity)
  }
}
