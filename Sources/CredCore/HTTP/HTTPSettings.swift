/// How a request is sent.
public struct HTTPSettings: Sendable, Equatable {
  /// From the start to the last byte of the reply.
  public var timeout: Duration
  /// The most bytes of a reply's body; a larger body is a failure.
  public var replyLimit: Int
  /// Certificate authorities in PEM. They replace the system's authorities.
  public var caFile: String?
  /// Client certificate and key, PEM files.
  public var clientCertificate: String?
  public var clientKey: String?
  /// The Unix socket to connect to; the URL's host is then only a name.
  public var unixSocket: String?
  /// The request must be sent only once. So it gets a new connection. On a kept connection that
  /// ends before the answer, libcurl sends the request again, without knowing whether the server
  /// has read it.
  public var isSentOnce = false
  /// Whether the reply describes the connection over which it came.
  public var describesConnection = false
  /// Where the configuration has the URL's host from; nil if no key has it.
  public var hostOrigin: HostOrigin?

  public init(timeout: Duration, replyLimit: Int) {
    self.timeout = timeout
    self.replyLimit = replyLimit
  }

  /// The files that TLS reads. Each may be replaced at any time.
  public var tlsFiles: [String] { [caFile, clientCertificate, clientKey].compactMap(\.self) }
}
