import CredCore
import TestSupport
import Testing

/// What a failure without a reply says of the server and of this host's own files.
struct TransportTextTests {
  private static let cognito = "https://cognito-identity.us-esat-1.amazonaws.com/"
  private static let own = "https://auth.example.com:8443/token?user=alice"

  private func failure(
    _ failure: TransportFailure, _ upstream: Upstream = .backend("corp"), at url: String = own,
    _ origin: HostOrigin? = .key("url"), _ change: (inout HTTPSettings) -> Void = { _ in }
  ) -> UpstreamFailure {
    var settings = HTTPSettings(timeout: .seconds(1), replyLimit: 1)
    settings.hostOrigin = origin
    change(&settings)
    return .transport(failure, from: upstream, at: CalledServer(url: url, settings))
  }

  @Test func aHostOfAWSIsNamedWithTheKeyOfItsRegion() {
    let lost = TransportFailure(
      .nameResolution,
      reason: "Could not resolve host: cognito-identity.us-esat-1.amazonaws.com")
    let found = failure(
      lost, .cognitoIdentity, at: Self.cognito, .region("identity_pool_id"))
    expect(
      found.message,
      equals:
        "Cognito: cognito-identity.us-esat-1.amazonaws.com: no such host; the region comes from "
        + "identity_pool_id; if it is right, check the network and DNS, or name this network's proxy in "
        + "https_proxy")
    // Everybody knows such hosts.
    expect(found.summary, equals: found.message)
    expect(
      lost.reason, equals: "Could not resolve host: cognito-identity.us-esat-1.amazonaws.com")
  }

  @Test func aBackendsHostIsForItsCallers() {
    let found = failure(TransportFailure(.nameResolution, reason: "Could not resolve host: x"))
    expect(
      found.message,
      equals:
        "backend 'corp': auth.example.com: no such host; check url; if it is right, check the "
        + "network and DNS, or name this network's proxy in https_proxy")
    expect(!found.summary.contains("auth.example"))
    expect(found.summary.contains("check url"))
  }

  private static let proxy = Proxy.Name(variable: "https_proxy", address: "proxy.example.com:3128")

  @Test(
    arguments: [
      (.proxyResolution, nil, ": no such host; check https_proxy of credd.service, and DNS"),
      (.proxyRefused, 407, " answered 407: set user and password in https_proxy of credd.service"),
      (.proxyRefused, 403, " answered 403: it must let this host through to the server"),
      (.proxyRefused, 503, " answered 503, so it does not reach the server; it is tried again"),
      (.proxyRefused, 400, " answered 400; check https_proxy of credd.service"),
      (.proxyRefused, nil, " refused to connect; check https_proxy of credd.service"),
    ] as [(TransportFailure.Kind, Int?, String)])
  func aProxyIsNamedWithItsAnswer(kind: TransportFailure.Kind, status: Int?, words: String) {
    var lost = TransportFailure(kind)
    (lost.proxy, lost.proxyStatus) = (Self.proxy, status)
    let found = failure(lost)
    expect(
      found.message,
      equals: "backend 'corp' cannot be reached: the proxy proxy.example.com:3128\(words)")
    // It is the host's, not a user's.
    expect(found.summary, equals: found.message)
    expect(!found.isReplyLost && found.evidence == .certain)
  }

  @Test func aProxyThatIsNotThereIsNamed() {
    var lost = TransportFailure(.proxyConnect, reason: "Connection refused")
    lost.proxy = Self.proxy
    expect(
      failure(lost).message,
      equals:
        "backend 'corp' cannot be reached: no connection to the proxy proxy.example.com:3128; check "
        + "https_proxy of credd.service (Connection refused)")
  }

  @Test func aProxyThatCannotBeReadIsNamedByItsVariable() {
    let wrong = InvalidInput(field: "https_proxy", reason: "it holds a blank")
    let found = failure(TransportFailure(unreadable: wrong))
    expect(
      found.message,
      equals:
        "backend 'corp' was not called: https_proxy of credd.service names no proxy that can be used; "
        + "correct it (it holds a blank)")
    expect(found.protocolError.kind, equals: .permanent)
  }

  @Test func aCertificateForAnotherHostIsNamed() {
    var wrong = TransportFailure(.otherHost, reason: "no alternative certificate subject name")
    wrong.certificateNames = ["other.example"]
    let found = failure(wrong, at: "https://127.0.0.1:8443/")
    expect(
      found.message,
      equals:
        "backend 'corp': the certificate is for other.example, not 127.0.0.1: check url, or for a "
        + "captive portal")
    expect(!found.summary.contains("other.example") && !found.summary.contains("127.0.0.1"))
    wrong.certificateNames = ["a.example", "b.example", "c.example", "d.example", "e.example"]
    expect(failure(wrong).message.contains("for a.example, b.example, c.example and 2 more, not"))
    wrong.furtherNames = 7
    expect(failure(wrong).message.contains("c.example and 9 more, not"))
  }

  @Test func aPortThatSpeaksTheOtherProtocolIsTold() {
    expect(failure(.notTLS).message.contains("the port does not speak TLS; is it http:// ?"))
    var ended = TransportFailure(.tls, reason: "OpenSSL SSL_connect: SSL_ERROR_SYSCALL")
    expect(!failure(ended).message.contains("http://"))
    ended.endsHandshake = true
    expect(
      failure(ended).message.contains("the TLS handshake failed; is it http:// ? check url; it is"))
    let plain = "http://auth.example.com/"
    for kind in [TransportFailure.reset, .malformed] {
      expect(failure(kind, at: plain).message.contains("the port may want https://"))
      expect(!failure(kind).message.contains("https://"))
      expect(!failure(kind, at: plain) { $0.unixSocket = "/run/s" }.message.contains("https://"))
    }
    var begun = TransportFailure.reset
    begun.hasBegun = true
    expect(!failure(begun, at: plain).message.contains("https://"))
  }

  @Test(
    arguments: [
      (.authority, "ca_file", "/ca.pem"), (.certificate, "client_certificate", "/c.pem"),
      (.key, "client_key", "/k.pem"),
      (.pair, "client_certificate and client_key", "/c.pem and /k.pem"),
    ] as [(OwnTLSFile, String, String)])
  func anOwnFileIsNamedByItsKey(file: OwnTLSFile, key: String, path: String) {
    var own = TransportFailure.ownFile
    own.ownFile = file
    let found = failure(own) {
      $0.caFile = "/ca.pem"
      $0.clientCertificate = "/c.pem"
      $0.clientKey = "/k.pem"
    }
    expect(found.message.hasPrefix("backend 'corp' was not called: this host's "))
    expect(found.message.hasSuffix("check \(key), \(path)"), "\(found.message)")
    // File names are for the caller and for administrators.
    expect(found.summary.hasSuffix("check \(key)"), "\(found.summary)")
    expect(found.protocolError.kind, equals: .permanent)
    expect(found.protocolError.retryAfter == nil)
  }

  @Test func aKeyInTheCertificatesFileHasTheKeyOfThatFile() {
    var own = TransportFailure.ownFile
    own.ownFile = .key
    let found = failure(own) { $0.clientCertificate = "/c.pem" }
    expect(found.message.hasSuffix("check client_certificate, /c.pem"), "\(found.message)")
  }

  @Test func aUnixSocketIsNamedByItsKey() {
    let found = failure(TransportFailure(.connect, reason: "Connection refused")) {
      $0.unixSocket = "/run/s"
    }
    expect(
      found.message,
      equals:
        "backend 'corp' cannot be reached; check unix_socket, and whether a server listens there "
        + "(Connection refused)")
  }
}
