import CredCore
import CredRuntime
import CredService
import Glibc
import Logging

/// Runs the credential daemon with the options of its command line.
struct Credd {
  private let line: DaemonCommandLine
  /// The reason why this process may be swapped out; nil if its memory is locked.
  private let unlocked: SystemError?

  /// Ends the program early, with an exit status.
  private struct Ending: Error {
    let status: Int32
  }

  /// Runs until a signal ends it.
  ///
  /// - Returns: the exit status, one of sysexits.h.
  static func run(_ arguments: [String]) -> Int32 {
    let unlocked: SystemError?
    do throws(SystemError) {
      unlocked = try ProcessHardening.apply()
    } catch {
      complain("credd: cannot protect its secrets: \(error)")
      ServiceFailure.tell("cannot protect its secrets: \(error)", number: error.number)
      return EX_OSERR
    }
    do throws(DaemonCommandLine.Misuse) {
      switch try DaemonCommandLine.read(arguments) {
      case .help: print(DaemonCommandLine.help)
      case .version: print(Version.current)
      case .serve(let line): return Credd(line: line, unlocked: unlocked).run()
      }
      return EX_OK
    } catch {
      complain("credd: \(error)\nTry 'credd --help'.")
      refuse("wrong command line: \(error)", keepSessions(logLevel: nil))
      return EX_USAGE
    }
  }

  private func run() -> Int32 {
    do throws(Ending) {
      let configuration = try readConfiguration()
      if !line.checkConfig { try start(configuration) }
      return EX_OK
    } catch {
      return error.status
    }
  }

  private func start(_ configuration: Configuration) throws(Ending) {
    let threshold = LogThreshold(Logger.Level(line.logLevel ?? configuration.daemon.logLevel))
    let log = LogOutput.logger(threshold)
    do throws(SystemError) {
      try ProcessHardening.prepareDaemon()
      let passed = try PassedDescriptors.take()
      for unusable in passed.unusable {
        log.warning(
          """
          cannot serve passed socket \(unusable.descriptor) '\(unusable.name)': each ListenStream= of \
          credd.socket must be a path, and only a socket unit with FileDescriptorName=endpoint may \
          have a port on 127.0.0.1; it is left alone
          """)
      }
      try serve(configuration, passed, threshold, log)
    } catch {
      log.error("cannot start: \(error)")
      ServiceFailure.tell("cannot start: \(error)", number: error.number)
      throw Ending(status: EX_OSERR)
    }
  }

  private func readConfiguration() throws(Ending) -> Configuration {
    let reading: ConfigurationReading
    var diagnostics: [Diagnostic] = []
    var unchecked: [String] = []
    do throws(SystemError) {
      if line.checkConfig {
        // Files that the configuration names are opened even if it has errors, so that one run shows
        // all problems.
        var inspection = try ConfigurationInspection(
          of: line.config, credentials: ServiceDirectory.assumeCredentials())
        inspection.run()
        reading = inspection.reading
        (diagnostics, unchecked) = (inspection.diagnostics, inspection.unchecked)
      } else {
        reading = try ConfigurationFiles.read(line.config)
      }
    } catch {
      Self.complain("\(error)")
      throw unconfigured(["\(error)"])
    }
    diagnostics = (reading.diagnostics + diagnostics).inReadingOrder
    let errors = diagnostics.filter { $0.severity == .error }
    for diagnostic in diagnostics where diagnostic.severity == .warning {
      Self.complain("\(diagnostic)")
    }
    for check in unchecked { Self.complain("not checked: \(check)") }
    // The errors come last, because systemctl shows only the end.
    for error in errors { Self.complain("\(error)") }
    if let configuration = reading.configuration, errors.isEmpty { return configuration }
    throw unconfigured(errors.map(\.description))
  }

  /// `systemctl status` shows one line; the journal has all problems.
  private func unconfigured(_ problems: [String]) -> Ending {
    let more = problems.count > 1 ? " and \(problems.count - 1) more" : ""
    if !line.checkConfig, let first = problems.first {
      Self.refuse(
        "configuration unusable: \(first)\(more)", Self.keepSessions(logLevel: line.logLevel))
    }
    return Ending(status: EX_CONFIG)
  }

