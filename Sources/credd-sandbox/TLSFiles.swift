import NIOSSL

/// Where the server's certificate and key lie, in PEM.
struct TLSFiles {
  var certificate: String
  var key: String
  /// Clients must show a certificate of one of these authorities.
  var clientAuthorities: String?

  func context() throws -> NIOSSLContext {
    let chain = try NIOSSLCertificate.fromPEMFile(certificate)
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
    if let clientAuthorities {
      configuration.trustRoots = .file(clientAuthorities)
      configuration.certificateVerification = .noHostnameVerification
    }
    return try NIOSSLContext(configuration: configuration)
  }
}
