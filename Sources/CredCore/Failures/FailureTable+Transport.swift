/// Rows for failures without a reply. Their words name the server, the key that has its URL, and for a
/// file of this host that file's key.
extension FailureTable {
  /// - Parameter server: nil where it is not known; then the words are general.
  static func transport(_ failure: TransportFailure, at server: CalledServer? = nil) -> Row {
    switch failure.kind {
    case .nameResolution: noSuchHost(server)
    case .proxyVariable, .proxyResolution, .proxyConnect, .proxyRefused: proxy(failure)
    case .connect: unreachable(server)
    case .tls, .notTLS, .certificate, .otherHost, .ownFile, .clientRefused:
      encryption(failure, server)
    case .timeout: unavailable(" did not answer in time; it is tried again", evidence: .likely)
    case .reset:
      unavailable(
        " broke the connection off\(plainHint(server, failure)); it is tried again",
        evidence: .likely)
    case .tooLarge:
      unavailable(" sent more than its limit; the answer was dropped", .operatorMustAct)
    case .malformed:
      unavailable(
        " did not answer in HTTP\(plainHint(server, failure)); check \(server?.urlKey ?? "the URL")",
        .operatorMustAct, evidence: .likely)
    case .noLibrary:
      unavailable(
        " cannot be called: a library cannot be loaded on this host; check credd's journal and the "
          + "packages of libcurl and OpenSSL", .operatorMustAct, evidence: .certain)
    case .fileOverdue: fileOverdue
    }
  }

  // MARK: The connection

  /// libcurl does not say whether DNS has no such name or does not answer.
  private static func noSuchHost(_ server: CalledServer?) -> Row {
    let general = ": its host name cannot be resolved"
    guard let server else {
      return unavailable("\(general); check the URL, the network and DNS", evidence: .certain)
    }
    let proxy = server.isEncrypted ? "https_proxy" : "http_proxy"
    let network = "check the network and DNS, or name this network's proxy in \(proxy)"
    let advice = "\(server.originAdvice); if it is right, \(network)"
    var row = unavailable(": \(server.host): no such host\(advice)", evidence: .certain)
    if !server.isPublic { row.messageForOthers = general + advice }
    return row
  }

  private static func unreachable(_ server: CalledServer?) -> Row {
    let advice =
      switch (server?.usesUnixSocket, server?.urlKey) {
      case (true?, _): "check unix_socket, and whether a server listens there"
      case (_, let key?): "check the network, \(key) and the proxy"
      default: "check the network, the URL and the proxy"
      }
    return unavailable(" cannot be reached; \(advice)", evidence: .certain)
  }

  /// A server that speaks TLS alone breaks a connection off on which it is sent plain HTTP, or answers
  /// with an alert of TLS.
  private static func plainHint(_ server: CalledServer?, _ failure: TransportFailure) -> String {
    guard let server, !server.isEncrypted, !server.usesUnixSocket, !failure.hasBegun else {
      return ""
    }
    return ": the port may want https://"
  }

  // MARK: The proxy

  /// Its user name and its password are named nowhere.
  private static func proxy(_ failure: TransportFailure) -> Row {
    let variable = failure.proxy?.variable ?? "https_proxy"
    let proxy = failure.proxy.map { "the proxy \($0.address)" } ?? "the proxy"
    switch failure.kind {
    case .proxyVariable:
      return Row(
        .permanentConfiguration, nil, .operatorMustAct,
        " was not called: \(variable) of credd.service names no proxy that can be used; correct it")
    case .proxyResolution:
      return unavailable(
        " cannot be reached: \(proxy): no such host; check \(variable) of credd.service, and DNS",
        .operatorMustAct, evidence: .certain)
    case .proxyRefused: return refusal(by: proxy, variable, status: failure.proxyStatus)
    default:
      return unavailable(
        " cannot be reached: no connection to \(proxy); check \(variable) of credd.service",
        .operatorMustAct, evidence: .certain)
    }
  }

