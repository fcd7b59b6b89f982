/// How a command that was run as a backend came out.
public struct ExecOutcome: Sendable, Equatable {
  public enum Ending: Sendable, Equatable {
    case exited(Int32)
    /// By that signal.
    case killed(Int32)
    /// Killed by credd at its deadline.
    case timedOut
    /// Killed by credd for writing more than ``Limits/execOutputBytes``.
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
