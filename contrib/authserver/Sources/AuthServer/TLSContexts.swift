public import AuthCore
import NIOSSL
import Synchronization

/// The certificate and key of new connections. `reload` takes them from their files again; where
/// these are not good, the earlier ones stay.
public final class TLSContexts: Sendable {
  private let certificate: String
  private let key: String
  private let clientCA: String?
  private let context: Mutex<NIOSSLContext>
  private let metrics: Metrics

  /// Nil where the configuration has no certificate.
  public init?(_ configuration: AuthCore.Configuration, metrics: Metrics) throws {
    guard let certificate = configuration.tlsCertificate, let key = configuration.tlsKey else {
      return nil
    }
    self.certificate = certificate
    self.key = key
    clientCA = configuration.clientCAFile
    self.metrics = metrics
    context = Mutex(try Self.context(certificate, key, configuration.clientCAFile, metrics))
  }

  public func reload() throws {
    let new = try Self.context(certificate, key, clientCA, metrics)
    context.withLock { $0 = new }
  }

  func handler() -> NIOSSLServerHandler { NIOSSLServerHandler(context: context.withLock { $0 }) }

  private static func context(
    _ certificate: String, _ key: String, _ clientCA: String?, _ metrics: Metrics
  ) throws -> NIOSSLContext {
    do {
      let chain = try NIOSSLCertificate.fromPEMFile(certificate)
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) },
        privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
      configuration.minimumTLSVersion = .tlsv12
      configuration.applicationProtocols = ["http/1.1"]
      if let clientCA {
        configuration.trustRoots = .file(clientCA)
        // A host without a certificate may have a token.
        configuration.certificateVerification = .optionalVerification
      }
      let context = try NIOSSLContext(configuration: configuration)
      if let end = chain.first?.notValidAfter {
        metrics.set(
          "credd_authserver_certificate_expiration_timestamp_seconds", to: Double(end))
      }
      return context
    } catch {
      throw ServerFailure("\(certificate) and \(key) cannot be used: \(error)")
    }
  }
}
