public import AuthCore
import NIOSSL
import Synchronization

/// The certificate and key of new connections. `reload` takes them from their files again; where
/// these are not good, the earlier ones stay.
public final class TLSContexts: Sendable {
  private let files: TLSFiles
  private let context: Mutex<NIOSSLContext>
  private let metrics: Metrics

  /// Nil where the configuration has no certificate.
  public init?(_ configuration: AuthCore.Configuration, metrics: Metrics) throws {
    guard let files = TLSFiles(configuration) else { return nil }
    self.files = files
    self.metrics = metrics
    context = Mutex(try Self.context(files, metrics))
  }

  public func reload() throws {
    let new = try Self.context(files, metrics)
    context.withLock { $0 = new }
  }

  func handler() -> NIOSSLServerHandler { NIOSSLServerHandler(context: context.withLock { $0 }) }

  private static func context(_ files: TLSFiles, _ metrics: Metrics) throws -> NIOSSLContext {
    let (context, end) = try files.context()
    metrics.set(.certificateExpiration, to: Double(end))
    return context
  }
}
