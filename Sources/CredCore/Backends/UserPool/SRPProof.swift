/// Who proves to know what: a user a password, or a device its secret.
public struct SRPIdentity: Sendable, Equatable {
  /// The pool's name, or the device group's key.
  let group: String
  /// USER_ID_FOR_SRP, or the device's key.
  let name: String
  let password: Secret

  /// - Parameters:
  ///   - userID: USER_ID_FOR_SRP of the challenge, which may differ from the name that was typed.
  ///   - password: as typed: neither trimmed nor normalised, which no SDK does.
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
    // The inner hash is 32 bytes, even where it begins with a zero.
    return Secret(digests.sha256(salt.padded + digests.sha256(text)))
  }
}

/// The proof, as the response to the challenge carries it.
public struct SRPClaim: Sendable, Equatable {
  /// PASSWORD_CLAIM_SECRET_BLOCK: as received.
  let secretBlock: Secret
  /// PASSWORD_CLAIM_SIGNATURE, in base64.
  let signature: Secret
  /// TIMESTAMP.
  let timestamp: String
}

extension SRPKeyPair {
  /// The proof. Computes powers: call it on a thread.
  ///
  /// - Parameter now: the server's time, which it compares with its own within minutes.
  /// - Throws: if the server's value makes a secret that does not depend on the password.
  public func claim(
    _ identity: SRPIdentity, _ challenge: SRPChallenge, at now: WallTime, crypto: some SRPCrypto
  ) throws(SRPError) -> SRPClaim {
    let key = try claimKey(identity, challenge, crypto)
    // Taken once, so that the bytes that are signed are those that are sent.
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

  /// RFC 5869 with SHA-256, one block of it.
  private static func derivedKey(
    of secret: SRPInteger, salt: SRPInteger, _ digests: some Digests
  ) -> Secret {
    let extracted = digests.hmacSHA256(key: salt.padded, message: secret.padded)
    let block = digests.hmacSHA256(
      key: extracted, message: Array("Caldera Derived Key".utf8) + [1])
    return Secret(Array(block.prefix(16)))
  }
}
