public import AuthCore
public import AuthStore
public import Foundation
import Synchronization
public import Testing

/// The two databases that every test of the store runs on.
public enum TestDatabase: String, Sendable, CaseIterable, CustomTestStringConvertible {
  case sqlite
  case postgres

  public var testDescription: String { rawValue }

  /// A new one. With PostgreSQL, a server that the tests have started, and a database of its own in
  /// it.
  public func make() throws -> AuthCore.Configuration.Database {
    switch self {
    case .sqlite: .sqlite(path: try TestFolder().path + "/auth.db")
    case .postgres: .postgres(url: try PostgresServer.shared().newDatabase())
    }
  }

  /// One with its schema.
  public func makeStore() async throws -> AuthStore {
    let store = try AuthStore(try make())
    try await store.migrate()
    return store
  }
}

extension TestDatabase {
  /// What takes a schema back to when nothing could be archived.
  public static func beforeArchives(_ place: AuthCore.Configuration.Database) -> [String] {
    switch place {
    case .sqlite:
      [
        "ALTER TABLE hosts DROP COLUMN certificates_from",
        "DROP TRIGGER audit_no_delete", "DROP TABLE audit_starts",
        "CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'no'); END",
      ]
    case .postgres:
      [
        "ALTER TABLE hosts DROP COLUMN certificates_from",
        "DROP INDEX users_by_identifier", "DROP INDEX users_by_unique_key",
        "DROP TRIGGER audit_no_delete ON audit", "DROP FUNCTION audit_keeps_what_is_in_no_archive",
        "DROP TABLE audit_starts",
      ]
    }
  }
}

/// The package's list of common passwords.
public enum PasswordList {
  public static let path = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../common-passwords").standardized.path

  /// For a program whose configuration lies in that folder. Also where other users cannot read the
  /// sources.
  public static func copy(to folder: TestFolder) throws {
    try String(contentsOfFile: path, encoding: .utf8).write(
      toFile: folder.path + "/common-passwords", atomically: false, encoding: .utf8)
  }
}

/// A folder that is removed with its owner.
public final class TestFolder: Sendable {
  public let path: String

  public init() throws {
    path =
      FileManager.default.temporaryDirectory.path + "/authserver-" + UUID().uuidString.prefix(8)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    // PostgreSQL runs as another user.
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    Self.made.withLock { $0.append(path) }
    Self.removeAtExit
  }

  private static let made = Mutex<[String]>([])
  private static let removeAtExit: Void = {
    atexit {
      for path in TestFolder.made.withLock({ $0 }) {
        try? FileManager.default.removeItem(atPath: path)
      }
    }
  }()
}

/// A PostgreSQL server of the tests' own, on a Unix socket. Root starts it as the user `postgres`,
/// because it refuses to run as root.
public final class PostgresServer: Sendable {
  private let folder: TestFolder
  private let bin: String
  private let count = Mutex(0)
  public let socketFolder: String

  private static let only = Mutex<PostgresServer?>(nil)

  public static func shared() throws -> PostgresServer {
    try only.withLock { server in
      if let server { return server }
      let made = try PostgresServer()
      server = made
      return made
    }
  }

