/// The hash functions that signatures need. The runtime hands in an implementation, so that the
/// core neither depends on a crypto library nor contains one.
public protocol Digests: Sendable {
  /// 32 bytes.
  func sha256(_ bytes: [UInt8]) -> [UInt8]
  /// 32 bytes.
  func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8]
}
