import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import Glibc
import Testing

@testable import AuthServer

extension CommandLineTests {
  /// `serve --check`.
  struct PreflightTests {
    private func check(_ fixture: CommandLineFixture, _ status: Int32 = 65) -> [String] {
      let said = fixture.failure(status, "serve", "--check") ?? ""
      return said.split(separator: "\n").map(String.init)
    }

    @Test func allMistakesAreSaidAtOnceAndNothingIsChanged() throws {
      let folder = try TestFolder()
      let program = folder.path + "/program"
      try "x".write(toFile: program, atomically: false, encoding: .utf8)
      try "no certificate".write(
        toFile: folder.path + "/ca.pem", atomically: false, encoding: .utf8)
      let fixture = try CommandLineFixture(
        .sqlite(path: "/no/such/folder/auth.db"),
        server: """
          lisen = 1
          listen = 127.0.0.1:9000
          admin_listen = 0.0.0.0:9000
          tls_certificate = /none/server.pem
          tls_key = /none/server.key
          client_ca_file = \(folder.path)/ca.pem
          """, aws: "credential_process = \(program) --now", isMigrated: false)
      let before = fixture.files
      let said = check(fixture)
      for text in [
        "unknown key 'lisen'", "listen and admin_listen are one address",
        "tls_certificate: /none/server.pem cannot be read: No such file",
        "tls_key: /none/server.key cannot be read: No such file",
        "client_ca_file: \(folder.path)/ca.pem holds no certificate in PEM",
        "credential_process: \(program) cannot be run: Permission denied",
        "database: the folder /no/such/folder/ cannot be written: No such file",
      ] { #expect(said.contains { $0.contains(text) }, "\(text): \(said)") }
      #expect(said.count == 7)
      #expect(fixture.files == before)
    }

    @Test func whatIsRightIsSaidAndMakesNothing() throws {
      let folder = try TestFolder()
      try "[default]\naws_access_key_id = A\naws_secret_access_key = s\n"
        .write(toFile: folder.path + "/aws", atomically: false, encoding: .utf8)
      let fixture = try CommandLineFixture(
        aws: "credentials_file = \(folder.path)/aws", isMigrated: false)
      let main = fixture.folder.path + "/authserver.conf"
      #expect(try fixture.run("serve", "--check") == "")
      #expect(fixture.files == ["authserver.conf"])
      try FileManager.default.createDirectory(
        atPath: main + ".d", withIntermediateDirectories: false)
      let more = main + ".d/more.conf"
      try "; nothing".write(toFile: more, atomically: false, encoding: .utf8)
      let command = "\(Programs.program) serve --check --config \(main)"
      #expect(
        try Command.run("/usr/bin/script", ["-qec", command, "/dev/null"])
          == "\(main): no errors\r\n\(more): no errors\r\n")
      let said = try fixture.run("serve", "--check", "--json")
      let object = try JSONSerialization.jsonObject(with: Data(said.utf8)) as? [String: [String]]
      #expect(object == ["checked": [main, more]])
      try fixture.run("migrate")
      try fixture.sql("UPDATE schema_version SET version = 2")
      try fixture.run("serve", "--check")
      #expect(
        try Command.run("/usr/bin/sqlite3", [fixture.path, "SELECT version FROM schema_version"])
          == "2\n")
      try fixture.sql("UPDATE schema_version SET version = 99")
      #expect(
        check(fixture).contains { $0.contains("database: the database's schema is version 99") })
      try fixture.sql("DROP TABLE schema_version")
      #expect(
        check(fixture).contains { $0.contains("database: this is no database of credd-auth") })
    }

    @Test(arguments: [
      ("/none/aws", "credentials_file: /none/aws cannot be read"),
      ("FOLDER/authserver.conf", "credentials_file: "),
    ])
    func keysAreLookedAt(_ file: String, _ text: String) throws {
      let folder = try TestFolder()
      try "[default]\n".write(
        toFile: folder.path + "/authserver.conf", atomically: false, encoding: .utf8)
      let path = file.replacing("FOLDER", with: folder.path)
      let fixture = try CommandLineFixture(aws: "credentials_file = \(path)", isMigrated: false)
      #expect(check(fixture).contains { $0.contains(text) })
    }

    @Test func theListOfCommonPasswordsIsLookedAt() throws {
      let fixture = try CommandLineFixture()
      let list = fixture.folder.path + "/common-passwords"
      try "one\n\u{1}\n".write(toFile: list, atomically: false, encoding: .utf8)
      let fault = "common passwords: \(list):2: the password holds a control character"
      #expect(check(fixture).contains { $0.hasSuffix(fault) })
      #expect(fixture.failure(69, "serve")?.contains(fault) == true)
      let command = ["user", "add", "zoe", "--password-stdin"]
      #expect(fixture.failure(69, command)?.contains(fault) == true)
      try FileManager.default.removeItem(atPath: list)
      try FileManager.default.createDirectory(atPath: list, withIntermediateDirectories: false)
      let other = "\(list) is no file of 1048576 bytes at most"
      #expect(check(fixture).contains { $0.contains(other) })
    }

    /// Where there is none beside the configuration.
    @Test(.enabled(if: unsafe access(PasswordFile.shipped, F_OK) != 0, "the package is installed"))
    func aMissingListIsNamed() throws {
      let fixture = try CommandLineFixture(isMigrated: false)
      try FileManager.default.removeItem(atPath: fixture.folder.path + "/common-passwords")
      let fault = "common passwords: \(PasswordFile.shipped) cannot be read: No such file"
      #expect(check(fixture).contains { $0.contains(fault) })
    }

    @Test func theUnitsEnvironmentIsLookedAtInTheUnit() async throws {
      var configuration = AuthCore.Configuration()
      configuration.database = try TestDatabase.sqlite.make()
      let now = Timestamp(Date.now)
      let shell = Preflight(configuration, environment: [:], now: now)
      #expect(await shell.faults() == [])
      let unit = Preflight(configuration, environment: ["INVOCATION_ID": "x"], now: now)
      let faults = await unit.faults()
      #expect(faults.count == 1 && faults[0].hasPrefix("[aws]: "))
    }

    @Test func certificatesAreNamedWithTheReason() throws {
      let certificates = try TestCertificates()
      for name in ["server", "other"] { try certificates.issue(name, "DNS:a.example") }
      func faults(_ key: String, after time: Interval = .seconds(0)) -> [String] {
        TLSFiles(
          certificate: certificates.path("server.pem"), key: certificates.path(key), clientCA: nil
        ).faults(at: Timestamp(Date.now) + time)
      }
      #expect(faults("server.key") == [])
      #expect(faults("other.key").first?.contains("other.key is not the key of the cert") == true)
      #expect(faults("server.pem").first?.contains("holds no private key in PEM") == true)
      #expect(faults("server.key", after: .days(36_500)).first?.contains("has ended, on ") == true)
      let early = Interval(milliseconds: -Interval.days(3).milliseconds)
      #expect(faults("server.key", after: early).first?.contains("is not valid before") == true)
    }

    @Test func aDatabaseOfPostgresIsLookedAt() async throws {
      let place = try TestDatabase.postgres.make()
      var configuration = AuthCore.Configuration()
      configuration.database = place
      let now = Timestamp(Date.now)
      #expect(await Preflight(configuration, environment: [:], now: now).faults() == [])
      guard case .postgres(let url) = place else { return }
      let role = "r\(UUID().uuidString.prefix(8).lowercased())"
      try Command.run("/usr/bin/psql", ["-c", "CREATE ROLE \(role) LOGIN", url])
      configuration.database = .postgres(url: url.replacing("postgres@", with: role + "@"))
      func fault() async -> String? {
        await Preflight(configuration, environment: [:], now: now).faults().first
      }
      #expect(
        await fault()?.contains("run 'credd-authserver migrate' as the schema's owner") == true)
      let store = try AuthStore(place)
      try await store.migrate()
      await store.close()
      try Command.run(
        "/usr/bin/psql", ["-c", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO \(role)", url])
      #expect(await fault()?.contains("postgresql-grants.sql") == true)
    }
  }
}
