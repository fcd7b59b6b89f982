import Foundation

/// PgBouncer before the tests' PostgreSQL: each transaction may have another of its two sessions.
public final class PgBouncer: Sendable {
  private static let program = "/usr/sbin/pgbouncer"
  public static let isInstalled = FileManager.default.isExecutableFile(atPath: program)

  private let folder: TestFolder
  private let pid: Int32

  /// - Parameter settings: lines of its configuration.
  public init(before server: PostgresServer, _ settings: String = "") throws {
    folder = try TestFolder()
    let path = folder.path
    try """
    [databases]
    * = host=\(server.socketFolder) user=postgres
    [pgbouncer]
    listen_addr =
    unix_socket_dir = \(path)
    listen_port = 6432
    auth_type = any
    pool_mode = transaction
    default_pool_size = 2
    pidfile = \(path)/pid
    logfile = \(path)/log
    \(settings)
    """.write(toFile: path + "/ini", atomically: false, encoding: .utf8)
    if getuid() == 0 { try Command.run("/usr/bin/chown", ["postgres", path]) }
    // It listens before it goes on by itself.
    try Command.runAsPostgres([Self.program, "-d", path + "/ini"])
    var pid: Int32?
    for _ in 0..<400 {
      let text = try? String(contentsOfFile: path + "/pid", encoding: .utf8)
      pid = text.flatMap { Int32($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
      if pid != nil { break }
      usleep(25_000)
    }
    guard let pid else { throw CommandFailed("PgBouncer did not start") }
    self.pid = pid
  }

  /// Foundation's threads block other signals, and what they start inherits that.
  public func stop() { _ = kill(pid, SIGKILL) }

  /// The address of one of the server's databases, by way of this.
  public func url(of database: String) throws -> String {
    guard let start = database.range(of: "?host=") else { throw CommandFailed(database) }
    return database[..<start.upperBound] + folder.path + "&port=6432"
  }
}
