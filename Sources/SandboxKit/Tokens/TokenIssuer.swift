/// Signs JSON Web Tokens with one RSA key and verifies what it signed.
///
/// Cognito signs its OpenID tokens with RS512. The same key stands for the social providers too,
/// in RS256: which of them issued a token is told by `iss`.
public struct TokenIssuer: Sendable {
  public enum Algorithm: String, Sendable {
    case rs256 = "RS256"
    case rs512 = "RS512"

    fileprivate var digest: RSAKey.Digest {
      switch self {
      case .rs256: .sha256
      case .rs512: .sha512
      }
    }
  }

  /// Why a text is not a token of this issuer.
  public enum Fault: Error, Equatable {
    /// Not three parts of base64url with JSON objects in front.
    case malformed
    /// Another algorithm, key, or signature.
    case unverified
  }

  private let key: RSAKey
  private let keyID: String

  /// Makes a key of 2048 bits, which takes some tenths of a second.
  public init() throws {
    try self.init(key: RSAKey(bits: 2048))
  }

  /// - Parameter pem: an RSA key in PEM.
  public init(pem: [UInt8]) throws {
    try self.init(key: RSAKey(pem: pem))
  }

  private init(key: RSAKey) throws(Cryptography.Refused) {
    self.key = key
    keyID = base64URL(Cryptography.sha256(try key.publicKey).prefix(12))
  }

  /// The key in PEM, for another issuer of the same tokens.
  public var pem: [UInt8] {
    get throws { try key.pem }
  }

  /// The signed token.
  public func token(_ claims: JSON, algorithm: Algorithm = .rs512) throws -> String {
    let header: JSON = ["alg": .string(algorithm.rawValue), "kid": .string(keyID), "typ": "JWT"]
    let message = base64URL(header.bytes) + "." + base64URL(claims.bytes)
    let signature = try key.signature(of: Array(message.utf8), algorithm.digest)
    return message + "." + base64URL(signature)
  }

  /// The claims without a look at the signature: enough to tell whose token it says it is.
  public static func claims(in token: String) throws(Fault) -> JSON {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let bytes = base64URLDecoded(parts[1]),
      let claims = JSON(parsing: bytes), claims.members != nil
    else { throw .malformed }
    return claims
  }

  /// The claims of a token of this issuer, signed with this algorithm. Time is not looked at.
  public func verifiedClaims(
    in token: String, algorithm: Algorithm = .rs512
  ) throws(Fault) -> JSON {
    let claims = try TokenIssuer.claims(in: token)
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard let headerBytes = base64URLDecoded(parts[0]), let header = JSON(parsing: headerBytes),
      let signatureBytes = base64URLDecoded(parts[2])
    else { throw .malformed }
    // The algorithm is the verifier's choice, never the token's.
    guard header["alg"]?.text == algorithm.rawValue, header["kid"]?.text == keyID else {
      throw .unverified
    }
    let message = Array((parts[0] + "." + parts[1]).utf8)
    guard key.isValid(signatureBytes, of: message, algorithm.digest) else { throw .unverified }
    return claims
  }
}
