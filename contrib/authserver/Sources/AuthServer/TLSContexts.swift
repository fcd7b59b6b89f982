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
    let files = TLSFiles(certificate: certificate, key: key, clientCA: clientCA)
    let (context, end) = try files.context()
    metrics.set("credd_authserver_certificate_expiration_timestamp_seconds", to: Double(end))
    return context
  }
}
