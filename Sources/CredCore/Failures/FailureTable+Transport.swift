/// Rows for failures without a reply. Their words name the server, the key that has its URL, and for a
/// file of this host that file's key.
extension FailureTable {
  /// - Parameter server: nil where it is not known; then the words are general.
  static func transport(_ failure: TransportFailure, at server: CalledServer? = nil) -> Row {
    switch failure.kind {
    case .nameResolution: noSuchHost(server)
    case .proxyResolution:
      unavailable(
        " cannot be reached: the proxy's host name cannot be resolved; check https_proxy and http_proxy "
          + "of credd.service, and DNS", .operatorMustAct, evidence: .certain)
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
    let network = "check the network and DNS"
    guard let server else {
      return unavailable("\(general); check the URL, the network and DNS", evidence: .certain)
    }
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
    let keys = server?.place(of: file).keys ?? "ca_file, client_certificate and client_key"
    let general = " was not called: this host's \(file.description); check \(keys)"
    var row = Row(.permanentConfiguration, nil, .operatorMustAct, general)
    if let paths = server?.place(of: file).paths, !paths.isEmpty {
      row.message = "\(general), \(paths)"
      row.messageForOthers = general
    }
    return row
  }

  /// A server without an own key for each of its ports says so in plain HTTP: nginx and Apache in a web
  /// page, Go's servers in a line.
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
