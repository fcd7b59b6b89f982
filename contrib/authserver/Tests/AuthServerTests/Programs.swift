import AuthCore
import AuthTestSupport
import Foundation
import Glibc
import Synchronization

/// credd-authserver's program, and a credd-sandbox that it asks.
final class Programs: Sendable {
  static let poolID = "us-east-1:11111111-2222-3333-4444-555555555555"

  /// credd's own programs.
  static let folder = ProcessInfo.processInfo.environment["CREDD_BINARIES"]

  /// Python's schemathesis, where it is installed; the scripts that run the tests install it.
  static let schemathesis = ProcessInfo.processInfo.environment["SCHEMATHESIS"]

  /// In CI nothing is skipped: what is missing fails.
  static let isCI = ProcessInfo.processInfo.environment["CI"] == "true"

  static var program: String {
    // Beside the tests' own bundle.
    let tests = CommandLine.arguments.first ?? ""
    let bundle = URL(fileURLWithPath: tests).deletingLastPathComponent()
    return bundle.appendingPathComponent("credd-authserver").path
  }

  let database: AuthCore.Configuration.Database
  let folder: TestFolder
  let sandbox: String
  private let running = Mutex<[Process]>([])
  /// Commands want the schema, and make none.
  private let hasSchema = Mutex(false)

  convenience init(_ kind: TestDatabase) throws { try self.init(try kind.make()) }

  /// - Parameter other: whose sandbox is asked; a new one without.
  init(_ database: AuthCore.Configuration.Database, sandbox other: Programs? = nil) throws {
    self.database = database
    folder = try TestFolder()
    try PasswordList.copy(to: folder)
    if let other {
      sandbox = other.sandbox
      return
    }
    let ready = folder.path + "/ready"
    let process = try Self.start(
      (Programs.folder ?? "") + "/credd-sandbox", ["--port", "0", "--ready-file", ready])
    sandbox = try Self.wait("credd-sandbox") {
      (try? String(contentsOfFile: ready, encoding: .utf8))?.split(separator: "\n").first
        .map(String.init)
    }
    running.withLock { $0.append(process) }
  }

  private static func start(
    _ program: String, _ arguments: [String], environment: [String: String]? = nil
  ) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    if let environment { process.environment = environment }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try Command.start(process)
    return process
  }

  /// Another program, which ends with the test.
  func start(
    _ program: String, _ arguments: [String], environment: [String: String]? = nil
  ) throws {
    let process = try Self.start(program, arguments, environment: environment)
    running.withLock { $0.append(process) }
  }

  static func wait<T>(_ name: String, for value: () throws -> T?) throws -> T {
    for _ in 0..<400 {
      if let value = try value() { return value }
      usleep(50_000)
    }
    throw NotReady(name: name)
  }

  struct NotReady: Error { let name: String }

  func stop() {
    for process in running.withLock({ $0 }) where process.isRunning {
      process.terminate()
    }
    for process in running.withLock({ $0 }) { process.waitUntilExit() }
  }

  /// What a test adds to the configuration: lines of a section, or another endpoint of Cognito's.
  typealias More = [String: String]

  func configuration(listen: String, admin: String, _ more: More = [:]) throws -> String {
    let place =
      switch database {
      case .sqlite(let path): path
      case .postgres(let url): url
      }
    let path = folder.path + "/\(UUID().uuidString.prefix(6)).conf"
    try """
    [server]
    listen = \(listen)
    admin_listen = \(admin)
    database = \(place)
    registration = open
    quota = 2000/s
    \(more["server"] ?? "")
    [aws]
    cognito_endpoint = \(more["cognito"] ?? sandbox)
    \(more["aws"] ?? "")
    [pool work]
    identity_pool_id = \(Self.poolID)
    developer_provider = login.example.app
    """.write(toFile: path, atomically: false, encoding: .utf8)
    return path
  }

  static let environment = [
    "AWS_ACCESS_KEY_ID": "AKIASANDBOXDEVELOPER",
    "AWS_SECRET_ACCESS_KEY": "sandbox-developer-secret", "PATH": "/usr/bin:/bin",
  ]

  /// One command of the administrator.
  @discardableResult
  func admin(
    _ arguments: String..., input: String? = nil, environment: [String: String] = [:],
    expecting status: Int32 = 0
  ) throws -> String {
    try admin(arguments, input: input, environment: environment, expecting: status)
  }

  /// - Parameter more: of the configuration.
  @discardableResult
  func admin(
    _ arguments: [String], input: String? = nil, more: More = [:],
    environment: [String: String] = [:], expecting status: Int32 = 0
  ) throws -> String {
    let socket = folder.path + "/s"
    if !["migrate", "serve"].contains(arguments.first), !hasSchema.withLock({ $0 }) {
      let plain = try configuration(listen: socket, admin: socket + "-admin")
      let migrated = try? Command.run(
        Self.program, ["migrate", "--config", plain], environment: Self.environment)
      hasSchema.withLock { $0 = migrated != nil }
    }
    let configuration = try configuration(listen: socket, admin: socket + "-admin", more)
    return try Command.run(
      Self.program, arguments + ["--config", configuration], input: input,
      environment: Self.environment.merging(environment) { _, new in new }, expecting: status)
  }

  /// Enrols a host for the pool.
  ///
  /// - Returns: its token.
  func enrol(_ name: String, _ options: String...) throws -> String {
    let text = try admin(["host", "enrol", name, "--pool", "work", "--json"] + options)
    let members = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    guard let token = members?["token"] as? String else { throw CommandFailed(text) }
    return token
  }

  /// A server on Unix sockets of its own.
  ///
  /// - Parameters:
  ///   - command: the words that start the program.
  ///   - more: of the configuration.
  func serve(
    by command: [String] = [program], errors: FileHandle? = nil, _ more: More = [:],
    environment: [String: String] = environment
  ) throws -> RunningServer {
    let listen = folder.path + "/" + UUID().uuidString.prefix(6)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments =
      command.dropFirst() + [
        "serve", "--config", try configuration(listen: listen, admin: listen + "-admin", more),
      ]
    process.environment = environment
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    let log = listen + ".log"
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    process.standardError = errors ?? FileHandle(forWritingAtPath: log)
    try Command.start(process)
    running.withLock { $0.append(process) }
    let server = RunningServer(process: process, socket: listen, log: log)
    _ = try Self.wait("credd-authserver: " + log) { () throws -> Bool? in
      guard process.isRunning else {
        throw CommandFailed(try String(contentsOfFile: log, encoding: .utf8))
      }
      return (try? server.get("/readyz").status == 200) == true ? true : nil
    }
    return server
  }

  /// A request to the sandbox itself.
  func cognito(_ path: String, _ body: String, target: String? = nil) throws -> String {
    var arguments = ["--silent", "--fail", "--noproxy", "*", "--data", body]
    if let target {
      arguments += [
        "--header", "X-Amz-Target: AWSCognitoIdentityService.\(target)", "--header",
        "Content-Type: application/x-amz-json-1.1",
      ]
    }
    return try Command.run("/usr/bin/curl", arguments + [sandbox + "/" + path])
  }
}

