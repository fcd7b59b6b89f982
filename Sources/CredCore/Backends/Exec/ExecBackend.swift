/// A backend of type `exec`: the token callback is a command. It uses the JSON of an HTTP backend
/// on standard input and output.
///
/// Exit statuses mean what `sysexits.h` says: 0 success; 67 unknown user; 69 and 75 try again
/// later; 77 refused; 64, 78, 126 and 127 a wrong configuration. Any other status is a fault of the
/// command, and credd tries again too. The message quotes the first line of standard error.
public struct ExecBackend: Sendable, Equatable {
  /// The backend's name in the configuration.
  public let name: String

  public init(name: String) {
    self.name = name
  }

  /// The command's standard input: one line.
  public func standardInput(_ query: TokenQuery) -> Secret {
    Secret(query.json.bytes + [UInt8(ascii: "\n")])
  }

  /// Reads the command's output and exit status.
  public func token(
    from outcome: ExecOutcome, to query: TokenQuery
  ) throws(UpstreamFailure) -> TokenReply {
    let upstream = Upstream.backend(name)
    guard case .exited(0) = outcome.ending else {
      throw .exec(outcome, from: upstream, sent: query.logins)
    }
    return try query.reply(
      from: outcome.standardOutput, limit: Limits.Upstream.commandOutputBytes, from: upstream)
  }
}

extension UpstreamFailure {
  /// The failure of a command that did not exit with 0.
  ///
  /// - Parameter logins: the logins in the command's input. Its standard error is not quoted if it
  ///   repeats one of them.
  public static func exec(
    _ outcome: ExecOutcome, from upstream: Upstream, sent logins: LoginsMap = LoginsMap()
  ) -> Self {
    let line = outcome.standardError.prefix { !$0.isLineBreak }.prefix(4096)
    let isSafe = !logins.logins.contains { line.contains(bytes: $0.token.bytes) }
    let said = isSafe ? RemoteText.clean(line, hiding: outcome.sent) : nil
    let (row, detail): (FailureTable.Row, String) =
      switch outcome.ending {
      case .exited(let status) where FailureTable.missesPool(said):
        (FailureTable.backendMissesPool, "exit status \(status)")
      case .exited(let status): (FailureTable.exec(exitStatus: status), "exit status \(status)")
      case .killed(let signal): (FailureTable.execKilled, "signal \(signal)")
      case .timedOut: (FailureTable.transport(.timeout), "command killed")
      case .outputTooLarge: (FailureTable.transport(.tooLarge), "command killed")
      case .notStarted(let failure):
        (
          failure.isTransient ? FailureTable.execNoResources : FailureTable.execNotStarted,
          "not started: \(failure.reason)"
        )
      }
    return Self(upstream, row, fact: detail, said: said)
  }
}

/// The reason why a command was not executed.
public struct StartFailure: Error, Equatable {
  /// The system's error text.
  public let reason: String
  /// Whether the host lacked something for the moment, such as memory or a process.
  public let isTransient: Bool

  public init(reason: String, isTransient: Bool = false) {
    self.reason = reason
    self.isTransient = isTransient
  }
}

/// The result of a backend's command.
public struct ExecOutcome: Sendable, Equatable {
  public enum Ending: Sendable, Equatable {
    case exited(Int32)
    /// Killed by this signal.
    case killed(Int32)
    /// Killed by credd at its deadline.
    case timedOut
    /// Killed by credd, because it wrote more than ``Limits/Upstream/commandOutputBytes``.
    case outputTooLarge
    /// The command could not be executed.
    case notStarted(StartFailure)
  }

  public var ending: Ending
  public var standardOutput: Secret
  /// The command's standard error, of which only the first line is used.
  public var standardError: [UInt8]
  /// Secrets that are hidden in that line.
  public var sent = SentSecrets()

  public init(ending: Ending, standardOutput: Secret = Secret([]), standardError: [UInt8] = []) {
    self.ending = ending
    self.standardOutput = standardOutput
    self.standardError = standardError
  }
}
