public import ArgumentParser
public import CredCore
import CredRuntime
import Glibc
import Logging

/// The credential daemon's command line.
struct Credd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credd",
    abstract: "Serve AWS credentials for developer-authenticated identities over a Unix socket.",
    discussion: """
      Takes its listening socket from systemd where one was passed, else binds --socket. Runs in \
      the foreground; SIGTERM ends it.
      """,
    version: Version.current)

  @Option(help: ArgumentHelp("Read FILE, then FILE.d/*.conf.", valueName: "file"))
  var config = ConfigurationFiles.standardPath

  @Option(help: ArgumentHelp("Bind this path where systemd passed no socket.", valueName: "path"))
  var socket = "/run/credd/credd.sock"

  @Flag(help: "Check the configuration, print all of its problems, and exit.")
  var checkConfig = false

  @Option(help: ArgumentHelp("error, warning, notice, info or debug.", valueName: "level"))
  var logLevel: LogLevel?

  func run() throws {
    let configuration = try readConfiguration()
    if checkConfig { return }
    let threshold = LogThreshold(Logger.Level(logLevel ?? configuration.daemon.logLevel))
    let log = LogOutput.logger(threshold)
    do throws(SystemError) {
      try ProcessHardening.apply()
      let passed = try PassedDescriptors.take()
      guard let unusable = passed.unusable.first else {
        return try serve(configuration, passed, threshold, log)
      }
      let problem =
        "cannot serve passed socket \(unusable.descriptor) '\(unusable.name)': "
        + "each ListenStream= of credd.socket must be a path"
      log.error("\(problem)")
      refuse(problem, passed)
    } catch {
      log.error("cannot start: \(error)")
      ServiceFailure.tell("cannot start: \(error)", number: error.number)
      throw ExitCode(EX_OSERR)
    }
    throw ExitCode(EX_CONFIG)
  }

  private func readConfiguration() throws -> Configuration {
    if checkConfig { ServiceDirectory.assumeCredentials() }
    let reading: ConfigurationReading
    do throws(SystemError) {
      reading = try ConfigurationFiles.read(config)
    } catch {
      complain("\(error)")
      throw unconfigured(["\(error)"])
    }
    for diagnostic in reading.diagnostics { complain("\(diagnostic)") }
    if let configuration = reading.configuration { return configuration }
    throw unconfigured(
      reading.diagnostics.filter { $0.severity == .error }.map(\.description))
  }

  /// What `systemctl status` shows is one line; the journal has them all.
  private func unconfigured(_ problems: [String]) -> ExitCode {
    let more = problems.count > 1 ? " and \(problems.count - 1) more" : ""
    if !checkConfig, let first = problems.first {
      refuse("configuration unusable: \(first)\(more)", try? PassedDescriptors.take())
    }
    return ExitCode(EX_CONFIG)
  }

  /// Nothing changes until somebody mends it: who waits in a socket of systemd's is told before the
  /// daemon ends.
  private func refuse(_ problem: String, _ passed: PassedDescriptors?) {
    ServiceFailure.tell(problem, number: nil)
    Apology.make(
      "credd cannot start: its configuration is wrong",
      to: passed?.listeners.map(\.descriptor) ?? [])
  }

  private func complain(_ line: String) {
    var standardError = StandardError()
    print(line, to: &standardError)
  }

  private func serve(
    _ configuration: Configuration, _ passed: PassedDescriptors, _ threshold: LogThreshold,
    _ log: Logger
  ) throws(SystemError) {
    lockMemory(log)
    passed.dropStrays(log: log)
    let path = config
    let options = DaemonOptions(
      logThreshold: logLevel == nil ? threshold : nil, isActivated: !passed.listeners.isEmpty
    ) {
      Result { () throws(SystemError) in try ConfigurationFiles.read(path) }
    }
    let loop = try EventLoop()
    let daemon = try Daemon(
      loop: loop, settings: ActiveConfiguration(configuration, log: log), options: options,
      log: log)
    guard passed.listeners.isEmpty else {
      let names = passed.listeners.map(\.name).joined(separator: " ")
      return try run(daemon, passed, passed.listeners.map(\.descriptor), log, "systemd's \(names)")
    }
    // Whoever connects is served by the uid that the kernel reports, so the daemon of the whole
    // host lets everyone connect; one that runs as a user is that user's alone.
    let bound = try BoundSocket(path: socket, mode: ProcessHardening.isRoot ? 0o666 : 0o600)
    try run(daemon, passed, [bound.descriptor], log, bound.path)
  }

  /// A daemon that may not is better than none: freed memory is wiped all the same.
  private func lockMemory(_ log: Logger) {
    do throws(SystemError) {
      try ProcessHardening.lockMemory()
    } catch {
      log.notice("secrets may be swapped out: \(error)")
    }
  }

  private func run(
    _ daemon: Daemon, _ passed: PassedDescriptors, _ listeners: [Int32], _ log: Logger,
    _ place: String
  ) throws(SystemError) {
    try daemon.begin(
      on: listeners, stores: passed.stores)
    log.info("serving", metadata: ["socket": "\(place)", "version": "\(Version.current)"])
    _ = try daemon.loop.run()
  }
}

extension LogLevel: ExpressibleByArgument {}
