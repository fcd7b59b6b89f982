import ArgumentParser

/// Where the sandbox listens.
struct ListeningOptions: ParsableArguments {
  @Option(help: "Port on 127.0.0.1; 0 takes any.")
  var port = 0

  @Option(help: "Unix socket to serve on as well.")
  var unixSocket: String?

  @Option(help: "Server certificate in PEM; with it the sandbox serves TLS as well.")
  var tlsCertificate: String?

  @Option(help: "The certificate's key in PEM.")
  var tlsKey: String?

  @Option(help: "Port for TLS on 127.0.0.1; 0 takes any.")
  var tlsPort = 0

  @Option(
    name: .customLong("tls-client-ca"),
    help: "Ask for a client certificate of this authority.")
  var tlsClientAuthority: String?

  func validate() throws {
    for port in [port, tlsPort] where !(0...65_535).contains(port) {
      throw ValidationError("\(port) is not a port")
    }
    guard (tlsCertificate == nil) == (tlsKey == nil) else {
      throw ValidationError("--tls-certificate and --tls-key go together")
    }
    guard tlsClientAuthority == nil || tlsCertificate != nil else {
      throw ValidationError("--tls-client-ca needs --tls-certificate")
    }
  }

  /// Starts every listener.
  ///
  /// - Returns: the base URLs, the plain one first.
  func listen(on server: SandboxServer) throws -> [String] {
    var urls = ["http://127.0.0.1:\(try server.listen(port: port))"]
    if let tlsCertificate, let tlsKey {
      let files = TLSFiles(
        certificate: tlsCertificate, key: tlsKey, clientAuthorities: tlsClientAuthority)
      let port = try server.listen(port: tlsPort, tls: files.context())
      urls.append("https://127.0.0.1:\(port)")
    }
    if let unixSocket { try server.listen(unixSocket: unixSocket) }
    return urls
  }
}
