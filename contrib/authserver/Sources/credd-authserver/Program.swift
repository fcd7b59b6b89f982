import ArgumentParser
import AuthCore
import AuthServer
import AuthStore
import CHardening
import Dispatch
import FoundationEssentials
import Glibc
import Logging

@main
enum Main {
  static func main() {
    // Before anything is read, because passwords and tokens will be in this memory.
    guard auth_harden() == 0 else { exit(71) }
    // A write over RLIMIT_FSIZE shall fail with EFBIG. Dispatch's threads block SIGXFSZ. On any
    // other thread, SIGXFSZ would end the program.
    _ = signal(SIGXFSZ, SIG_IGN)
    // Other users get no right to a file that is made here, above all the database.
    _ = umask(0o077)
    // Only the configuration says where the database is. The checks of the configuration do not
    // look at these variables.
    for name in ["PGHOST", "PGHOSTADDR", "PGSERVICE"] { _ = unsafe unsetenv(name) }
    // With these variables, the libraries of libpq would write files: the secrets of TLS, and what
    // Kerberos does.
    for name in ["SSLKEYLOGFILE", "KRB5_TRACE", "QLOGDIR", "OPENSSL_MALLOC_FD"] {
      _ = unsafe unsetenv(name)
    }
    _ = Common.administrator
    // Dispatch would tell the system's log for each thread that it may not raise its priority.
    _ = unsafe setenv("LIBDISPATCH_LOG", "NO", 1)
    // glibc's setuid() changes every thread except a thread that has ended with pthread_exit(). The
    // first thread of an async main ends so, and would stay root. So this thread waits. The task is
    // detached, because a plain Task would need the main actor, and this is the main actor's
    // thread.
    let ended = DispatchSemaphore(value: 0)
    Task.detached {
      await run()
      ended.signal()
    }
    ended.wait()
  }

  private nonisolated static func run() async {
    do {
      var command = try Program.parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch let failure as Failed {
      let text = Array("Error: \(failure.description)\n".utf8)
      _ = unsafe write(STDERR_FILENO, text, text.count)
      exit(failure.kind.rawValue)
    } catch {
      Program.exit(withError: error)
    }
  }
}

struct Program: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credd-authserver",
    abstract: "Vouches for users to Amazon Cognito, and signs them in.",
    version: Server.version,
    subcommands: [
      Serve.self, HostCommand.self, UserCommand.self, InviteCommand.self, LinkCommand.self,
      AuditCommand.self, Backup.self, Migrate.self,
    ])
}

/// What every command takes.
struct Common: ParsableArguments {
  @Option(help: "The configuration; FILE.d/*.conf is read too.", completion: .file())
  var config = "/etc/credd-authserver/authserver.conf"

  @Flag(help: "Print JSON for programs.")
  var json = false

  static var hostName: String { ProcessInfo.processInfo.hostName }

  /// Who has called this program, before it becomes another user.
  static let administrator = Administrator.name()

  /// The files of the configuration, and what stands in them.
  func files() throws -> [(name: String, text: String)] {
    var files: [(name: String, text: String)] = []
    let folder = config + ".d"
    let more =
      (try? FileManager.default.contentsOfDirectory(atPath: folder))?.sorted()
      .filter { $0.hasSuffix(".conf") }.map { folder + "/" + $0 } ?? []
    for name in [config] + more {
      guard let text = try? String(contentsOfFile: name, encoding: .utf8) else {
        throw Failed("\(name) cannot be read, or is not UTF-8", .unavailable)
      }
      files.append((name, text))
    }
    return files
  }

  /// Commands of the administrator read the same file. They also read the unit's folder, if they
  /// may.
  private static var credentialsDirectory: String {
    ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"]
      ?? "/run/credentials/credd-authserver.service"
  }

  /// The administrator's list of common passwords, beside the configuration; else the package's.
  var passwordLists: [String] {
    let folder = URL(filePath: config).deletingLastPathComponent()
    return [folder.appending(path: "common-passwords").path, PasswordFile.shipped]
  }

  func read() throws -> AuthCore.Configuration {
    do {
      return try AuthCore.Configuration.read(
        try files(), credentialsDirectory: Self.credentialsDirectory, hostName: Self.hostName)
    } catch let error as ConfigurationErrors {
      throw Failed(error.description)
    }
  }

