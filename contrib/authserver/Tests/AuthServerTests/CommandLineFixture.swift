import AuthCore
import AuthTestSupport
import Foundation

/// The program with a configuration of its own, and no server.
struct CommandLineFixture {
  let folder: TestFolder
  let database: AuthCore.Configuration.Database
  private let configuration: String

  var path: String { folder.path + "/auth.db" }

  /// - Parameters:
  ///   - place: of SQLite's file in its folder without.
  ///   - server: further lines of that section.
  init(
    _ place: AuthCore.Configuration.Database? = nil, server: String = "", aws: String = "",
    isMigrated: Bool = true
  ) throws {
    folder = try TestFolder()
    database = place ?? .sqlite(path: folder.path + "/auth.db")
    try PasswordList.copy(to: folder)
    configuration = folder.path + "/authserver.conf"
    let text =
      switch database {
      case .sqlite(let path): path
      case .postgres(let url): url
      }
    try """
    [server]
    database = \(text)
    \(server)
    [aws]
    \(aws)
    [pool work]
    identity_pool_id = us-east-1:11
    developer_provider = login.example.app
    """.write(toFile: configuration, atomically: false, encoding: .utf8)
    if isMigrated { try run("migrate") }
  }

  @discardableResult
  func run(_ arguments: String..., environment: [String: String] = [:]) throws -> String {
    try run(arguments, environment: environment)
  }

  @discardableResult
  func run(_ arguments: [String], environment: [String: String] = [:]) throws -> String {
    try Command.run(
      Programs.program, arguments + ["--config", configuration],
      environment: environment.merging(["PATH": "/usr/bin:/bin"]) { $1 })
  }

  /// What it printed, also on standard error.
  func said(_ arguments: String..., input: String? = nil) throws -> String {
    try Command.run(
      "/bin/bash",
      ["-c", #"exec "$@" 2>&1"#, "bash", Programs.program] + arguments
        + ["--config", configuration],
      input: input, environment: ["PATH": "/usr/bin:/bin"])
  }

  /// What it said where it failed.
  func failure(_ status: Int32, _ arguments: String...) -> String? { failure(status, arguments) }

  /// - Parameter starter: a program that starts it.
  func failure(_ status: Int32, _ arguments: [String], by starter: [String] = []) -> String? {
    let command = starter + [Programs.program] + arguments + ["--config", configuration]
    do {
      try Command.run(
        command[0], Array(command.dropFirst()),
        environment: ["PATH": "/usr/bin:/bin"])
      return nil
    } catch {
      let text = "\(error)"
      return text.contains(" ended with \(status): ") ? text : nil
    }
  }

  /// But for the list of common passwords.
  var files: Set<String> {
    Set((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
      .subtracting(["common-passwords"])
  }

  func mode(_ name: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: folder.path + "/" + name)[.posixPermissions]
      as? Int
  }

  func sql(_ statements: String) throws {
    try Command.run("/usr/bin/sqlite3", [path, statements])
  }
}
