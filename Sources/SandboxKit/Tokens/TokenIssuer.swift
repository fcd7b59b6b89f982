import FoundationEssentials
import SeededRandom

/// Signs JSON Web Tokens with one RSA key and verifies what it signed.
///
/// Cognito signs its OpenID tokens with RS512. The same key stands for the social providers too, in
/// RS256: `iss` names the issuing provider.
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

  /// The reason why a text is not a token of this issuer.
  public enum Fault: Error, Equatable {
    /// Not three parts of base64url with JSON objects in front.
    case malformed
    /// The algorithm, the key or the signature is another one.
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
  ///
  /// - Parameter hasType: whether the header says that the token is a JWT. User pools omit that.
  public func token(
    _ claims: JSON, algorithm: Algorithm = .rs512, hasType: Bool = true
  ) throws -> String {
    var header: [String: JSON] = ["alg": .string(algorithm.rawValue), "kid": .string(keyID)]
    if hasType { header["typ"] = "JWT" }
    let message = base64URL(JSON.object(header).bytes) + "." + base64URL(claims.bytes)
    let signature = try key.signature(of: Array(message.utf8), algorithm.digest)
    return message + "." + base64URL(signature)
  }

  /// The public key for verifiers (RFC 7517).
  func publicKey(for algorithm: Algorithm) throws(Cryptography.Refused) -> JSON {
    let numbers = try key.publicNumbers
    return [
      "kty": "RSA", "use": "sig", "alg": .string(algorithm.rawValue), "kid": .string(keyID),
      "n": .string(base64URL(numbers.modulus)), "e": .string(base64URL(numbers.exponent)),
    ]
  }

  /// The claims, without a check of the signature: enough to find the claimed owner.
  public static func claims(in token: String) throws(Fault) -> JSON {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let bytes = base64URLDecoded(parts[1]),
      let claims = JSON(parsing: bytes), claims.members != nil
    else { throw .malformed }
    return claims
  }

  /// The claims of a token of this issuer, signed with this algorithm. The time is not checked.
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

/// Base64 with the alphabet of RFC 4648 §4.
func base64(_ bytes: some Collection<UInt8>) -> String {
  Data(bytes).base64EncodedString()
}

/// Base64 without padding and with the URL-safe alphabet (RFC 7515 §2).
func base64URL(_ bytes: some Collection<UInt8>) -> String {
  String(
    base64(bytes).compactMap { character in
      switch character {
      case "+": "-"
      case "/": "_"
      case "=": nil
      default: character
      }
    })
}

/// The bytes of an unpadded URL-safe text; nil for any other text.
func base64URLDecoded(_ text: some StringProtocol) -> [UInt8]? {
  var plain = ""
  for character in text {
    switch character {
    case "-": plain.append("+")
    case "_": plain.append("/")
    case "+", "/", "=": return nil
    default: plain.append(character)
    }
  }
  plain += String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
  return Data(base64Encoded: plain).map(Array.init)
}

/// Lower-case hexadecimal.
func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
  let digits = Array("0123456789abcdef".utf8)
  var text: [UInt8] = []
  for byte in bytes {
    text.append(digits[Int(byte >> 4)])
    text.append(digits[Int(byte & 15)])
  }
  return String(decoding: text, as: UTF8.self)
}

extension SeededGenerator {
  /// A random text with `count` characters of an alphabet.
  mutating func text(_ count: Int, of alphabet: [UInt8]) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    for _ in 0..<count {
      // The bias of the remainder does not matter here.
      bytes.append(alphabet[Int(next() % UInt64(alphabet.count))])
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A version 4 UUID in lower case.
  mutating func uuid() -> String {
    let digits = Array(text(32, of: Array("0123456789abcdef".utf8)))
    func part(_ range: Range<Int>) -> String { String(digits[range]) }
    let variant = ["8", "9", "a", "b"][Int(next() % 4)]
    return "\(part(0..<8))-\(part(8..<12))-4\(part(13..<16))-\(variant)\(part(17..<20))"
      + "-\(part(20..<32))"
  }
}