  /// Keeps the sessions for a daemon that can start.
  ///
  /// - Returns: the descriptors that systemd has passed.
  private static func keepSessions(logLevel: LogLevel?) -> PassedDescriptors? {
    guard let passed = try? PassedDescriptors.take() else { return nil }
    Daemon.keepSessions(
      of: passed, log: LogOutput.logger(LogThreshold(Logger.Level(logLevel ?? .info))))
    return passed
  }

  /// Answers waiting clients with the error, then ends, because only a person can correct the
  /// configuration.
  private static func refuse(_ problem: String, _ passed: PassedDescriptors?) {
    ServiceFailure.tell(problem, number: nil)
    ListeningSocket.refuseAll(
      "credd cannot start: its configuration is wrong",
      on: passed?.listeners.map(\.descriptor) ?? [], passed?.endpoint ?? EndpointSockets())
  }

  private static func complain(_ line: String) {
    var standardError = StandardError()
    print(line, to: &standardError)
  }

  private func serve(
    _ configuration: Configuration, _ passed: PassedDescriptors, _ threshold: LogThreshold,
    _ log: Logger
  ) throws(SystemError) {
    // Without that permission the daemon still starts, and still wipes freed memory.
    if let unlocked { log.notice("secrets may be swapped out: \(unlocked)") }
    passed.dropStrays(log: log)
    let path = line.config
    let options = DaemonOptions(
      logThreshold: line.logLevel == nil ? threshold : nil, isActivated: !passed.listeners.isEmpty
    ) {
      Result { () throws(SystemError) in try ConfigurationFiles.read(path) }
    }
    let makeDaemon = { () throws(SystemError) in
      try Daemon(
        loop: EventLoop(), configuration: ResolvedConfiguration(configuration, log: log),
        options: options, log: log, stores: passed.stores)
    }
    var endpoint = passed.endpoint
    if endpoint.listeners.isEmpty, let address = line.endpoint { try endpoint.bind(address) }
    // Keeps the socket's path for as long as the daemon runs.
    var tokens: TokenSocket?
    if endpoint.tokens.isEmpty, let path = line.tokenSocket {
      let made = try TokenSocket(path: path)
      endpoint.addTokenSocket(made.bound.descriptor)
      tokens = made
    }
    defer { withExtendedLifetime(tokens) {} }
    guard passed.listeners.isEmpty else {
      let names = passed.listeners.map(\.name).joined(separator: " ")
      return try run(
        makeDaemon(), passed.listeners.map(\.descriptor), endpoint, log, "systemd's \(names)")
    }
    // Done before the daemon is made, because the daemon takes up the sessions of the last one. The
    // daemon of the whole host lets every user connect, and the kernel's uid decides. A user's
    // daemon serves only that user.
    let bound = try ListeningSocket(
      path: line.socket, mode: ProcessHardening.isRoot ? 0o666 : 0o600)
    try run(makeDaemon(), [bound.descriptor], endpoint, log, bound.path)
  }

  private func run(
    _ daemon: Daemon, _ listeners: [Int32], _ endpoint: EndpointSockets, _ log: Logger,
    _ place: String
  ) throws(SystemError) {
    try daemon.begin(on: listeners, endpoint: endpoint)
    var metadata: Logger.Metadata = ["socket": "\(place)", "version": "\(Version.current)"]
    if !endpoint.listeners.isEmpty {
      metadata["endpoint"] =
        "\(endpoint.listeners.map(\.address.description).joined(separator: " "))"
    }
    log.info("serving", metadata: metadata)
    _ = try daemon.loop.run()
  }
}

/// The socket for units' tokens, if systemd passed none.
private final class TokenSocket {
  let bound: ListeningSocket

  init(path: String) throws(SystemError) {
    bound = try ListeningSocket(path: path, mode: 0o666)
  }
}
