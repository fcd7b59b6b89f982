/// Why a verb failed: an exit status, and one line that says what to do about it.
public struct Failure: Error, Equatable, Sendable {
  public var status: Sysexit
  /// Lower-case, no full stop, never a secret. What came from outside is already plain text.
  public var message: String
  /// The protocol's error code, where it was the daemon that refused.
  public var code: String?
  /// The daemon ended before it could answer, as in a restart. Its successor may answer.
  public var isEndOfDaemon = false

  public init(_ status: Sysexit, _ message: String, code: String? = nil) {
    self.status = status
    self.message = message
    self.code = code
  }

  /// The line for standard error, with its newline.
  public var line: String { "credctl: \(PlainText.oneLine(message))\n" }
}
