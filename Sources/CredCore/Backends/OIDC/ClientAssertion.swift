/// The algorithms by which a client signs (RFC 7518, 3.1). The key decides which one.
public enum SigningAlgorithm: String, Sendable, CaseIterable {
  /// RSASSA-PKCS1-v1_5 with SHA-256, with an RSA key of 2048 bits or more.
  case rs256 = "RS256"
  /// ECDSA with P-256 and SHA-256. The signature is two numbers of 32 bytes.
  case es256 = "ES256"
}

/// Signatures with a private key. The runtime implements them by its cryptographic library.
public protocol AssertionSigning: Sendable {
  /// The algorithm by which a key signs. Nil if the text is not a private key in PEM of a known
  /// kind, or if the key is too short.
  func algorithm(ofKey pem: Secret) -> SigningAlgorithm?
  /// Takes some milliseconds: call it on a thread. Nil if the key cannot sign.
  func signature(of message: [UInt8], key pem: Secret, by algorithm: SigningAlgorithm) -> [UInt8]?
}

/// A JWT with which a client proves that it has a private key (RFC 7523, 2.2).
public struct ClientAssertion: Sendable, Equatable {
  /// How long the assertion may be used. Providers refuse more than 5 minutes.
  static let lifetime = Duration.seconds(240)

  public let token: Secret

  /// - Parameters:
  ///   - keyID: `kid`, by which the provider finds the public key; nil if the provider has only
  ///     one.
  ///   - audience: the token endpoint.
  ///   - identifier: an identifier that is used once.
  /// - Throws: if the key cannot sign.
  public init(
    clientID: String, keyID: String?, audience: String, identifier: AssertionIdentifier,
    at now: WallTime, key: Secret, signing: some AssertionSigning
  ) throws(InvalidInput) {
    guard let algorithm = signing.algorithm(ofKey: key) else {
      throw InvalidInput(
        field: "client_assertion_key_file",
        reason: "holds no private key in PEM for RS256 (2048 bits or more) or ES256 (P-256)")
    }
    var header = JSONWriter()
    header.beginObject()
    header.field("alg", algorithm.rawValue)
    header.field("typ", "JWT")
    header.field("kid", keyID)
    header.endObject()
    var claims = JSONWriter()
    claims.beginObject()
    claims.field("iss", clientID)
    claims.field("sub", clientID)
    claims.field("aud", audience)
    claims.field("jti", identifier.text)
    claims.field("iat", now.milliseconds / 1000)
    claims.field("exp", (now + Self.lifetime).milliseconds / 1000)
    claims.endObject()
    let message =
      Base64.encodeURL(header.bytes) + [UInt8(ascii: ".")] + Base64.encodeURL(claims.bytes)
    guard let signature = signing.signature(of: message, key: key, by: algorithm) else {
      throw InvalidInput(field: "client_assertion_key_file", reason: "holds a key that cannot sign")
    }
    token = Secret(message + [UInt8(ascii: ".")] + Base64.encodeURL(signature))
  }
}

/// `jti`: 128 random bits.
public struct AssertionIdentifier: Sendable, Equatable {
  let text: String

  public init(using generator: inout some RandomNumberGenerator) {
    text = String(decoding: Base64.encodeURL(.random(16, using: &generator)), as: UTF8.self)
  }
}
