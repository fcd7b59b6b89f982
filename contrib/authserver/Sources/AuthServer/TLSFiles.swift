import AuthCore
import Glibc
import NIOSSL

/// The files of TLS. What is wrong with one is said with its key and its name.
struct TLSFiles: Sendable {
  let certificate: String
  let key: String
  let clientCA: String?

  /// - Returns: for new connections; and when the certificate ends, in seconds since 1970.
  func context() throws(ServerFailure) -> (context: NIOSSLContext, end: Int) {
    let chain = try certificates("tls_certificate", certificate)
    let key = try privateKey()
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["http/1.1"]
    if let clientCA {
      configuration.trustRoots = .certificates(try certificates("client_ca_file", clientCA))
      // A host without a certificate may have a token.
      configuration.certificateVerification = .optionalVerification
    }
    do {
      return (try NIOSSLContext(configuration: configuration), Int(chain[0].notValidAfter))
    } catch {
      throw ServerFailure(
        "tls_key: \(self.key) is not the key of the certificate \(certificate): \(error)")
    }
  }

  /// All that is wrong at once.
  func faults(at now: Timestamp) -> [String] {
    var faults: [String] = []
    func take(_ body: () throws(ServerFailure) -> Void) {
      do throws(ServerFailure) { try body() } catch { faults.append(error.description) }
    }
    take { () throws(ServerFailure) in
      let first = try certificates("tls_certificate", certificate)[0]
      let seconds = now.milliseconds / 1000
      if Int64(first.notValidAfter) < seconds {
        let end = Timestamp(milliseconds: Int64(first.notValidAfter) * 1000).iso8601
        throw ServerFailure("tls_certificate: \(certificate) has ended, on \(end)")
      }
      if Int64(first.notValidBefore) > seconds {
        let start = Timestamp(milliseconds: Int64(first.notValidBefore) * 1000).iso8601
        throw ServerFailure("tls_certificate: \(certificate) is not valid before \(start)")
      }
    }
    take { () throws(ServerFailure) in _ = try privateKey() }
    if let clientCA {
      take { () throws(ServerFailure) in _ = try certificates("client_ca_file", clientCA) }
    }
    if faults.isEmpty { take { () throws(ServerFailure) in _ = try context() } }
    return faults
  }

  private func certificates(
    _ name: String, _ path: String
  ) throws(ServerFailure) -> [NIOSSLCertificate] {
    try Self.checkReadable(name, path)
    guard let chain = try? NIOSSLCertificate.fromPEMFile(path), !chain.isEmpty else {
      throw ServerFailure("\(name): \(path) holds no certificate in PEM")
    }
    return chain
  }

  private func privateKey() throws(ServerFailure) -> NIOSSLPrivateKey {
    try Self.checkReadable("tls_key", key)
    guard let key = try? NIOSSLPrivateKey(file: key, format: .pem) else {
      throw ServerFailure("tls_key: \(key) holds no private key in PEM without a passphrase")
    }
    return key
  }

  static func checkReadable(_ name: String, _ path: String) throws(ServerFailure) {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      throw ServerFailure(
        "\(name): \(path) cannot be read: \(SystemError.last)")
    }
    close(file)
  }
}

extension TLSFiles {
  /// Nil where the configuration has no certificate.
  init?(_ configuration: AuthCore.Configuration) {
    guard let certificate = configuration.tlsCertificate, let key = configuration.tlsKey else {
      return nil
    }
    self.init(certificate: certificate, key: key, clientCA: configuration.clientCAFile)
  }
}
