/// `a`, which one exchange uses. It is drawn on the loop; computations with it run on a thread.
public struct SRPPrivateValue: Sendable, Equatable {
  /// 256 bits, as in the iOS SDK, and twice the strength of the group.
  static let byteCount = 32

  let bytes: Secret

  /// Draws a value from 1 on.
  public init(using generator: inout some RandomNumberGenerator) {
    var bytes: [UInt8]
    repeat {
      bytes = .random(Self.byteCount, using: &generator)
    } while bytes.allSatisfy { $0 == 0 }
    self.bytes = Secret(bytes)
  }

  /// For tests with known answers.
  init(known: SRPInteger) {
    bytes = known.magnitude
  }
}

/// `a` and `A = g^a mod N`.
public struct SRPKeyPair: Sendable, Equatable {
  let privateValue: SRPPrivateValue
  /// `A`, which is never zero: the prime does not divide a power of 2.
  public let publicValue: SRPInteger

  /// Computes a power: call it on a thread.
  public init(_ privateValue: SRPPrivateValue, arithmetic: some SRPArithmetic) {
    self.privateValue = privateValue
    publicValue = SRPInteger(arithmetic.power(privateValue.bytes).bytes)
  }
}

/// The server's part of PASSWORD_VERIFIER and DEVICE_PASSWORD_VERIFIER.
public struct SRPChallenge: Sendable, Equatable {
  /// The most bytes of a salt: four times as many as Cognito uses.
  static let longestSalt = 64

  let salt: SRPInteger
  /// `B`, from 1 to N - 1.
  let serverValue: SRPInteger
  /// The block as received, because it goes back in this form.
  let secretBlock: Secret
  /// The decoded block, because the signature covers this form.
  let decodedSecretBlock: Secret

  /// Reads the parameters SALT, SRP_B and SECRET_BLOCK.
  ///
  /// - Throws: if a parameter is missing, malformed or too long, or if B would let the server know
  ///   the secret without the password.
  public init(salt: Secret?, serverValue: Secret?, secretBlock: Secret?) throws(SRPError) {
    self.salt = try SRPInteger(
      hexadecimal: Self.required(salt, "SALT"), "SALT", atMost: Self.longestSalt)
    self.serverValue = try SRPInteger(
      hexadecimal: Self.required(serverValue, "SRP_B"), "SRP_B", atMost: SRPGroup.byteCount)
    // Numbers of the same length compare like their bytes.
    guard !self.serverValue.isZero,
      self.serverValue.bytes(SRPGroup.byteCount).bytes.lexicographicallyPrecedes(SRPGroup.prime)
    else { throw .serverValueOutOfRange }
    let block = try Self.required(secretBlock, "SECRET_BLOCK")
    guard block.count <= Limits.UserPool.secretBlockBytes else { throw .tooLong("SECRET_BLOCK") }
    guard let decoded = Base64.decode(block, .standard), !decoded.isEmpty else {
      throw .notBase64("SECRET_BLOCK")
    }
    self.secretBlock = Secret(block)
    decodedSecretBlock = Secret(decoded)
  }

  private static func required(_ value: Secret?, _ name: String) throws(SRPError) -> [UInt8] {
    guard let value, !value.isEmpty else { throw .missing(name) }
    return value.bytes
  }
}
