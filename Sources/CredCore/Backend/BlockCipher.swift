/// AES-128 in CBC mode with PKCS#7 padding, which the runtime hands in.
public protocol BlockCipher: Sendable {
  /// Nil where key, IV, length or padding are wrong.
  func decryptAES128CBC(_ ciphertext: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]?
}
