/// Where the configuration has the host of a request from.
public enum HostOrigin: Sendable, Equatable {
  /// It is one of AWS's hosts. The value of this key gives the host's region.
  case region(String)
  /// The URL is the value of this key, or was found by it.
  case key(String)

  /// The host of an AWS service.
  ///
  /// - Parameters:
  ///   - own: the key with the operator's own URL for it, and that URL.
  ///   - region: the key that has the region.
  public static func aws(_ own: String, _ url: HTTPURL?, region: String) -> HostOrigin {
    url == nil ? .region(region) : .key(own)
  }
}

/// The server of a request from which no reply came, for messages.
public struct CalledServer: Sendable, Equatable {
  /// In lower case, as the request's URL has it.
  let host: String
  let isEncrypted: Bool
  private let settings: HTTPSettings

  /// Returns nil if the URL is none.
  public init?(url: String, _ settings: HTTPSettings) {
    guard let parsed = try? HTTPURL(url), let host = RemoteText.plain(parsed.host.utf8) else {
      return nil
    }
    self.host = host
    isEncrypted = parsed.isEncrypted
    self.settings = settings
  }

  var usesUnixSocket: Bool { settings.unixSocket != nil }

  /// Everybody knows the hosts of AWS. The host of another server is for its callers, and for
  /// administrators.
  var isPublic: Bool {
    if case .region? = settings.hostOrigin { true } else { false }
  }

  /// `; the region comes from identity_pool_id`, or `; check url`.
  var originAdvice: String {
    switch settings.hostOrigin {
    case .region(let key)?: "; the region comes from \(key)"
    case .key(let key)?: "; check \(key)"
    case nil: "; check the URL"
    }
  }

  /// The key that has the URL. A wrong region makes no other host answer.
  var urlKey: String? {
    if case .key(let key)? = settings.hostOrigin { key } else { nil }
  }

  /// The keys and the paths of a file of this host.
  func settings(of file: OwnTLSFile) -> (keys: String, paths: String) {
    let certificate = settings.clientCertificate ?? ""
    let key = settings.clientKey ?? certificate
    let isOneFile = settings.clientKey == nil
    switch file {
    case .authority: return ("ca_file", settings.caFile ?? "")
    case .certificate: return ("client_certificate", certificate)
    case .key: return (isOneFile ? "client_certificate" : "client_key", key)
    case .pair where isOneFile: return ("client_certificate", certificate)
    case .pair: return ("client_certificate and client_key", "\(certificate) and \(key)")
    }
  }
}

/// A file that the configuration names for TLS.
public enum OwnTLSFile: Sendable, Hashable, CaseIterable {
  /// `ca_file`.
  case authority
  /// `client_certificate`.
  case certificate
  /// `client_key`, or the key in the file of the certificate.
  case key
  /// Certificate and key: the key belongs to another certificate.
  case pair

  /// Names the file, and says what is wrong with it. Most versions of libcurl have one error for a damaged
  /// key and for the key of another certificate.
  var description: String {
    switch self {
    case .authority: "file of certificate authorities cannot be used"
    case .certificate: "client certificate cannot be used"
    case .key: "private key cannot be used, or is not that of its client certificate"
    case .pair: "client certificate and private key do not belong together"
    }
  }
}
