/// A complete reply. The HTTP layer drops a reply over its limit and follows no redirect.
public struct HTTPReply: Sendable, Equatable {
  public struct Header: Sendable, Equatable {
    public let name: String
    public let value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  public var status: Int
  public var headers: [Header]
  /// The body, which may contain credentials.
  public var body: Secret
  /// Secrets that are hidden in every shown text of this reply.
  public var sent = SentSecrets()
  /// Whether the request went by `http://`.
  public var wentPlain = false
  /// Nil unless ``HTTPSettings/describesConnection``.
  public var connection: HTTPConnection?

  public init(status: Int, headers: [Header] = [], body: Secret) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The first header of that name, in upper or lower case (RFC 9110 §5.1).
  public func header(_ name: String) -> String? {
    let wanted = name.lowercased()
    return headers.first { $0.name.lowercased() == wanted }?.value
  }

  /// Whether the status says that the request succeeded.
  public var isSuccess: Bool { (200..<300).contains(status) }

  /// Whether the body is a web page, from a captive portal or a proxy. The content type does not
  /// show that: emulators of Cognito send JSON as `text/html`.
  var looksLikeHTML: Bool {
    let start = body.bytes.withoutByteOrderMark.drop(while: \.isWhiteSpace).prefix(14)
    let text = String(decoding: start, as: UTF8.self).lowercased()
    return text.hasPrefix("<!doctype html") || text.hasPrefix("<html") || text.hasPrefix("<head")
  }

  /// Whether the body is a web page, if no reply should be XML: then markup that calls itself HTML
  /// counts too.
  var isWebPage: Bool {
    if looksLikeHTML { return true }
    let type = header("Content-Type")?.lowercased() ?? ""
    guard type.hasPrefix("text/html") || type.hasPrefix("application/xhtml") else { return false }
    return body.bytes.withoutByteOrderMark.first { !$0.isWhiteSpace } == UInt8(ascii: "<")
  }
}

extension HTTPReply {
  /// The pause that the server asks for, at most ``Limits/Upstream/longestRetryAfter``. A date
  /// counts from the server's own `Date`.
  var retryAfter: Duration? {
    header("Retry-After").flatMap { Duration(retryAfter: $0, now: date) }
      .map { min($0, Limits.Upstream.longestRetryAfter) }
  }

  /// The server's time when it replied. Lifetimes count from this time, so a wrong local clock does
  /// no harm.
  public var date: WallTime? { header("Date").flatMap { WallTime(httpDate: $0) } }
}

/// The connection over which a reply came, for people.
public struct HTTPConnection: Sendable, Equatable {
  /// Address and port of the server.
  public var address: String?
  /// The version of TLS with the cipher; nil without TLS.
  public var tls: String?
  /// libcurl's result for the server's certificate.
  public var certificate: String?

  public init(address: String? = nil, tls: String? = nil, certificate: String? = nil) {
    self.address = address
    self.tls = tls
    self.certificate = certificate
  }
}