  /// - Parameter status: nil if the proxy does not speak HTTP, or gave no reason.
  private static func refusal(by proxy: String, _ variable: String, status: Int?) -> Row {
    let answer = status.map { "answered \($0)" } ?? "refused to connect"
    let start = " cannot be reached: \(proxy) \(answer)"
    switch status {
    case 407?:
      return unavailable(
        "\(start): set user and password in \(variable) of credd.service", .operatorMustAct,
        evidence: .certain)
    case 403?:
      return unavailable(
        "\(start): it must let this host through to the server", .operatorMustAct,
        evidence: .certain)
    case 502?, 503?, 504?:
      return unavailable(
        "\(start), so it does not reach the server; it is tried again", evidence: .certain)
    default:
      return unavailable(
        "\(start); check \(variable) of credd.service", .operatorMustAct, evidence: .certain)
    }
  }

  // MARK: TLS

  private static func encryption(_ failure: TransportFailure, _ server: CalledServer?) -> Row {
    let key = server?.urlKey ?? "the URL"
    switch failure.kind {
    case .notTLS:
      return unavailable(
        ": the port does not speak TLS; is it http:// ? check \(key), or for a captive portal",
        .operatorMustAct, evidence: .certain)
    case .otherHost: return otherHost(failure, server, key)
    case .ownFile: return ownFile(failure, server)
    case .clientRefused:
      return unavailable(
        " does not accept this host's client certificate, or wants one; check client_certificate",
        .operatorMustAct, evidence: .certain)
    case .certificate:
      return unavailable(
        ": its certificate is not trusted; check ca_file, this host's clock, or for a captive portal",
        .operatorMustAct, evidence: .certain)
    default:
      let hint = failure.endsHandshake ? "; is it http:// ? check \(key)" : ""
      return unavailable(
        ": the TLS handshake failed\(hint); it is tried again", .operatorMustAct, evidence: .certain
      )
    }
  }

  private static func otherHost(
    _ failure: TransportFailure, _ server: CalledServer?, _ key: String
  ) -> Row {
    let advice = "check \(key)"
    let general = ": its certificate is for another host; \(advice), or for a captive portal"
    guard let server, !failure.certificateNames.isEmpty else {
      return unavailable(general, .operatorMustAct, evidence: .certain)
    }
    let names = list(failure)
    var row = unavailable(
      ": the certificate is for \(names), not \(server.host): \(advice), or for a captive portal",
      .operatorMustAct, evidence: .certain)
    row.messageForOthers = general
    return row
  }

  /// The first names are enough to recognise the server.
  private static func list(_ failure: TransportFailure) -> String {
    let names = failure.certificateNames
    let shown = names.prefix(3).joined(separator: ", ")
    let further = max(0, names.count - 3) + failure.furtherNames
    return further > 0 ? "\(shown) and \(further) more" : shown
  }

  /// Nothing reached the server, which is not to blame.
  private static func ownFile(_ failure: TransportFailure, _ server: CalledServer?) -> Row {
    let file = failure.ownFile ?? .certificate
    let keys = server?.settings(of: file).keys ?? "ca_file, client_certificate and client_key"
    let general = " was not called: this host's \(file.description); check \(keys)"
    var row = Row(.permanentConfiguration, nil, .operatorMustAct, general)
    if let paths = server?.settings(of: file).paths, !paths.isEmpty {
      row.message = "\(general), \(paths)"
      row.messageForOthers = general
    }
    return row
  }

  /// The meaning of a reply in plain HTTP from a port that wants TLS: nginx and Apache send a web page,
  /// Go's servers a line.
  static func wantsTLS(_ reply: HTTPReply) -> Row? {
    guard reply.wentPlain, reply.status == 400 else { return nil }
    let text = String(decoding: reply.body.bytes.prefix(2048), as: UTF8.self).lowercased()
    let words = [
      "http request was sent to https port", "http request to an https server",
      "plain http to an ssl-enabled server port",
    ]
    return words.contains(where: { text.contains(bytesOf: $0) }) ? tlsWanted : nil
  }

  static let tlsWanted = Row(
    .permanentConfiguration, nil, .operatorMustAct,
    ": the port wants https://; correct the URL in its section")
}
