import COpenSSL
public import CredCore

/// Hashes by OpenSSL's libcrypto, which libpq brings into the program anyway.
public enum Digest {
  /// 32 bytes.
  public static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    _ = unsafe SHA256(bytes, bytes.count, &digest)
    return digest
  }

  public static func sha256(_ text: String) -> [UInt8] { sha256(Array(text.utf8)) }

  /// 32 bytes.
  public static func hmacSHA256(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    _ = unsafe HMAC(
      EVP_sha256(), key, Int32(key.count), message, message.count, &code, nil)
    return code
  }

  /// A digest of texts, each with its length, so that no two lists give the same bytes.
  static func sha256(each texts: [String]) -> [UInt8] {
    sha256(texts.flatMap { Array("\($0.utf8.count):".utf8) + Array($0.utf8) })
  }
}

/// The same for credd's signatures.
public struct Libcrypto: Digests {
  public init() {}

  public func sha256(_ bytes: [UInt8]) -> [UInt8] { Digest.sha256(bytes) }

  public func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    Digest.hmacSHA256(key: key, message)
  }
}

/// AES-128 in CBC mode with PKCS#7 padding, by libcrypto.
enum AES128 {
  /// Nil if key or IV do not have 16 bytes.
  static func encrypt(_ plain: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? {
    guard key.count == 16, iv.count == 16, let context = unsafe EVP_CIPHER_CTX_new() else {
      return nil
    }
    defer { unsafe EVP_CIPHER_CTX_free(context) }
    var sealed = [UInt8](repeating: 0, count: plain.count + 16)
    var length: Int32 = 0
    guard unsafe EVP_EncryptInit_ex(context, EVP_aes_128_cbc(), nil, key, iv) == 1,
      unsafe EVP_EncryptUpdate(context, &sealed, &length, plain, Int32(plain.count)) == 1
    else { return nil }
    let count = Int(length)
    let isDone = unsafe sealed.withUnsafeMutableBufferPointer { bytes in
      unsafe EVP_EncryptFinal_ex(context, bytes.baseAddress?.advanced(by: count), &length) == 1
    }
    return isDone ? Array(sealed.prefix(count + Int(length))) : nil
  }
}
