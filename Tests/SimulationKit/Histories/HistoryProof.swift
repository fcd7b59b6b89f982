import CredCore
import SeededRandom

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
    let (salt, value) = (Self.text(Hex.encode(salt)), Self.text(Hex.encode(serverValue)))
    return #"{"USERNAME":"\#(username)",\#(more),"SALT":"\#(salt)","SRP_B":"\#(value)","#
      + #""SECRET_BLOCK":"\#(Self.text(Base64.encode(block)))"}"#
  }

  /// PASSWORD_CLAIM_SIGNATURE of who knows the password.
  func signature(pool: String, username: String, password: String, timestamp: String) -> String {
    let crypto = ToyCrypto()
    let inner = crypto.sha256(Array("\(pool)\(username):\(password)".utf8))
    let hash = crypto.sha256(SRPInteger(salt).padded + inner)
    return signature(
      group: pool, name: username, verifier: crypto.power(Secret(hash)), timestamp: timestamp)
  }

  /// The same by the verifier of a password: of a user in a pool, or of a device in its group.
  func signature(group: String, name: String, verifier: Secret, timestamp: String) -> String {
    let crypto = ToyCrypto()
    let value = Secret(
      Array(repeating: 0, count: SRPGroup.byteCount - serverValue.count) + serverValue)
    let shared = ToyCrypto.sharedSecret(verifier: verifier, value)
    let even = (publicValue.utf8.count.isMultiple(of: 2) ? "" : "0") + publicValue
    let scramble = crypto.sha256(
      SRPInteger(Hex.decode(even.utf8) ?? []).padded + SRPInteger(serverValue).padded)
    let extracted = crypto.hmacSHA256(
      key: SRPInteger(scramble).padded, message: SRPInteger(shared.bytes).padded)
    let key = crypto.hmacSHA256(key: extracted, message: Array("Caldera Derived Key".utf8) + [1])
    let message =
      Array("\(group)\(name)".utf8) + block + Array(timestamp.utf8)
    return Self.text(
      Base64.encode(crypto.hmacSHA256(key: Array(key.prefix(16)), message: message)))
  }

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
