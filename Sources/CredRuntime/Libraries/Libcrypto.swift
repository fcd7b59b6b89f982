internal import CCrypto
internal import CredCore

/// The hash functions and the cipher that the core leaves to a library. Who has one has loaded it:
/// ``LateLibrary``.
struct Libcrypto: Digests, BlockCipher {
  private static let digestSize = Int(CREDD_SHA256_SIZE)
  private static let blockSize = Int(CREDD_AES_BLOCK_SIZE)

  func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Self.digestSize)
    let result = unsafe credd_sha256(bytes, bytes.count, &digest)
    precondition(result == 0, "no memory is left for a digest")
    return digest
  }

  /// The digest of the first `size` bytes of a file; nil where it has fewer. Blocks: for threads
  /// alone.
  func sha256(ofFile descriptor: Int32, size: Int64) -> [UInt8]? {
    var digest = [UInt8](repeating: 0, count: Self.digestSize)
    return unsafe credd_sha256_file(descriptor, size, &digest) == 0 ? digest : nil
  }

  func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: Self.digestSize)
    let result = unsafe credd_hmac_sha256(key, key.count, message, message.count, &code)
    precondition(result == 0, "no memory is left for a message's code")
    return code
  }

  func decryptAES128CBC(_ ciphertext: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? {
    guard key.count == Self.blockSize, iv.count == Self.blockSize,
      let length = Int32(exactly: ciphertext.count)
    else { return nil }
    var text = [UInt8](repeating: 0, count: ciphertext.count + Self.blockSize)
    let count = unsafe credd_aes128_cbc_decrypt(key, iv, ciphertext, length, &text)
    guard count >= 0 else { return nil }
    text.removeSubrange(Int(count)...)
    return text
  }
}
