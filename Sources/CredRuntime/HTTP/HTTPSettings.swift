/// How a request is sent, apart from what it says.
public struct HTTPSettings: Sendable, Equatable {
  /// From start to last byte.
  public var timeout: Duration
  /// Largest reply body in bytes; more is a failure.
  public var replyLimit: Int
  /// Certificate authorities in PEM, in place of the system's.
  public var caFile: String?
  /// Client certificate and key, PEM files.
  public var clientCertificate: String?
  public var clientKey: String?
  /// Connect to this Unix socket; the URL's host is then only a name.
  public var unixSocket: String?

  public init(timeout: Duration, replyLimit: Int) {
    self.timeout = timeout
    self.replyLimit = replyLimit
  }
}
