import CredCore
import Crypto
import CryptoExtras
import Foundation

/// What the runtime hands to the core, here straight from swift-crypto.
struct TestCrypto: Digests, BlockCipher {
  func sha256(_ bytes: [UInt8]) -> [UInt8] {
    Array(SHA256.hash(data: bytes))
  }

  func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key)))
  }

  func decryptAES128CBC(_ ciphertext: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? {
    guard let iv = try? AES._CBC.IV(ivBytes: iv) else { return nil }
    return (try? AES._CBC.decrypt(ciphertext, using: SymmetricKey(data: key), iv: iv))
      .map { Array($0) }
  }

  /// The other side of it.
  func encryptAES128CBC(_ plain: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? {
    guard let iv = try? AES._CBC.IV(ivBytes: iv) else { return nil }
    return (try? AES._CBC.encrypt(plain, using: SymmetricKey(data: key), iv: iv))
      .map { Array($0) }
  }
}
