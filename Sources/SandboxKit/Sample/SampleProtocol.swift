import FoundationEssentials

/// The cryptography of the developer-authentication sample: HMAC-SHA256 signatures in hexadecimal
/// and AES-128-CBC replies.
enum SampleProtocol {
  static let defaultAppName = "awscognitodeveloperauthenticationsample"
  /// How far a timestamp may be off, seconds.
  static let tolerance = 900.0

  /// Lower-case hexadecimal HMAC-SHA256; key and message are UTF-8 texts.
  static func signature(of message: String, key: String) -> String {
    hexadecimal(Cryptography.hmacSHA256(key: Array(key.utf8), message: Array(message.utf8)))
  }

  /// What the server stores instead of the password.
  static func salted(
    _ password: String, user: String, app: String = defaultAppName, host: String
  ) -> String {
    signature(of: user + app.lowercased() + host.lowercased(), key: password)
  }

  /// The reply body: base64 of the initialization vector and the ciphertext.
  ///
  /// - Parameters:
  ///   - key: 32 hexadecimal digits or more; the first 32 count.
  ///   - vector: 16 bytes.
  static func encrypted(
    _ text: String, key: String, vector: [UInt8]
  ) throws(ServiceError) -> String {
    do {
      let sealed = try Cryptography.encryptAES128CBC(
        Array(text.utf8), key: bytes(ofHexadecimal: key.prefix(32)), iv: vector)
      return base64(vector + sealed)
    } catch {
      throw ServiceError(status: 500, "InternalError", "the reply cannot be encrypted")
    }
  }

  /// The plain text of a login's reply, with the sample's own tab.
  static func keyReply(_ key: String) -> String { "{\t\"key\": \"\(key)\"}" }

  static func bytes(ofHexadecimal text: some StringProtocol) -> [UInt8] {
    let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    return stride(from: 0, to: digits.count - 1, by: 2).map {
      UInt8(digits[$0] << 4 | digits[$0 + 1])
    }
  }
}
