internal import CCurl
internal import CredCore
internal import Glibc

extension HTTPTransfer {
  /// Whether the request was sent, or a part of it.
  public var wasSent: Bool { unsafe credd_curl_number(handle, CURLINFO_REQUEST_SIZE) > 0 }

  /// Takes of libcurl's text only what ``KnownReason`` knows.
  func failure(_ result: CURLcode) -> TransportFailure {
    let said = unsafe String(cString: errorText)
    let kind = kind(of: result, said)
    let reason = reason(kind, result, said)
    let way = proxy.map { "\(server) by the proxy \($0.name.address)" } ?? server
    let words = unsafe String(cString: credd_curl_words(result))
    let detail = "\(way): \(words) (libcurl's error \(result.rawValue))"
    var failure = TransportFailure(
      kind, reason: reason, detail: reason.map { "\(detail): \($0)" } ?? detail)
    failure.hasBegun = headerBytes > 0
    failure.proxy = proxy?.name
    if kind == .proxyRefused { failure.proxyStatus = answerToConnect }
    if kind == .ownFile { failure.ownFile = OwnTLSFile(result, said) }
    if kind == .otherHost {
      let names = CertificateNames(
        alternative: certificate("X509v3 Subject Alternative Name"),
        subject: certificate("Subject"))
      (failure.certificateNames, failure.furtherNames) = (names.first, names.further)
    }
    failure.endsHandshake = kind == .tls && Self.endsHandshake(said.lowercased())
    return failure
  }

  private func reason(
    _ kind: TransportFailure.Kind, _ result: CURLcode, _ said: String
  ) -> String? {
    let cause = TransportFailure.Kind(result, said)
    switch kind == .proxyConnect ? cause : kind {
    case .connect, .reset,
      .timeout where kind == .proxyConnect:
      let number = unsafe credd_curl_number(handle, CURLINFO_OS_ERRNO)
      if number > 0 { return unsafe String(cString: strerror(Int32(number))) }
      return result == CURLE_OPERATION_TIMEDOUT ? "timed out" : nil
    case .tls, .notTLS, .clientRefused: return KnownReason.tls(in: said)
    case .certificate:
      let field =
        kind == .proxyConnect ? CURLINFO_PROXY_SSL_VERIFYRESULT : CURLINFO_SSL_VERIFYRESULT
      let number = unsafe credd_curl_number(handle, field)
      return number > 0 ? KnownReason.certificate(number) : nil
    case .otherHost where kind == .proxyConnect: return "its certificate is for another host"
    default: return nil
    }
  }

  /// libcurl names no kind for a proxy that is to blame, except of one without an address.
  private func kind(of result: CURLcode, _ said: String) -> TransportFailure.Kind {
    let kind = TransportFailure.Kind(result, said)
    guard let proxy else { return kind }
    if result == CURLE_PROXY { return .proxyRefused }
    if kind == .connect { return .proxyConnect }
    // On a kept connection libcurl knows no answer to CONNECT and no time at which it connected. Before 7.80 it
    // does not say that it has connected.
    guard isConnecting, headerBytes == 0 else { return kind }
    if kind == .timeout, unsafe credd_curl_lacks_connection(handle) != 0 { return .proxyConnect }
    if let answer = answerToConnect { return (200..<300).contains(answer) ? kind : .proxyRefused }
    // Nothing has gone to the server before the proxy's answer.
    switch kind {
    case .tls, .notTLS, .certificate, .otherHost: return proxy.isEncrypted ? .proxyConnect : kind
    case .reset: return isEncrypted ? .proxyRefused : kind
    default: return kind
    }
  }

  /// The status with which the proxy answered to CONNECT.
  private var answerToConnect: Int? {
    let status = unsafe credd_curl_number(handle, CURLINFO_HTTP_CONNECTCODE)
    return status > 0 ? status : nil
  }

  /// Whether the server said nothing of TLS before it closed the connection, as OpenSSL and libcurl spell
  /// that.
  static func endsHandshake(_ said: String) -> Bool {
    ["ssl_error_syscall", "unexpected eof", "connection reset by peer"].contains(where: {
      said.contains(bytesOf: $0)
    })
  }

  private func certificate(_ field: String) -> String? {
    guard let text = unsafe credd_curl_certificate(handle, field) else { return nil }
    return unsafe String(cString: text)
  }
}

