/// A token that the endpoint requires in addition to the kernel's report:
/// `credd1.KIND.KEY.NONCE.MAC`.
///
/// It names neither its owner nor its profile. When credd checks a token, it knows both from the
/// connection and the path, and both are in the HMAC. credd stores nothing for a token: a token
/// lives as long as its unit, over restarts of credd, and nobody reports the end of a unit.
public struct EndpointToken: Sendable, Redacted {
  private static let version = "credd1"
  private static let nonceBytes = 24

  public enum Kind: Sendable { case user, unit }

  public let kind: Kind
  /// See ``TokenKey/id``.
  let keyID: [UInt8]
  /// 16 random bytes, and the time of issue in seconds since 1970.
  let nonce: [UInt8]
  let code: [UInt8]

  /// Returns nil for any text that credd did not write.
  public init?(_ text: Secret) {
    guard text.count <= Limits.Endpoint.tokenBytes else { return nil }
    let parts = text.bytes.split(
      separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 5, parts[0].elementsEqual(Self.version.utf8), parts[1].count == 1,
      let keyID = Base64.decode(parts[2], .url), keyID.count == TokenKey.idBytes,
      let nonce = Base64.decode(parts[3], .url), nonce.count == Self.nonceBytes,
      let code = Base64.decode(parts[4], .url), code.count == 32
    else { return nil }
    switch parts[1][parts[1].startIndex] {
    case UInt8(ascii: "u"): kind = .user
    case UInt8(ascii: "s"): kind = .unit
    default: return nil
    }
    self.keyID = keyID
    self.nonce = nonce
    self.code = code
    // Each token has only one spelling.
    guard self.text.bytes == text.bytes else { return nil }
  }

  fileprivate init(_ owner: TokenOwner, keyID: [UInt8], nonce: [UInt8], code: [UInt8]) {
    switch owner {
    case .user: kind = .user
    case .unit: kind = .unit
    }
    self.keyID = keyID
    self.nonce = nonce
    self.code = code
  }

  /// Letters, digits, `.`, `_` and `-`, without a newline: some SDKs send the file as it is.
  public var text: Secret {
    let parts: [[UInt8]] = [
      Array(Self.version.utf8), [kind == .user ? UInt8(ascii: "u") : UInt8(ascii: "s")],
      Base64.encodeURL(keyID), Base64.encodeURL(nonce), Base64.encodeURL(code),
    ]
    return Secret(Array(parts.joined(separator: [UInt8(ascii: ".")])))
  }

  fileprivate static func message(
    _ owner: TokenOwner, _ profile: String, keyID: [UInt8], nonce: [UInt8]
  ) -> [UInt8] {
    let parts: [[UInt8]] = [
      Array(version.utf8), keyID, [owner.kind], owner.name, Array(profile.utf8), nonce,
    ]
    // The lengths of the parts are included, so that two different lists of parts never give the
    // same bytes.
    return parts.flatMap { part -> [UInt8] in
      [UInt8(truncatingIfNeeded: part.count >> 8), UInt8(truncatingIfNeeded: part.count)] + part
    }
  }
}

/// The key for the tokens of this boot. It is only in memory and in the runtime directory.
public struct TokenKey: Sendable, Equatable, Redacted {
  /// The size of its file.
  public static let bytes = 32
  static let idBytes = 6

  private let key: Secret
  /// Distinguishes tokens of this key from tokens of another key. It is no secret.
  let id: [UInt8]

  /// - Parameter bytes: must be 32 bytes; otherwise the result is nil.
  public init?(_ bytes: Secret, _ digests: some Digests) {
    guard bytes.count == Self.bytes else { return nil }
    key = bytes
    id = Array(
      digests.hmacSHA256(key: bytes.bytes, message: Array("credd token key".utf8))
        .prefix(Self.idBytes))
  }

  /// A new token.
  public func token(
    of owner: TokenOwner, for profile: String, at time: WallTime,
    _ random: inout some RandomNumberGenerator, _ digests: some Digests
  ) -> EndpointToken {
    let seconds = UInt64(clamping: time.milliseconds / 1000)
    let words: [UInt64] = [random.next(), random.next(), seconds]
    let nonce = words.flatMap { word -> [UInt8] in
      (0..<8 as Range<UInt64>).reversed().map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }
    let message = EndpointToken.message(owner, profile, keyID: id, nonce: nonce)
    return EndpointToken(
      owner, keyID: id, nonce: nonce,
      code: digests.hmacSHA256(key: key.bytes, message: message))
  }

  /// The result of checking a token in a request.
  public enum Verdict: Sendable, Equatable {
    case opens
    /// The token is from another boot, or its key was removed.
    case ofAnotherKey
    /// The token was given to another user or unit, or for another profile, or it is forged.
    case notTheirs
  }

  /// Checks a token. The time that takes does not depend on the token.
  ///
  /// - Parameter unit: the caller's unit; nil if it has none, or if the kernel did not name it.
  public func check(
    _ token: EndpointToken, ofUser uid: UInt32, unit: String?, for profile: String,
    _ digests: some Digests
  ) -> Verdict {
    guard token.keyID == id else { return .ofAnotherKey }
    let owner: TokenOwner
    switch token.kind {
    case .user: owner = .user(uid)
    case .unit:
      guard let unit else { return .notTheirs }
      owner = .unit(unit)
    }
    let message = EndpointToken.message(owner, profile, keyID: id, nonce: token.nonce)
    let code = digests.hmacSHA256(key: key.bytes, message: message)
    return code.isEqual(to: token.code.span) ? .opens : .notTheirs
  }
}
