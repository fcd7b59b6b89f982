internal import CCrypto
internal import CredCore

/// The arithmetic of SRP, from libcrypto's big numbers. Powers take milliseconds: call it on a thread.
extension Libcrypto: SRPArithmetic {
  func power(_ exponent: Secret) -> Secret {
    var power = Self.empty
    let result = unsafe credd_srp_power(
      Self.prime, SRPGroup.generator, exponent.bytes, exponent.count, &power)
    precondition(result == 0, "no memory is left for a power")
    return Secret(power)
  }

  func sharedSecret(_ terms: SRPTerms) -> Secret? {
    let (a, B) = (terms.privateValue.bytes, terms.serverValue.bytes)
    let (u, x) = (terms.scramble.bytes, terms.passwordHash.bytes)
    precondition(B.count == Self.size && u.count == Self.hash && x.count == Self.hash)
    var secret = Self.empty
    let result = unsafe credd_srp_secret(
      Self.prime, SRPGroup.generator, SRPGroup.multiplier, a, a.count, u, x, B, &secret)
    precondition(result >= 0, "no memory is left for a shared secret")
    return result == 0 ? Secret(secret) : nil
  }

  private static let size = Int(CREDD_SRP_SIZE)
  private static let hash = Int(CREDD_SHA256_SIZE)
  private static var empty: [UInt8] { [UInt8](repeating: 0, count: size) }

  private static var prime: [UInt8] {
    let prime = SRPGroup.prime
    precondition(prime.count == size && SRPGroup.multiplier.count == hash)
    return prime
  }
}
