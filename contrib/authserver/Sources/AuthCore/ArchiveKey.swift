import COpenSSL

/// The key that signs archives of the audit: Ed25519, by OpenSSL's libcrypto.
public struct ArchiveKey: Sendable {
  private let secret: [UInt8]
  /// 64 hexadecimal digits, by which a signature is checked.
  public let publicKey: String

  /// Nil where it is not 32 bytes.
  public init?(_ secret: [UInt8]) {
    self.secret = secret
    guard secret.count == 32, let key = unsafe Self.key(secret) else { return nil }
    defer { unsafe EVP_PKEY_free(key) }
    var bytes = [UInt8](repeating: 0, count: 32)
    var count = bytes.count
    guard unsafe EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1 else { return nil }
    publicKey = Hex.encode(bytes)
  }

  /// As its file has it: 64 hexadecimal digits and a line's end.
  public init?(file text: String) {
    guard text.hasSuffix("\n"), let secret = Hex.decode(String(text.dropLast())) else { return nil }
    self.init(secret)
  }

  public static func file(_ random: inout some RandomNumberGenerator) -> String {
    Hex.random(bytes: 32, &random) + "\n"
  }

  private static func key(_ secret: [UInt8]) -> OpaquePointer? {
    unsafe EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, secret, secret.count)
  }

  /// 128 hexadecimal digits; nil where memory is short.
  func signature(of message: String) -> String? {
    guard let key = unsafe Self.key(secret), let context = unsafe EVP_MD_CTX_new() else {
      return nil
    }
    defer {
      unsafe EVP_PKEY_free(key)
      unsafe EVP_MD_CTX_free(context)
    }
    let bytes = Array(message.utf8)
    var signature = [UInt8](repeating: 0, count: 64)
    var count = signature.count
    guard unsafe EVP_DigestSignInit(context, nil, nil, nil, key) == 1,
      unsafe EVP_DigestSign(context, &signature, &count, bytes, bytes.count) == 1
    else { return nil }
    return Hex.encode(signature)
  }

  static func isSignature(_ text: String, of message: String, by publicKey: String) -> Bool {
    guard let signature = Hex.decode(text), let raw = Hex.decode(publicKey), raw.count == 32,
      let key = unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, raw, raw.count),
      let context = unsafe EVP_MD_CTX_new()
    else { return false }
    defer {
      unsafe EVP_PKEY_free(key)
      unsafe EVP_MD_CTX_free(context)
    }
    let bytes = Array(message.utf8)
    return unsafe EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
  }
}

/// SHA-256 of bytes that come one after the other.
@safe final class RunningDigest {
  private let context: OpaquePointer

  /// Nil where memory is short.
  init?() {
    guard let made = unsafe EVP_MD_CTX_new() else { return nil }
    unsafe context = made
    guard unsafe EVP_DigestInit_ex(made, EVP_sha256(), nil) == 1 else { return nil }
  }

  deinit { unsafe EVP_MD_CTX_free(context) }

  func update(_ bytes: [UInt8]) { _ = unsafe EVP_DigestUpdate(context, bytes, bytes.count) }

  /// Of all bytes; nothing comes after that.
  func finish() -> String {
    var digest = [UInt8](repeating: 0, count: 32)
    _ = unsafe EVP_DigestFinal_ex(context, &digest, nil)
    return Hex.encode(digest)
  }
}
