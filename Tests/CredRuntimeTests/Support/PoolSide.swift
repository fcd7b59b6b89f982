@testable import SandboxKit

/// A user pool's side of SRP: the sandbox's, whose integers are GMP's and share no code with the daemon's.
struct PoolSide {
  private let exchange: SRPExchange

  /// - Parameters:
  ///   - identity: the pool's name, and the user's.
  ///   - clientValue: A.
  ///   - secret: b.
  init(
    _ identity: (pool: String, user: String), password: String, salt: [UInt8],
    clientValue: [UInt8], secret: [UInt8]
  ) {
    exchange = SRPExchange(
      domain: identity.pool, name: identity.user,
      verifier: SRPVerifier(
        identity: identity.pool + identity.user, password: password, salt: Natural(salt)),
      clientValue: Natural(clientValue), secret: Natural(secret), secretBlock: "AAAA")
  }

  /// B, in hexadecimal.
  var serverValue: String { exchange.serverValue.hexadecimalText }

  /// What signs the client's proof.
  var key: [UInt8] { exchange.signingKey }

  /// g to this power.
  static func power(_ exponent: [UInt8]) -> [UInt8] {
    padded(SRPGroup.power(SRPGroup.generator, Natural(exponent)))
  }

  /// k times one number, and another.
  static func multiplied(_ number: [UInt8], plus other: [UInt8] = []) -> [UInt8] {
    padded(SRPGroup.multiply(SRPGroup.multiplier, Natural(number), adding: Natural(other)))
  }

  /// As long as N.
  private static func padded(_ number: Natural) -> [UInt8] {
    [UInt8](repeating: 0, count: SRPGroup.prime.bytes.count - number.bytes.count) + number.bytes
  }
}
