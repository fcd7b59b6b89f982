internal import CredCore
internal import Crypto
internal import CryptoExtras

/// The hash functions and the cipher that the core leaves to a library.
struct SwiftCrypto: Digests, BlockCipher {
  func sha256(_ bytes: [UInt8]) -> [UInt8] {
    Array(SHA256.hash(data: bytes))
  }

  func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key)))
  }

  func decryptAES128CBC(_ ciphertext: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? {
    guard let iv = try? AES._CBC.IV(ivBytes: iv) else { return nil }
    return try? Array(AES._CBC.decrypt(ciphertext, using: SymmetricKey(data: key), iv: iv))
  }
}
