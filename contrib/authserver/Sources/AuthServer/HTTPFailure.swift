import CredCore

extension HTTPClient.Failure {
  /// In words of the server's own: of libcurl's, only those that ``KnownReason`` knows are shown.
  init(_ failure: TransportFailure) {
    self.init(Self.words(failure) + (failure.reason.map { " (\($0))" } ?? ""))
  }

  private static func words(_ failure: TransportFailure) -> String {
    let variable = failure.proxy?.variable ?? "https_proxy"
    let proxy = failure.proxy.map { "the proxy \($0.address)" } ?? "the proxy"
    return switch failure.kind {
    case .nameResolution: "no such host"
    case .proxyVariable: "\(variable) names no proxy that can be used"
    case .proxyResolution: "\(proxy): no such host; check \(variable)"
    case .proxyConnect: "no connection to \(proxy); check \(variable)"
    case .proxyRefused: refusal(by: proxy, variable, failure.proxyStatus)
    case .connect: "no connection"
    case .tls: "the TLS handshake failed"
    case .notTLS: "the port does not speak TLS"
    case .certificate: "its certificate is not trusted"
    case .otherHost: "its certificate is for another host"
    case .ownFile: "the file of certificate authorities cannot be used"
    case .clientRefused: "it wants a client certificate"
    case .timeout: "there was no whole reply in time"
    case .reset: "the connection was closed"
    case .tooLarge: "the reply is longer than its limit"
    case .malformed: "the reply is no HTTP"
    case .noLibrary, .fileOverdue: "libcurl cannot be used"
    }
  }

  private static func refusal(by proxy: String, _ variable: String, _ status: Int?) -> String {
    switch status {
    case 407?: "\(proxy) answered 407: set user and password in \(variable)"
    case 403?: "\(proxy) answered 403: it must let this server through"
    case let status?: "\(proxy) answered \(status); check \(variable)"
    case nil: "\(proxy) refused to connect; check \(variable)"
    }
  }
}
