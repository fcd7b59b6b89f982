/// An error as a client is told it.
public struct ProtocolError: Error, Equatable, Sendable {
  public var code: ProtocolErrorCode
  /// One line that says what to do, without a secret. It may quote what the client itself sent, so
  /// it goes to that client and not into a log.
  public var message: String
  /// When asking again may help; told in whole seconds, rounded up.
  public var retryAfter: Duration?

  public init(_ code: ProtocolErrorCode, _ message: String, retryAfter: Duration? = nil) {
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
  }

  /// For a line over the limit. The connection is closed after it, since nobody knows where the
  /// next request starts.
  public static let requestTooLarge = ProtocolError(
    .requestTooLarge, "a request line must not be longer than \(Limits.lineBytes) bytes")
}
