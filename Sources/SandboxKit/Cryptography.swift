import CSandboxCrypto

/// The cryptography of the sandbox, from GnuTLS. The daemon uses OpenSSL.
///
/// Each `unsafe` here calls a C function that gets arrays with their lengths. The function reads
/// and writes only within them, and keeps no pointer.
public enum Cryptography {
  /// An error of GnuTLS: a key or a vector has a wrong length, or memory ran out.
  public struct Refused: Error {}

  private static let blockSize = Int(CSANDBOX_AES_BLOCK_SIZE)

  public static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Int(CSANDBOX_SHA256_SIZE))
    let result = unsafe csandbox_sha256(bytes, bytes.count, &digest)
    precondition(result == 0, "GnuTLS has no SHA-256")
    return digest
  }

  public static func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: Int(CSANDBOX_SHA256_SIZE))
    let result = unsafe csandbox_hmac_sha256(key, key.count, message, message.count, &code)
    precondition(result == 0, "GnuTLS has no HMAC-SHA-256")
    return code
  }

  /// For one-time codes, which authenticator apps make with SHA-1.
  static func hmacSHA1(key: [UInt8], message: [UInt8]) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: Int(CSANDBOX_SHA1_SIZE))
    let result = unsafe csandbox_hmac_sha1(key, key.count, message, message.count, &code)
    precondition(result == 0, "GnuTLS has no HMAC-SHA-1")
    return code
  }

  /// Compares two texts in a time that does not depend on where they differ.
  public static func areEqual(_ one: String, _ other: String) -> Bool {
    let (one, other) = (Array(one.utf8), Array(other.utf8))
    guard one.count == other.count else { return false }
    return unsafe csandbox_equal(one, other, one.count)
  }

  /// AES-128 in CBC mode with PKCS#7 padding.
  public static func encryptAES128CBC(
    _ plain: [UInt8], key: [UInt8], iv: [UInt8]
  ) throws(Refused) -> [UInt8] {
    guard key.count == blockSize, iv.count == blockSize else { throw Refused() }
    let padding = blockSize - plain.count % blockSize
    var data = plain + [UInt8](repeating: UInt8(padding), count: padding)
    guard unsafe csandbox_aes128_cbc_encrypt(key, iv, &data, data.count) == 0 else {
      throw Refused()
    }
    return data
  }

  /// Whether a signature of two numbers (ES256) was made with a private key in PEM, on the curve
  /// P-256.
  static func isValid(
    _ signature: [UInt8], of message: [UInt8], byP256KeyIn pem: [UInt8]
  ) -> Bool {
    let text = pem.map { CChar(bitPattern: $0) }
    return unsafe csandbox_p256_verifies(
      text, text.count, message, message.count, signature, signature.count)
  }

  /// - Throws: also if a length or the padding is wrong.
  public static func decryptAES128CBC(
    _ ciphertext: [UInt8], key: [UInt8], iv: [UInt8]
  ) throws(Refused) -> [UInt8] {
    guard key.count == blockSize, iv.count == blockSize, !ciphertext.isEmpty,
      ciphertext.count % blockSize == 0
    else { throw Refused() }
    var data = ciphertext
    guard unsafe csandbox_aes128_cbc_decrypt(key, iv, &data, data.count) == 0 else {
      throw Refused()
    }
    let padding = Int(data[data.count - 1])
    guard (1...blockSize).contains(padding),
      data.suffix(padding).allSatisfy({ Int($0) == padding })
    else { throw Refused() }
    return data.dropLast(padding)
  }
}

/// A private RSA key.
@safe final class RSAKey: Sendable {
  enum Digest {
    case sha256, sha512

    fileprivate var code: csandbox_digest {
      switch self {
      case .sha256: CSANDBOX_SHA256
      case .sha512: CSANDBOX_SHA512
      }
    }
  }

  /// The most bytes of a key in PEM. A key of 4096 bits has 3,300.
  private static let longestFile = 16_384
  /// Bytes of a signature by a key of 4096 bits.
  private static let longestSignature = 512

  /// GnuTLS only reads a complete key, so that threads may share it.
  nonisolated(unsafe) private let handle: OpaquePointer

  /// Makes a key, which takes some tenths of a second.
  init(bits: UInt32) throws(Cryptography.Refused) {
    guard let key = unsafe csandbox_rsa_generate(bits) else { throw Cryptography.Refused() }
    unsafe handle = key
  }

  /// Reads a key in PEM.
  init(pem: [UInt8]) throws(Cryptography.Refused) {
    let text = pem.map { CChar(bitPattern: $0) }
    guard let key = unsafe csandbox_rsa_import(text, text.count) else {
      throw Cryptography.Refused()
    }
    unsafe handle = key
  }

  deinit {
    unsafe csandbox_rsa_free(handle)
  }

  /// The private key in PEM.
  var pem: [UInt8] {
    get throws(Cryptography.Refused) {
      var text = [CChar](repeating: 0, count: RSAKey.longestFile)
      let length = unsafe csandbox_rsa_export(handle, &text, text.count)
      guard length > 0 else { throw Cryptography.Refused() }
      return text.prefix(length).map { UInt8(bitPattern: $0) }
    }
  }

  /// The public key in DER (SubjectPublicKeyInfo).
  var publicKey: [UInt8] {
    get throws(Cryptography.Refused) {
      try unsafe output(RSAKey.longestFile) { unsafe csandbox_rsa_public(handle, $0, $1) }
    }
  }

  /// Modulus and exponent of the public key, big-endian.
  var publicNumbers: (modulus: [UInt8], exponent: [UInt8]) {
    get throws(Cryptography.Refused) {
      let modulus = try unsafe output(RSAKey.longestSignature) {
        unsafe csandbox_rsa_number(handle, CSANDBOX_RSA_MODULUS, $0, $1)
      }
      let exponent = try unsafe output(RSAKey.longestSignature) {
        unsafe csandbox_rsa_number(handle, CSANDBOX_RSA_EXPONENT, $0, $1)
      }
      return (modulus, exponent)
    }
  }

  /// The signature of RSASSA-PKCS1-v1_5.
  func signature(of message: [UInt8], _ digest: Digest) throws(Cryptography.Refused) -> [UInt8] {
    try unsafe output(RSAKey.longestSignature) {
      unsafe csandbox_rsa_sign(handle, digest.code, message, message.count, $0, $1)
    }
  }

  func isValid(_ signature: [UInt8], of message: [UInt8], _ digest: Digest) -> Bool {
    unsafe csandbox_rsa_verifies(
      handle, digest.code, message, message.count, signature, signature.count)
  }

  /// The output of a shim function that returns the length or -1.
  private func output(
    _ capacity: Int, _ write: (UnsafeMutablePointer<UInt8>?, Int) -> Int
  ) throws(Cryptography.Refused) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: capacity)
    let length = unsafe bytes.withUnsafeMutableBufferPointer {
      unsafe write($0.baseAddress, $0.count)
    }
    guard length >= 0 else { throw Cryptography.Refused() }
    return Array(bytes.prefix(length))
  }
}
