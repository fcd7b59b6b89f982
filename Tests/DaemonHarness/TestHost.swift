import Foundation
import Glibc
import TestSupport
import Testing

/// A host as credd serves it: a sandbox upstream, a configuration, the daemon, its clients.
final class TestHost {
  let sandbox: Sandbox
  let configurationPath: String
  let socketPath: String
  private(set) var daemon: ChildProcess
  let creddArguments: [String]
  /// Starts the daemon and keeps its descriptors; nil where the test does.
  let manager: ServiceManager?
  private let environment: [String: String]
  /// Secrets that were in the daemon's memory at some time.
  private(set) var inMemory: Set<String> = []

  /// What a program printed and how it ended.
  struct Outcome: Equatable {
    var status: Int32
    var output: String
    var errors: String
  }

  /// - Parameters:
  ///   - options: of the sandbox.
  ///   - environment: of credd.
  ///   - arguments: of credd, beside those that name its files.
  ///   - prefix: the words before credd's own that make it run in another place.
  ///   - managed: started as a service, by a ``ServiceManager``.
  ///   - passed: with `managed`, what other socket units pass.
  ///   - configuration: see ``Configuration``; the usual one unless given.
  init(
    sandbox options: [String] = [], environment: [String: String] = [:],
    arguments: [String] = ["--log-level", "debug"], under prefix: [String] = [],
    managed: Bool = false, passed: [ServiceManager.Passed] = [],
    _ configuration: (Sandbox) -> String = { Configuration.usual($0) }
  ) throws {
    let stage = try Stage.current()
    sandbox = try Sandbox(options)
    configurationPath = stage.newFile("credd.conf")
    socketPath = stage.newFile("s")
    try Data(configuration(sandbox).utf8).write(to: URL(filePath: configurationPath))
    creddArguments = prefix + [Programs.credd, "--config", configurationPath] + arguments
    self.environment = environment
    manager = managed ? try ServiceManager(listeningOn: [socketPath], passed) : nil
    daemon =
      try manager?.start(creddArguments, environment)
      ?? ChildProcess(creddArguments + ["--socket", socketPath], environment: environment)
    try waitForSocket()
  }

  /// Ends the daemon by a signal, and starts the next one.
  ///
  /// - Parameter meanwhile: runs while there is none.
  func restart(by signal: Int32 = SIGTERM, meanwhile: () throws -> Void = {}) throws {
    daemon.send(signal)
    try daemon.wait()
    try meanwhile()
    try startAgain()
  }

  /// Starts the next daemon, when the last one has ended.
  func startAgain() throws {
    daemon =
      try manager?.start(creddArguments, environment)
      ?? ChildProcess(creddArguments + ["--socket", socketPath], environment: environment)
    try waitForSocket()
  }

  /// Writes another configuration, which the next daemon reads.
  func configure(_ configuration: (Sandbox) -> String) throws {
    try Data(configuration(sandbox).utf8).write(to: URL(filePath: configurationPath))
  }

  /// Makes credd read its configuration, and waits until it has.
  func reload(until said: String = "configuration loaded") throws {
    let before = lines(with: said)
    daemon.send(SIGHUP)
    try Deadline.usual.wait(for: said) { lines(with: said) > before }
  }

  private func lines(with text: String) -> Int {
    log.split(separator: "\n").count { $0.contains(text) }
  }

  private func waitForSocket() throws {
    try Deadline.usual.wait(for: "credd's socket") {
      if let status = daemon.status {
        throw Overdue("credd's socket: it ended with \(status): \(log)")
      }
      // A service manager listens all the time.
      if let manager { return manager.isReady }
      return (try? connect()) != nil
    }
  }

  /// Notes secrets that were seen in the daemon's memory, or that it has used for so short a time
  /// that none can look: upstream's answer is the proof.
  func noteInMemory(_ secrets: [String: String]) { inMemory.formUnion(secrets.values) }

  func connect() throws -> StreamSocket { try StreamSocket(unixPath: socketPath) }

  /// A path for a socket in a folder of its own.
  static func newSocketPath() throws -> String {
    let folder = try Stage.current().newFile("d")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return folder + "/sock"
  }

  /// Open connections, all served. One that just ended counts until credd has seen its end.
  func servedConnections(_ count: Int) throws -> [StreamSocket] {
    var served: [StreamSocket] = []
    try Deadline.usual.wait(for: "\(count) connections") {
      let socket = try connect()
      try socket.send(#"{"op":"ping"}"# + "\n")
      let reply = try socket.reply()
      if reply["Daemon"] != nil {
        served.append(socket)
      } else {
        expect(reply.errorCode, equals: "TooManyRequests")
      }
      return served.count == count
    }
    return served
  }

  /// Asks for the default profile's credentials, as often as upstream needs.
  @discardableResult
  func ask() throws -> JSON { try answer { try ask("{}") } }

  /// Asks one thing on a connection of its own.
  ///
  /// - Parameter path: another socket than the daemon's own.
  @discardableResult
  func ask(_ line: String, at path: String? = nil, _ deadline: Deadline = .usual) throws -> JSON {
    let socket = try StreamSocket(unixPath: path ?? socketPath)
    try socket.send(line + "\n")
    let reply = try socket.reply(deadline)
    // The stage keeps them from standard error.
    _ = reply.secrets()
    return reply
  }

  /// Asks for what upstream refuses. Asking again starts nothing, for credd is pausing then.
  func refusal(_ line: String) throws -> JSON { try answer { try ask(line) } }

  /// The first answer that is not `Timeout`. On a slow machine upstream's may come after the caller's
  /// time is up. A sign-in goes upstream each time it is asked.
  func answer(_ question: () throws -> JSON) throws -> JSON {
    try first(question) { $0.errorCode != "Timeout" }
  }

  /// The same of what credctl says.
  func answer(_ question: () throws -> Outcome) throws -> Outcome {
    try first(question) { !$0.errors.contains("no answer from upstream yet") }
  }

  private func first<Answer>(
    _ question: () throws -> Answer, where isMeant: (Answer) -> Bool
  ) throws -> Answer {
    let deadline = Deadline.usual
    while true {
      let answer = try question()
      if isMeant(answer) { return answer }
      guard !deadline.hasPassed else { throw Overdue("an answer from upstream") }
    }
  }

  /// Runs `credctl get`, as often as upstream needs.
  @discardableResult
  func get(_ arguments: String...) throws -> Outcome {
    try answer { try credctl(["get"] + arguments) }
  }

  @discardableResult
  func credctl(_ arguments: String...) throws -> Outcome { try credctl(arguments) }

  func credctl(_ arguments: [String]) throws -> Outcome {
    try run([Programs.credctl, "--socket", socketPath] + arguments)
  }

  func run(_ arguments: [String], environment: [String: String] = [:]) throws -> Outcome {
    let process = try ChildProcess(arguments, environment: environment)
    let status = try process.wait()
    return Outcome(status: status, output: process.output, errors: process.errors)
  }

  /// Asks credd to end, and waits for it.
  func stopDaemon() throws -> Int32 {
    daemon.send(SIGTERM)
    return try daemon.wait()
  }

  /// What the daemon logged so far.
  var log: String { daemon.errors }
}
