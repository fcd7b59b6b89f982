/// The reason why no HTTP reply arrived.
public struct TransportFailure: Error, Sendable, Hashable, CaseIterable {
  public let kind: Kind
  /// The system's or the TLS library's reason, for the user.
  public var reason: String?
  /// The HTTP library's text, for operators: it may contain addresses.
  public var detail: String?

  public init(_ kind: Kind, reason: String? = nil, detail: String? = nil) {
    self.kind = kind
    self.reason = reason.flatMap { RemoteText.clean($0.utf8) }
    self.detail = detail.flatMap { RemoteText.clean($0.utf8) }
  }

  public static let nameResolution = Self(.nameResolution)
  public static let connect = Self(.connect)
  public static let tls = Self(.tls)
  public static let certificate = Self(.certificate)
  public static let timeout = Self(.timeout)
  public static let reset = Self(.reset)
  public static let tooLarge = Self(.tooLarge)
  public static let malformed = Self(.malformed)
  public static let noLibrary = Self(.noLibrary)
  public static let fileOverdue = Self(.fileOverdue)

  public static var allCases: [TransportFailure] { Kind.allCases.map { Self($0) } }

  public static func == (one: Self, other: Self) -> Bool { one.kind == other.kind }

  public func hash(into hasher: inout Hasher) { hasher.combine(kind) }
}

extension TransportFailure {
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// The host name could not be resolved.
    case nameResolution
    /// No connection: it was refused, the host is unreachable, or the proxy refused.
    case connect
    /// The TLS handshake failed for another reason than the certificate.
    case tls
    /// The server's certificate is not trusted for that host.
    case certificate
    /// The deadline passed.
    case timeout
    /// The connection broke before the end of the reply.
    case reset
    /// The reply exceeds its limit in ``Limits/Upstream``.
    case tooLarge
    /// The reply is not HTTP.
    case malformed
    /// The library for HTTP and TLS cannot be loaded on this host.
    case noLibrary
    /// No request was sent, because a file for TLS could not be read in time.
    case fileOverdue
  }
}
