internal import CredCore

/// Why a verb failed: an exit status, and one line that says what to do about it.
public struct Failure: Error, Equatable, Sendable {
  public var status: Sysexit
  /// Lower-case, no full stop, never a secret. What came from outside is already plain text.
  public var message: String
  /// The protocol's error code, where it was the daemon that refused.
  public var code: String?
  /// Whether the next daemon at the same socket may answer what this one did not.
  public internal(set) var meansTheDaemonEnded = false

  public init(_ status: Sysexit, _ message: String, code: String? = nil) {
    self.status = status
    self.message = message
    self.code = code
    meansTheDaemonEnded = code == ProtocolErrorCode.shuttingDown.rawValue
  }

  /// The line for standard error, with its newline.
  public var line: String { "credctl: \(PlainText.oneLine(message))\n" }
}
