/// The side that proves a secret: a user proves a password, a device proves the device's secret.
public struct SRPIdentity: Sendable, Equatable {
  /// The pool's name, or the device group's key.
  let group: String
  /// USER_ID_FOR_SRP, or the device's key.
  let name: String
  let password: Secret

  /// - Parameters:
  ///   - userID: USER_ID_FOR_SRP of the challenge, which may differ from the name that was typed.
  ///   - password: the password as typed. Like the SDKs, credd neither trims nor normalises it.
  public static func user(_ userID: String, of pool: UserPoolID, password: Secret) -> SRPIdentity {
    SRPIdentity(group: pool.name, name: userID, password: password)
  }

  public static func device(_ device: DeviceSecret) -> SRPIdentity {
    SRPIdentity(group: device.groupKey, name: device.key, password: device.password)
  }

  /// `x = H(pad(salt) | H(group + name + ":" + password))`.
  func passwordHash(salt: SRPInteger, digests: some Digests) -> Secret {
    var text = Array(group.utf8) + Array(name.utf8)
    text.append(UInt8(ascii: ":"))
    password.append(to: &text)
    // The inner hash has 32 bytes, even if it begins with a zero.
    return Secret(digests.sha256(salt.padded + digests.sha256(text)))
  }
}

/// The proof, in the form of the response to the challenge.
public struct SRPClaim: Sendable, Equatable {
  /// PASSWORD_CLAIM_SECRET_BLOCK, as received.
  let secretBlock: Secret
  /// PASSWORD_CLAIM_SIGNATURE, in base64.
  let signature: Secret
  /// TIMESTAMP.
  let timestamp: String
}

extension SRPKeyPair {
  /// The proof. Computes powers: call it on a thread.
  ///
  /// - Parameter now: the server's time. The server accepts a difference of some minutes.
  /// - Throws: if, with the server's value, the secret would not depend on the password.
  public func claim(
    _ identity: SRPIdentity, _ challenge: SRPChallenge, at now: WallTime, crypto: some SRPCrypto
  ) throws(SRPError) -> SRPClaim {
    let key = try claimKey(identity, challenge, crypto)
    // Made once, so that the signed bytes equal the sent bytes.
    let timestamp = now.userPoolTimestamp
    let message =
      Array(identity.group.utf8) + Array(identity.name.utf8) + challenge.decodedSecretBlock.bytes
      + Array(timestamp.utf8)
    let signature = crypto.hmacSHA256(key: key.bytes, message: message)
    return SRPClaim(
      secretBlock: challenge.secretBlock, signature: Secret(Base64.encode(signature)),
      timestamp: timestamp)
  }

  /// `HKDF(pad(S), salt: pad(u))`: the 16 bytes that sign.
  func claimKey(
    _ identity: SRPIdentity, _ challenge: SRPChallenge, _ crypto: some SRPCrypto
  ) throws(SRPError) -> Secret {
    let hash = crypto.sha256(publicValue.padded + challenge.serverValue.padded)
    let scramble = SRPInteger(hash)
    guard !scramble.isZero else { throw .zeroScramble }
    let terms = SRPTerms(
      privateValue: privateValue.bytes,
      serverValue: challenge.serverValue.bytes(SRPGroup.byteCount), scramble: Secret(hash),
      passwordHash: identity.passwordHash(salt: challenge.salt, digests: crypto))
    guard let secret = crypto.sharedSecret(terms).map({ SRPInteger($0.bytes) }), !secret.isZero
    else { throw .zeroSecret }
    return Self.derivedKey(of: secret, salt: scramble, crypto)
  }

  /// RFC 5869 with SHA-256; only one block is needed.
  private static func derivedKey(
    of secret: SRPInteger, salt: SRPInteger, _ digests: some Digests
  ) -> Secret {
    let extracted = digests.hmacSHA256(key: salt.padded, message: secret.padded)
    let block = digests.hmacSHA256(
      key: extracted, message: Array("Caldera Derived Key".utf8) + [1])
    return Secret(Array(block.prefix(16)))
  }
}
