import CredCore
import enum SandboxKit.Cryptography

/// The core's cryptographic protocols, implemented with the sandbox's GnuTLS, which shares no code
/// with the daemon's OpenSSL.
struct TestCrypto: Digests, BlockCipher {
  func sha256(_ bytes: [UInt8]) -> [UInt8] { Cryptography.sha256(bytes) }

  func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    Cryptography.hmacSHA256(key: key, message: message)
  }

  func decryptAES128CBC(_ ciphertext: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? {
    try? Cryptography.decryptAES128CBC(ciphertext, key: key, iv: iv)
  }

  /// The inverse of ``decryptAES128CBC(_:key:iv:)``.
  func encryptAES128CBC(_ plain: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? {
    try? Cryptography.encryptAES128CBC(plain, key: key, iv: iv)
  }
}
