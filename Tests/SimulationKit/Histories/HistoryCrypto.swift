import CredCore
import SeededRandom

/// Cryptography of a history: quick, and nobody in it breaks it. The service and the user pools
/// compute with the same functions, so a proof of another password, user or challenge does not fit.
struct HistoryCrypto: AssertionSigning, Digests, BlockCipher, SRPArithmetic {
  func algorithm(ofKey pem: Secret) -> SigningAlgorithm? { .rs256 }

  func signature(of message: [UInt8], key pem: Secret, by algorithm: SigningAlgorithm) -> [UInt8]? {
    Self.mixed(pem.bytes + message, 256)
  }

  func sha256(_ bytes: [UInt8]) -> [UInt8] { Self.mixed(bytes, 32) }

  func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    Self.mixed(key + [UInt8(key.count & 255)] + message, 32)
  }

  func power(_ exponent: Secret) -> Secret {
    Secret(Self.mixed(exponent.bytes, SRPGroup.byteCount))
  }

  func sharedSecret(_ terms: SRPTerms) -> Secret? {
    Self.sharedSecret(verifier: power(terms.passwordHash), terms.serverValue)
  }

  func decryptAES128CBC(_ ciphertext: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? { nil }

  /// The server's side of it, from the verifier that it keeps in place of a password.
  static func sharedSecret(verifier: Secret, _ serverValue: Secret) -> Secret {
    Secret(mixed(verifier.bytes + serverValue.bytes, SRPGroup.byteCount))
  }

  private static func mixed(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
    var sum: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01B3 }
    var generator = SeededGenerator(seed: sum)
    var output: [UInt8] = []
    output.reserveCapacity(count)
    while output.count < count {
      let word = generator.next()
      for shift in stride(from: UInt64(0), to: 64, by: 8) {
        output.append(UInt8(truncatingIfNeeded: word >> shift))
      }
    }
    return output
  }
}

/// A proof of a password, as a user pool checks it.
struct HistoryProof {
  /// SRP_A, in hexadecimal.
  let publicValue: String
  /// B, below the prime.
  let serverValue: [UInt8]
  /// Not empty, and its first byte is not 0.
  let salt: [UInt8]
  /// In whole groups of three bytes: its base64 has no padding.
  let block: [UInt8]

  /// - Parameter salt: nil for any.
  init(publicValue: String, salt known: [UInt8]? = nil, _ random: inout SeededGenerator) {
    self.publicValue = publicValue
    var bytes = (0..<44).map { _ in UInt8(random.index(256)) }
    bytes[0] |= 1
    bytes[12] |= 1
    salt = known ?? Array(bytes[0..<12])
    serverValue = Array(bytes[12..<32])
    block = Array(bytes[32...])
  }

  /// ChallengeParameters of PASSWORD_VERIFIER, or of DEVICE_PASSWORD_VERIFIER.
  func parameters(_ username: String, device key: String? = nil) -> String {
    let more = key.map { #""DEVICE_KEY":"\#($0)""# } ?? #""USER_ID_FOR_SRP":"\#(username)""#
    return #"{"USERNAME":"\#(username)",\#(more),"SALT":"\#(Self.hex(salt))","#
      + #""SRP_B":"\#(Self.hex(serverValue))","SECRET_BLOCK":"\#(Self.base64(block))"}"#
  }

  /// PASSWORD_CLAIM_SIGNATURE of who knows the password.
  func signature(pool: String, username: String, password: String, timestamp: String) -> String {
    let crypto = HistoryCrypto()
    let inner = crypto.sha256(Array("\(pool)\(username):\(password)".utf8))
    let hash = crypto.sha256(SRPInteger(salt).padded + inner)
    return signature(
      group: pool, name: username, verifier: crypto.power(Secret(hash)), timestamp: timestamp)
  }

  /// The same by the verifier of a password: of a user in a pool, or of a device in its group.
  func signature(group: String, name: String, verifier: Secret, timestamp: String) -> String {
    let crypto = HistoryCrypto()
    let value = Secret(
      Array(repeating: 0, count: SRPGroup.byteCount - serverValue.count) + serverValue)
    let shared = HistoryCrypto.sharedSecret(verifier: verifier, value)
    let scramble = crypto.sha256(
      SRPInteger(Self.bytes(publicValue)).padded + SRPInteger(serverValue).padded)
    let extracted = crypto.hmacSHA256(
      key: SRPInteger(scramble).padded, message: SRPInteger(shared.bytes).padded)
    let key = crypto.hmacSHA256(key: extracted, message: Array("Caldera Derived Key".utf8) + [1])
    let message =
      Array("\(group)\(name)".utf8) + block + Array(timestamp.utf8)
    return Self.base64(crypto.hmacSHA256(key: Array(key.prefix(16)), message: message))
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  private static func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.utf8.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
    let even = digits.count.isMultiple(of: 2) ? digits : [0] + digits
    return stride(from: 0, to: even.count, by: 2).map { even[$0] << 4 | even[$0 + 1] }
  }

  private static func base64(_ bytes: [UInt8]) -> String {
    let text = Base64URL.encode(bytes).map { byte in
      switch byte {
      case UInt8(ascii: "-"): UInt8(ascii: "+")
      case UInt8(ascii: "_"): UInt8(ascii: "/")
      default: byte
      }
    }
    let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
    return String(decoding: text + padding, as: UTF8.self)
  }
}