  public init() throws {
    folder = try TestFolder()
    socketFolder = folder.path
    let versions =
      (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
    guard let version = versions.max(by: { (Int($0) ?? 0) < (Int($1) ?? 0) }) else {
      throw CommandFailed("PostgreSQL is not installed: apt-get install postgresql")
    }
    bin = "/usr/lib/postgresql/\(version)/bin"
    if getuid() == 0 { try Command.run("/usr/bin/chown", ["postgres", folder.path]) }
    try server("initdb", ["-A", "trust", "-U", "postgres", "-D", data, "--no-sync"])
    try start()
    let stop = self
    Self.stopAtExit.withLock { $0.append(stop) }
    Self.registerStop
  }

  private static let stopAtExit = Mutex<[PostgresServer]>([])
  private static let registerStop: Void = {
    atexit { for server in PostgresServer.stopAtExit.withLock({ $0 }) { try? server.stop() } }
  }()

  private var data: String { folder.path + "/data" }

  public func start() throws {
    try server(
      "pg_ctl",
      [
        "-D", data, "-w", "-l", folder.path + "/log", "-o",
        // Here PostgreSQL ends, but no machine does: it need not wait for the disk.
        "-c listen_addresses='' -c unix_socket_directories=\(folder.path) -c max_connections=300 "
          + "-c fsync=off",
        "start",
      ])
  }

  public func stop() throws { try server("pg_ctl", ["-D", data, "-w", "-m", "immediate", "stop"]) }

  /// Refuses to write from now on, as one that has become a stand-by.
  public func becomeReadOnly() throws {
    let setting = "default_transaction_read_only = on\n"
    let file = data + "/postgresql.auto.conf"
    let text = try String(contentsOfFile: file, encoding: .utf8)
    try (text + setting).write(toFile: file, atomically: false, encoding: .utf8)
    try server("pg_ctl", ["-D", data, "reload"])
    // It says when it has read that.
    while try Command.run(
      "/usr/bin/psql",
      ["-h", socketFolder, "-U", "postgres", "-Atc", "SHOW default_transaction_read_only"])
      != "on\n"
    {}
  }

  /// Stops all of its processes where they are, as a machine that swaps, or hangs, would.
  public func freeze() throws { try signal(SIGSTOP) }

  public func thaw() throws { try signal(SIGCONT) }

  /// The first process gets it before its children are listed: stopped, it makes no more.
  private func signal(_ number: Int32) throws {
    let file = try String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8)
    guard let pid = file.split(separator: "\n").first.flatMap({ Int32($0) }), kill(pid, number) == 0
    else { throw CommandFailed("PostgreSQL does not run") }
    let children = "/proc/\(pid)/task/\(pid)/children"
    let others = try String(contentsOfFile: children, encoding: .utf8).split(separator: " ")
    // One that has ended meanwhile wants no signal.
    for child in others.compactMap({ Int32($0) }) { _ = kill(child, number) }
  }

  public func newDatabase() throws -> String {
    let number = count.withLock { count in
      count += 1
      return count
    }
    try server("createdb", ["-h", folder.path, "-U", "postgres", "test\(number)"])
    return "postgresql://postgres@/test\(number)?host=\(folder.path)"
  }

  private func server(_ program: String, _ arguments: [String]) throws {
    try Command.runAsPostgres([bin + "/" + program] + arguments)
  }
}

public struct CommandFailed: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}

/// A program that runs and ends.
public enum Command {
  private static let starting = NSLock()

  /// Foundation waits until the descriptor closes by which it sees a process end. A server that is left
  /// running would keep it open.
  private static let withoutDescriptors = """
    for file in /proc/$$/fd/*; do
      number=${file##*/}
      if ((number > 2 && number != 255)); then eval "exec $number>&-"; fi
    done
    exec "$@"
    """

  /// Runs what may leave a server running, and refuses to run as root.
  static func runAsPostgres(_ command: [String]) throws {
    let user = getuid() == 0 ? ["/usr/sbin/runuser", "-u", "postgres", "--"] : []
    try run("/bin/bash", ["-c", withoutDescriptors, "bash"] + user + command)
  }

  /// Starts a program, one at a time: one that starts at the same moment would inherit the descriptor
  /// by which Foundation sees the other one end.
  public static func start(_ process: Process) throws {
    starting.lock()
    defer { starting.unlock() }
    try process.run()
  }

  /// - Returns: what it printed; throws where it failed.
  @discardableResult
  public static func run(
    _ path: String, _ arguments: [String], input: String? = nil,
    environment: [String: String]? = nil, expecting status: Int32 = 0
  ) throws -> String {
    let folder = try TestFolder()
    let (out, err) = (folder.path + "/out", folder.path + "/err")
    for file in [out, err] { _ = FileManager.default.createFile(atPath: file, contents: nil) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    if let environment { process.environment = environment }
    // Files, not pipes: a server that is left running would keep a pipe open.
    process.standardOutput = FileHandle(forWritingAtPath: out)
    process.standardError = FileHandle(forWritingAtPath: err)
    if let input {
      let file = folder.path + "/in"
      try input.write(toFile: file, atomically: false, encoding: .utf8)
      process.standardInput = FileHandle(forReadingAtPath: file)
    } else {
      process.standardInput = FileHandle.nullDevice
    }
    try start(process)
    process.waitUntilExit()
    let text = try String(contentsOfFile: out, encoding: .utf8)
    guard process.terminationStatus == status else {
      let said = try String(contentsOfFile: err, encoding: .utf8)
      throw CommandFailed(
        "\(path) \(arguments) ended with \(process.terminationStatus): \(said)\(text)")
    }
    return text
  }
}
