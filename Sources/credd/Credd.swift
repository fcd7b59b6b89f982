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
      if let passed = try? PassedDescriptors.take() {
        refuse("wrong command line: \(error)", passed)
      } else {
        ServiceFailure.tell("wrong command line: \(error)", number: nil)
      }
      return EX_USAGE
    }
  }

  private func run() -> Int32 {
    do throws(Ending) {
      guard !line.checkConfig else {
        // Said also of a configuration with errors, since another one may be meant.
        defer {
          if !line.namesConfig, let notice = OwnConfiguration.notice { Self.complain(notice) }
        }
        _ = try readConfiguration(nil)
        return EX_OK
      }
      let passed = try takePassed()
      // What changes while the files are read counts as a change after that.
      let state = ConfigurationState(of: line.config)
      try start(readConfiguration(passed), state, passed)
      return EX_OK
    } catch {
      return error.status
    }
  }

  private func takePassed() throws(Ending) -> PassedDescriptors {
    do throws(SystemError) {
      return try PassedDescriptors.take()
    } catch {
      Self.complain("credd: cannot start: \(error)")
      ServiceFailure.tell("cannot start: \(error)", number: error.number)
      throw Ending(status: EX_OSERR)
    }
  }

  private func start(
    _ configuration: Configuration, _ state: ConfigurationState, _ passed: PassedDescriptors
  ) throws(Ending) {
    let threshold = LogThreshold(Logger.Level(line.logLevel ?? configuration.daemon.logLevel))
    let log = LogOutput.logger(threshold)
    do throws(SystemError) {
      try ProcessHardening.prepareDaemon()
      for unusable in passed.unusable {
        log.warning(
          """
          cannot serve passed socket \(unusable.descriptor) '\(unusable.name)': each ListenStream= of \
          credd.socket must be a path, and only a socket unit with FileDescriptorName=endpoint may \
          have a port on 127.0.0.1; it is left alone
          """)
      }
      try serve(configuration, state, passed, threshold, log)
    } catch {
      let reason = "\(error)\(advice(on: error))"
      log.error("cannot start: \(reason)")
      ServiceFailure.tell("cannot start: \(reason)", number: error.number)
      throw Ending(status: EX_OSERR)
    }
  }

  /// What to do where another process listens already.
  private func advice(on error: SystemError) -> String {
    guard error.number == EADDRINUSE else { return "" }
    switch error.operation {
    case "listen on \(line.socket)":
      return ": systemd or another credd listens there: choose another path by --socket PATH"
    case "listen on \(line.tokenSocket ?? "")":
      return ": systemd or another credd listens there: choose another path by --token-socket PATH"
    default:
      return ": another program listens there: choose another port by --endpoint ADDRESS:PORT"
    }
  }

  /// - Parameter passed: nil for `--check-config`, which is passed nothing.
  private func readConfiguration(
    _ passed: PassedDescriptors?
  ) throws(Ending) -> Configuration {
    let reading: ConfigurationReading
    var diagnostics: [Diagnostic] = []
    var unchecked: [String] = []
    do throws(SystemError) {
      let neighbours = SocketNeighbours(line, passed)
      if line.checkConfig {
        // Files that the configuration names are opened even if it has errors, so that one run shows
        // all problems.
        var inspection = try ConfigurationInspection(
          of: line, credentials: ServiceDirectory.assumeCredentials(), beside: neighbours)
        inspection.run()
        reading = inspection.reading
        (diagnostics, unchecked) = (inspection.diagnostics, inspection.unchecked)
      } else {
        reading = try ConfigurationFiles.read(line.config, beside: neighbours)
      }
    } catch {
      let problem = ConfigurationFiles.explained(error, of: line.config, isCheck: line.checkConfig)
      Self.complain(problem)
      throw unconfigured([problem], passed)
    }
    diagnostics = (reading.diagnostics + diagnostics).inReadingOrder
    let errors = Self.report(diagnostics, unchecked)
    guard let configuration = reading.configuration, errors.isEmpty else {
      throw unconfigured(errors.map(\.description), passed, reading.understood)
    }
    if line.checkConfig {
      print(ConfigurationSummary(reading, warnings: diagnostics.count, unmade: unchecked.count))
    }
    return configuration
  }

  /// - Returns: the errors. They come last, because systemctl shows only the end.
  private static func report(_ diagnostics: [Diagnostic], _ unchecked: [String]) -> [Diagnostic] {
    let errors = diagnostics.filter { $0.severity == .error }
    for diagnostic in diagnostics where diagnostic.severity == .warning {
      complain("\(diagnostic)")
    }
    for check in unchecked { complain("not checked: \(check)") }
    for error in errors { complain("\(error)") }
    return errors
  }

  /// `systemctl status` shows one line; the journal has all problems.
  ///
  /// - Parameter understood: the part of the configuration that could be read.
  private func unconfigured(
    _ problems: [String], _ passed: PassedDescriptors?, _ understood: Configuration? = nil
  ) -> Ending {
    let more = problems.count > 1 ? " and \(problems.count - 1) more" : ""
    if let passed, let first = problems.first {
      Self.refuse(
        "configuration unusable: \(first)\(more)", passed, logLevel: line.logLevel, understood)
    }
    return Ending(status: EX_CONFIG)
  }

  /// Keeps the sessions for a daemon that can start. Answers waiting clients with the error, then ends,
  /// because only a person can correct the configuration.
  private static func refuse(
    _ problem: String, _ passed: PassedDescriptors, logLevel: LogLevel? = nil,
    _ understood: Configuration? = nil
  ) {
    let log = LogOutput.logger(LogThreshold(Logger.Level(logLevel ?? .info)))
    Daemon.keepSessions(of: passed, log: log)
    ServiceFailure.tell(problem, number: nil)
    let sockets = passed.divided(by: understood ?? Configuration())
    for path in sockets.closed.map(\.path) {
      log.error(
        """
        the socket \(path): it refuses everybody: the configuration is unusable, so there is no \
        section \(SocketSettings.title(of: path))
        """)
    }
    ListeningSocket.refuseAll(
      "credd cannot start: its configuration is wrong", on: sockets.open,
      closed: sockets.closed.map(\.descriptor), passed.endpoint)
  }

  private static func complain(_ line: String) {
    var standardError = StandardError()
    print(line, to: &standardError)
  }

  private func serve(
    _ configuration: Configuration, _ state: ConfigurationState, _ passed: PassedDescriptors,
    _ threshold: LogThreshold, _ log: Logger
  ) throws(SystemError) {
    // Without that permission the daemon still starts, and still wipes freed memory.
    if let unlocked { log.notice("secrets may be swapped out: \(unlocked)") }
    passed.dropStrays(log: log)
    let (path, neighbours) = (line.config, SocketNeighbours(line, passed))
    let options = DaemonOptions(
      logThreshold: line.logLevel == nil ? threshold : nil, isActivated: !passed.listeners.isEmpty,
      configuration: state
    ) {
      Result { () throws(SystemError) in
        try ConfigurationFiles.read(path, beside: neighbours)
      }
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
        makeDaemon(), passed.listeners + passed.capped, endpoint, log, "systemd's \(names)")
    }
    // Done before the daemon is made, because the daemon takes up the sessions of the last one.
    let bound = try ListeningSocket(path: line.socket, mode: ListeningSocket.modeOfClients)
    let own = PassedDescriptors.Named(descriptor: bound.descriptor, name: "")
    try run(makeDaemon(), [own] + passed.capped, endpoint, log, bound.path)
  }

  private func run(
    _ daemon: Daemon, _ listeners: [PassedDescriptors.Named], _ endpoint: EndpointSockets,
    _ log: Logger,
    _ socket: String
  ) throws(SystemError) {
    try daemon.begin(on: listeners, endpoint: endpoint)
    var metadata: Logger.Metadata = ["socket": "\(socket)", "version": "\(Version.current)"]
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

extension SocketNeighbours {
  /// - Parameter passed: nil if that is not known.
  fileprivate init(_ line: DaemonCommandLine, _ passed: PassedDescriptors?) {
    let tokens = line.tokenSocket ?? DaemonCommandLine.usualTokenSocket
    self.init(
      others: [
        Neighbour(UnixSocketPath(line.socket), name: "credd's own socket \(line.socket)"),
        Neighbour(UnixSocketPath(tokens), name: "the socket of tokens \(tokens)"),
      ])
    if let passed { add(passed) }
  }
}