extension TransportFailure.Kind {
  /// The failure that a libcurl result stands for.
  ///
  /// - Parameter said: libcurl's text, which names OpenSSL's reason.
  init(_ result: CURLcode, _ said: String) {
    switch result {
    case CURLE_COULDNT_RESOLVE_HOST: self = .nameResolution
    case CURLE_COULDNT_RESOLVE_PROXY: self = .proxyResolution
    case CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_INTERFACE_FAILED:
      self = .connect
    case CURLE_OPERATION_TIMEDOUT:
      self = .timeout
    case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE:
      self = .ownFile
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION,
      CURLE_SSL_ISSUER_ERROR:
      self = Self.ofTLS(result, said.lowercased())
    case CURLE_FILESIZE_EXCEEDED:
      self = .tooLarge
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT, CURLE_WEIRD_SERVER_REPLY,
      CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_BAD_CONTENT_ENCODING:
      self = .malformed
    case _ where Self.blamesOwnFile(said.lowercased()):
      self = .ownFile
    default:
      // In TLS 1.3 a server refuses the client's certificate after the handshake.
      self = Self.refusesClient(said.lowercased()) ? .clientRefused : .reset
    }
  }

  /// libcurl has no codes for these cases. A text that no longer fits makes the message less exact, and
  /// changes nothing else.
  private static func ofTLS(_ result: CURLcode, _ said: String) -> Self {
    if refusesClient(said) { return .clientRefused }
    guard result == CURLE_PEER_FAILED_VERIFICATION else {
      // OpenSSL read something else than a record of TLS: "wrong version number" of most servers,
      // "packet length too long" of some.
      let isOther = ["wrong version number", "packet length too long"].contains(where: {
        said.contains(bytesOf: $0)
      })
      return isOther ? .notTLS : result == CURLE_SSL_ISSUER_ERROR ? .certificate : .tls
    }
    // "no alternative certificate subject name matches target host name", and for a certificate
    // without such names "certificate subject name 'x' does not match target host name". Newer
    // versions write "hostname".
    return said.contains(bytesOf: "target host") || said.contains(bytesOf: "target ip address")
      ? .otherHost : .certificate
  }

  /// Newer versions of libcurl give other codes than CURLE_SSL_CERTPROBLEM.
  private static func blamesOwnFile(_ said: String) -> Bool {
    ["unable to set private key file", "could not load pem client certificate"].contains(where: {
      said.contains(bytesOf: $0)
    })
  }

  /// The alerts of TLS about a client's certificate (RFC 8446, 6.2), as OpenSSL spells them.
  private static func refusesClient(_ said: String) -> Bool {
    guard said.contains(bytesOf: "alert ") else { return false }
    return [
      "certificate required", "bad certificate", "unsupported certificate", "certificate revoked",
      "certificate expired", "certificate unknown", "unknown ca",
    ].contains(where: { said.contains(bytesOf: $0) })
  }
}

extension OwnTLSFile {
  init(_ result: CURLcode, _ said: String) {
    guard result != CURLE_SSL_CACERT_BADFILE else {
      self = .authority
      return
    }
    if said.contains(bytesOf: "does not match") {
      self = .pair
    } else {
      self = said.contains(bytesOf: "rivate key") ? .key : .certificate
    }
  }
}

/// The names in a certificate, as libcurl gives its fields. A certificate may have thousands.
struct CertificateNames {
  /// At most three.
  private(set) var first: [String] = []
  /// How many more were found.
  private(set) var further = 0

  /// Bytes of a field that are looked at.
  private static let longest = 8192

  /// - Parameters:
  ///   - alternative: `DNS:a.example, IP Address:192.0.2.1`.
  ///   - subject: `O = Example, CN = a.example`; counts only without alternative names.
  init(alternative: String?, subject: String?) {
    add(alternative, ":", of: ["DNS", "IPAddress"])
    if first.isEmpty { add(subject, "=", of: ["CN"]) }
  }

  private mutating func add(_ text: String?, _ separator: Character, of kinds: [String]) {
    guard let text else { return }
    let start = String(decoding: text.utf8.prefix(Self.longest), as: UTF8.self)
    for part in start.split(separator: ",") {
      let fields = part.split(separator: separator, maxSplits: 1)
      guard fields.count == 2, kinds.contains(fields[0].filter { $0 != " " }) else { continue }
      if first.count == 3 {
        further += 1
      } else if let name = Self.shown(fields[1]) {
        first.append(name)
      }
    }
  }

  /// The certificate is another server's, which may write any text.
  private static func shown(_ name: Substring) -> String? {
    TransportFailure(.otherHost, reason: String(name.prefix(253))).reason
  }
}