  /// All that is wrong with the configuration and what it names, as the server will see it.
  func check() async throws {
    let files = try files()
    var (configuration, faults, hasDatabase) = AuthCore.Configuration.examine(
      files, credentialsDirectory: Self.credentialsDirectory, hostName: Self.hostName)
    try becomeOwner(of: configuration.database)
    for (name, _) in files where unsafe access(name, R_OK) != 0 {
      faults.append(
        "\(name): only root can read it: chgrp credd-authserver \(name); chmod 640 \(name)")
    }
    faults += await Preflight(
      configuration, environment: ProcessInfo.processInfo.environment, now: .now
    ).faults(hasDatabase: hasDatabase)
    do { _ = try PasswordFile(passwordLists) } catch { faults.append(error.description) }
    guard faults.isEmpty else { throw Failed(faults.joined(separator: "\n")) }
    // This answer is for a person. The unit runs this check too, and each line of its log must be
    // an object.
    guard json || isatty(STDOUT_FILENO) == 1 else { return }
    let names = files.map(\.name)
    try say(
      names.map { "\($0): no errors" }.joined(separator: "\n"), ["checked": Cell.words(names)])
  }

  /// Goes on as the database's owner before the database is opened. Root would make files in the
  /// folder of another user, who could not read them. Root would also follow what this user lays
  /// there. With PostgreSQL it goes on as the server's user, because the database may know this
  /// user by name.
  func becomeOwner(of database: AuthCore.Configuration.Database) throws {
    guard geteuid() == 0 else { return }
    switch database {
    case .sqlite(let path): try DatabaseOwner(ofFile: path)?.become()
    case .postgres: try DatabaseOwner(name: "credd-authserver")?.become()
    }
  }

  /// The database, for one command of the administrator. The entries that the command has added to
  /// its chain go to the system's log at once. The database alone would not show that somebody
  /// removed them.
  ///
  /// - Parameter isOfAudit: whether only the audit is read, which earlier schemas have too.
  func withStore<T>(
    _ access: StoreAccess = .change, isOfAudit: Bool = false,
    _ body: (AuthStore, AuthCore.Configuration) async throws -> T
  ) async throws -> T {
    let configuration = try read()
    do {
      try becomeOwner(of: configuration.database)
      let store = try AuthStore(configuration.database, access)
      try await store.checkSchema(isReading: isOfAudit)
      let before = try await store.auditHead(of: Self.chain)
      let outcome: Result<T, any Error>
      do { outcome = .success(try await body(store, configuration)) } catch {
        outcome = .failure(error)
      }
      if let acts = try? await store.auditPage(of: Self.chain, after: before?.sequence ?? 0) {
        for act in acts { Self.log([act.head], act) }
      }
      await store.close()
      return try outcome.get()
    } catch let error as CoveredAccount {
      throw Failed(
        "--vouches covers the account \(error.account.visible), and shared_names = yes: "
          + "\(error.host) would speak for that person")
    } catch let error as StoreError {
      throw Failed(error, of: configuration.database)
    }
  }

  /// Logs ends of chains, and what was done if it is known. After a restore the database knows less
  /// than the log.
  static func log(_ heads: [AuditHead], _ act: AuditEntry? = nil) {
    let log = Logger(label: "credd-authserver") { _ in
      StructuredLog(level: .notice, write: StructuredLog.syslog)
    }
    for head in heads {
      var metadata: Logger.Metadata = ["head": "\(head.text)"]
      if let act {
        metadata["event"] = "\(act.event)"
        metadata["detail"] = "\(act.detail)"
      }
      log.notice("audit head", metadata: metadata)
    }
  }

  /// The administrator's chain.
  private static var chain: String { hostName + "/cli" }

  /// Who does what here, for the audit: written with the act itself.
  func trail(_ event: String, _ members: [String: String]) -> AuditTrail {
    let note = AuditNote(event, members.merging(["by": Self.administrator]) { $1 }, at: .now)
    return AuditTrail(chain: Self.chain, note)
  }
}

extension Timestamp {
  static var now: Timestamp { Timestamp(Date.now) }
}
