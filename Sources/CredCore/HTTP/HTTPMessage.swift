/// A request as a value: the core makes it, the runtime's HTTP layer sends it.
public struct HTTPRequest: Sendable, Equatable {
  public enum Method: String, Sendable, CaseIterable {
    case get = "GET"
    case post = "POST"
  }

  public var method: Method
  /// An absolute `http` or `https` URL, percent-encoded.
  public var url: String
  /// Without `Host` and `Content-Length`: the HTTP layer derives both.
  public var headers: [HTTPHeader]
  /// Empty for a `GET`.
  public var body: Secret

  public init(method: Method, url: String, headers: [HTTPHeader] = [], body: Secret = Secret([])) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

/// One header of a request. The value is a ``Secret``, because `Authorization` contains one. So a
/// request is printed without header values.
public struct HTTPHeader: Sendable, Equatable {
  public let name: String
  public let value: Secret

  /// For credd's own names and values.
  init(_ name: String, _ value: String) {
    self.name = name
    self.value = Secret(value)
  }

  /// For names and values that are already checked.
  init(_ name: String, _ value: Secret) {
    self.name = name
    self.value = value
  }

  /// For names and values from a configuration, a file or a client.
  ///
  /// - Throws: if the name is no token of RFC 9110, or if the value contains a control character. A
  ///   line break in a value would add a second header.
  public init(checkingName name: String, value: Secret) throws(InvalidInput) {
    guard name.isHeaderName else {
      throw InvalidInput(field: "header name", reason: "is not a header name")
    }
    guard value.bytes.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
      throw InvalidInput(field: "header \(name)", reason: "holds a control character")
    }
    self.name = name
    self.value = value
  }
}

extension HTTPHeader {
  /// - Throws: as ``init(checkingName:value:)``.
  public static func checked(
    _ values: [(name: String, value: Secret)]
  ) throws(InvalidInput) -> [HTTPHeader] {
    var headers: [HTTPHeader] = []
    for (name, value) in values {
      headers.append(try HTTPHeader(checkingName: name, value: value))
    }
    return headers
  }
}

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

extension HTTPRequest {
  /// Method and URL for operators. A query may hold a secret.
  public var summary: String { "\(method.rawValue) \(url.prefix { $0 != "?" && $0 != "#" })" }
}

/// How a request is sent.
public struct HTTPSettings: Sendable, Equatable {
  /// From the start to the last byte of the reply.
  public var timeout: Duration
  /// The most bytes of a reply's body; a larger body is a failure.
  public var replyLimit: Int
  /// Certificate authorities in PEM, which replace those of the system.
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