/// A server that runs.
struct RunningServer: ServerClient {
  let process: Process
  let socket: String
  let log: String

  /// Until the log says so.
  func wait(until text: String) throws {
    for _ in 0..<400 {
      if try String(contentsOfFile: log, encoding: .utf8).contains(text) { return }
      usleep(25_000)
    }
    throw CommandFailed("the log does not say: \(text)")
  }

  func reload() { _ = Glibc.kill(process.processIdentifier, SIGHUP) }

  func kill() { _ = Glibc.kill(process.processIdentifier, SIGKILL) }
}

struct ServerReply {
  let status: Int
  let retryAfter: String?
  let body: String

  subscript(name: String) -> String? {
    (try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: String])?[name]
  }
}

/// Requests to a server on Unix sockets, through curl.
protocol ServerClient: Sendable {
  var socket: String { get }
}

extension ServerClient {
  private func curl(_ socket: String, _ arguments: [String]) throws -> ServerReply {
    let text = try Command.run(
      "/usr/bin/curl",
      [
        "--silent", "--show-error", "--max-time", "30", "--include", "--noproxy", "*",
        "--unix-socket", socket,
      ]
        + arguments)
    let parts = text.split(separator: "\r\n\r\n", maxSplits: 1)
    let head = parts.first?.split(separator: "\r\n") ?? []
    let status = head.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    let retry = head.first { $0.lowercased().hasPrefix("retry-after:") }
    return ServerReply(
      status: status, retryAfter: retry.map { String($0.dropFirst(13)) },
      body: parts.count > 1 ? String(parts[1]) : "")
  }

  func get(_ path: String) throws -> ServerReply {
    try curl(path == "/readyz" ? socket + "-admin" : socket, ["http://server" + path])
  }

  func post(_ path: String, _ body: String, _ headers: [String] = []) throws -> ServerReply {
    let all = (headers + ["Content-Type: application/json"]).flatMap { ["--header", $0] }
    return try curl(socket, all + ["--data-binary", body, "http://server" + path])
  }

  func register(_ name: String) throws -> ServerReply {
    try post("/v1/register", #"{"Username": "\#(name)", "Password": "three plain words"}"#)
  }

  func callback(
    _ token: String, _ user: String, identity: String? = nil, forced: Bool = false
  ) throws -> ServerReply {
    let claim = identity.map { #", "IdentityId": "\#($0)""# } ?? ""
    return try post(
      "/v1/token",
      #"{"IdentityPoolId": "\#(Programs.poolID)", "DeveloperProviderName": "login.example.app", "#
        + #""DeveloperUserIdentifier": "\#(user)"\#(claim)}"#,
      ["Authorization: Bearer \(token)"] + (forced ? ["Cache-Control: no-cache"] : []))
  }
}
