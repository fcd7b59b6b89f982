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
    let log = LogOutput.logger(level: Logger.Level(logLevel ?? configuration.daemon.logLevel))
    do throws(SystemError) {
      try serve(configuration, log)
    } catch {
      log.error("cannot start: \(error)")
      throw ExitCode(EX_OSERR)
    }
  }

  private func readConfiguration() throws -> Configuration {
    let reading: ConfigurationReading
    do throws(SystemError) {
      reading = try ConfigurationFiles.read(config)
    } catch {
      complain("\(error)")
      throw ExitCode(EX_CONFIG)
    }
    for diagnostic in reading.diagnostics { complain("\(diagnostic)") }
    guard let configuration = reading.configuration else { throw ExitCode(EX_CONFIG) }
    return configuration
  }

  private func complain(_ line: String) {
    var standardError = StandardError()
    print(line, to: &standardError)
  }

  private func serve(_ configuration: Configuration, _ log: Logger) throws(SystemError) {
    try ProcessHardening.apply()
    let passed = try PassedSockets.take()
    let loop = try EventLoop()
    let daemon = try Daemon(loop: loop, configuration: configuration, log: log)
    guard passed.isEmpty else { return try run(daemon, passed, log, "sockets passed by systemd") }
    // Whoever connects is served by the uid that the kernel reports, so the daemon of the whole
    // host lets everyone connect; one that runs as a user is that user's alone.
    let bound = try BoundSocket(path: socket, mode: ProcessHardening.isRoot ? 0o666 : 0o600)
    try run(daemon, [bound.descriptor], log, bound.path)
  }

  private func run(
    _ daemon: Daemon, _ listeners: [Int32], _ log: Logger, _ place: String
  ) throws(SystemError) {
    try daemon.begin(on: listeners)
    log.info("serving", metadata: ["socket": "\(place)", "version": "\(Version.current)"])
    _ = try daemon.loop.run()
  }
}

extension LogLevel: ExpressibleByArgument {}
