/// The reason why no HTTP reply arrived.
public struct TransportFailure: Error, Sendable, Hashable, CaseIterable {
  public let kind: Kind
  /// The system's or the TLS library's reason, for the user.
  public var reason: String?
  /// The server, the proxy and the HTTP library's result, for operators.
  public var detail: String?
  /// The proxy by which the request was to go; nil without one.
  public var proxy: Proxy.Name?
  /// The status with which the proxy refused to connect to the server.
  public var proxyStatus: Int?
  /// The names in the certificate of a server for another host, or the first of them.
  public var certificateNames: [String] = []
  /// How many more names are in the part of the certificate that is read.
  public var furtherNames = 0
  /// Whether the server closed the connection during the handshake of TLS, as one does that speaks another
  /// protocol.
  public var endsHandshake = false
  /// The file of this host that cannot be used.
  public var ownFile: OwnTLSFile?
  /// Whether a part of the reply came.
  public var hasBegun = false

  public init(_ kind: Kind, reason: String? = nil, detail: String? = nil) {
    self.kind = kind
    self.reason = reason.flatMap { RemoteText.clean($0.utf8) }
    self.detail = detail.flatMap { RemoteText.clean($0.utf8) }
  }

  public static let nameResolution = Self(.nameResolution)
  public static let connect = Self(.connect)
  public static let tls = Self(.tls)
  public static let notTLS = Self(.notTLS)
  public static let certificate = Self(.certificate)
  public static let otherHost = Self(.otherHost)
  public static let ownFile = Self(.ownFile)
  public static let clientRefused = Self(.clientRefused)
  public static let timeout = Self(.timeout)
  public static let reset = Self(.reset)
  public static let tooLarge = Self(.tooLarge)
  public static let malformed = Self(.malformed)
  public static let noLibrary = Self(.noLibrary)
  public static let fileOverdue = Self(.fileOverdue)

  /// The request was not sent: a variable of the environment names a proxy that cannot be read.
  public init(unreadable variable: InvalidInput) {
    self.init(.proxyVariable, reason: variable.reason)
    proxy = Proxy.Name(variable: variable.field, address: "")
  }

  /// The library's reason, where the table's words do not say it already.
  var fact: String? {
    switch kind {
    case .nameResolution, .proxyResolution, .notTLS, .otherHost: nil
    default: reason
    }
  }

  public static var allCases: [TransportFailure] { Kind.allCases.map { Self($0) } }

  public static func == (one: Self, other: Self) -> Bool { one.kind == other.kind }

  public func hash(into hasher: inout Hasher) { hasher.combine(kind) }
}

extension TransportFailure {
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// The host name could not be resolved.
    case nameResolution
    /// The environment names a proxy that cannot be read.
    case proxyVariable
    /// The proxy's host name could not be resolved.
    case proxyResolution
    /// No connection to the proxy.
    case proxyConnect
    /// The proxy does not connect to the server.
    case proxyRefused
    /// No connection: it was refused, or the host is unreachable.
    case connect
    /// The TLS handshake failed for another reason than the certificate.
    case tls
    /// The port answers, but does not speak TLS.
    case notTLS
    /// The server's certificate is not trusted.
    case certificate
    /// The server's certificate is trusted, but is for another host.
    case otherHost
    /// A file of this host for TLS cannot be used: ``TransportFailure/ownFile`` says which.
    case ownFile
    /// The server refused this host's client certificate, or wants one.
    case clientRefused
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
