/// The hash functions of signatures. The runtime implements them, so the core depends on no
/// cryptographic library and contains none.
public protocol Digests: Sendable {
  /// 32 bytes.
  func sha256(_ bytes: [UInt8]) -> [UInt8]
  /// 32 bytes.
  func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8]
}

/// AES-128 in CBC mode with PKCS#7 padding, implemented by the runtime.
public protocol BlockCipher: Sendable {
  /// Returns nil if key, IV, length or padding are wrong.
  func decryptAES128CBC(_ ciphertext: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]?
}
