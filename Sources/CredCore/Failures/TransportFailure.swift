/// Why no answer arrived, or none that could be taken for one.
public enum TransportFailure: Error, Sendable, Hashable, CaseIterable {
  /// The host name could not be resolved.
  case nameResolution
  /// No connection: refused, unreachable, or the proxy said no.
  case connect
  /// The TLS handshake failed, without a doubt about who is at the other end.
  case tls
  /// The certificate is not one that credd may trust for that host.
  case certificate
  /// The deadline passed.
  case timeout
  /// The connection broke before the answer was whole.
  case reset
  /// More bytes than the upstream's limit in ``Limits``.
  case tooLarge
  /// Not HTTP.
  case malformed
  /// The library that speaks HTTP and TLS cannot be loaded on this host.
  case noLibrary
}
