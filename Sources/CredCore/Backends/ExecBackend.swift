/// The token callback through a command: `type = exec`. The same JSON as over HTTP, on standard
/// input and output.
///
/// Exit statuses are those of `sysexits.h`: 0 success; 67 unknown user; 69 and 75 try again later;
/// 77 refused; 64, 78, 126 and 127 a wrong configuration; anything else a fault of the command,
/// which is tried again too. The first line of standard error goes into the message.
public struct ExecBackend: Sendable, Equatable {
  /// The backend's name in the configuration.
  public let name: String

  public init(name: String) {
    self.name = name
  }

  /// What the command reads: one line.
  public func standardInput(_ query: TokenQuery) -> Secret {
    Secret(query.json.bytes + [UInt8(ascii: "\n")])
  }

  /// Reads what the command wrote and how it ended.
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
  /// A command that did not exit with 0.
  ///
  /// - Parameter logins: what it was given, which its standard error may repeat.
  public static func exec(
    _ outcome: ExecOutcome, from upstream: Upstream, sent logins: LoginsMap = LoginsMap()
  ) -> Self {
    let line = outcome.standardError.prefix { !$0.isLineBreak }.prefix(4096)
    let isSafe = !logins.logins.contains { line.contains(bytes: $0.token.bytes) }
    let said = isSafe ? RemoteText.clean(line) : nil
    let (row, detail): (FailureTable.Row, String) =
      switch outcome.ending {
      case .exited(let status): (FailureTable.exec(exitStatus: status), "exit status \(status)")
      case .killed(let signal): (FailureTable.execKilled, "signal \(signal)")
      case .timedOut: (FailureTable.transport(.timeout), "command killed")
      case .outputTooLarge: (FailureTable.transport(.tooLarge), "command killed")
      case .notStarted: (FailureTable.execNotStarted, "not started")
      }
    return Self(
      upstream, row, retryAfter: nil, said: detail + (said.map { ": \($0)" } ?? ""))
  }
}

/// How a command that was run as a backend came out.
public struct ExecOutcome: Sendable, Equatable {
  public enum Ending: Sendable, Equatable {
    case exited(Int32)
    /// By that signal.
    case killed(Int32)
    /// Killed by credd at its deadline.
    case timedOut
    /// Killed by credd for writing more than ``Limits/Upstream/commandOutputBytes``.
    case outputTooLarge
    /// It could not be executed at all.
    case notStarted
  }

  public var ending: Ending
  public var standardOutput: Secret
  /// Only its first line is looked at.
  public var standardError: [UInt8]

  public init(ending: Ending, standardOutput: Secret = Secret([]), standardError: [UInt8] = []) {
    self.ending = ending
    self.standardOutput = standardOutput
    self.standardError = standardError
  }
}
