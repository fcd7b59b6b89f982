/// The keys and the password of a device that a user pool remembers. It takes the place of a second
/// factor, so it is kept like a password.
public struct DeviceSecret: Sendable, Equatable {
  /// Random bytes of the password.
  private static let passwordBytes = 40

  public let key: String
  public let groupKey: String
  /// The password as text. It never leaves this host.
  public let password: Secret

  /// Restores a stored device.
  public init(key: String, groupKey: String, password: Secret) {
    self.key = key
    self.groupKey = groupKey
    self.password = password
  }

  /// Makes a device that the pool has just named, with a new password.
  public init(_ device: NewDevice, using generator: inout some RandomNumberGenerator) {
    let bytes = [UInt8].random(Self.passwordBytes, using: &generator)
    self.init(
      key: device.key, groupKey: device.groupKey, password: Secret(Base64.encode(bytes)))
  }

  /// The verifier that the pool gets instead of the password. Computes a power: call it on a
  /// thread.
  public func verifier(salt: DeviceSalt, crypto: some SRPCrypto) -> DeviceVerifier {
    let hash = SRPIdentity.device(self).passwordHash(salt: salt.number, digests: crypto)
    let verifier = SRPInteger(crypto.power(hash).bytes)
    return DeviceVerifier(
      salt: Secret(Base64.encode(salt.number.padded)),
      passwordVerifier: Secret(Base64.encode(verifier.padded)))
  }
}

/// NewDeviceMetadata.
public struct NewDevice: Sendable, Equatable {
  public let key: String
  public let groupKey: String

  /// Returns nil if the reply names no device.
  init?(_ value: JSONValue?) throws(InvalidInput) {
    guard let value, value != .null else { return nil }
    key = try DeviceKey.checked(value.requiredText("DeviceKey"))
    groupKey = try value.requiredText("DeviceGroupKey")
    guard groupKey.utf8.count <= Limits.UserPool.groupKeyLength,
      groupKey.utf8.allSatisfy(\.isVisible)
    else {
      throw InvalidInput(field: "DeviceGroupKey", reason: "is too long or not printable ASCII")
    }
  }
}

/// The salt of a device's password.
public struct DeviceSalt: Sendable, Equatable {
  private static let byteCount = 16

  let number: SRPInteger

  public init(using generator: inout some RandomNumberGenerator) {
    number = SRPInteger([UInt8].random(Self.byteCount, using: &generator))
  }

  /// For tests with known answers.
  init(known: SRPInteger) {
    number = known
  }
}

/// DeviceSecretVerifierConfig of ConfirmDevice. Both members are base64.
public struct DeviceVerifier: Sendable, Equatable {
  let salt: Secret
  let passwordVerifier: Secret
}

extension [UInt8] {
  static func random(_ count: Int, using generator: inout some RandomNumberGenerator) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }
}
