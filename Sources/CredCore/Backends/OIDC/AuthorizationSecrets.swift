/// What one sign-in by browser is recognised by. It is drawn anew for each and never leaves the
/// daemon but in the URL and the request for which it is.
public struct AuthorizationSecrets: Sendable, Equatable, Redacted {
  /// Comes back in the browser's response: 256 bits in base64url, which every provider leaves as it is.
  public let state: Secret
  /// Comes back in the ID token.
  public let nonce: Secret
  /// The `code_verifier` of PKCE (RFC 7636, 4.1): 43 characters. Whoever has the code alone gets no
  /// tokens.
  public let verifier: Secret

  public init(using generator: inout some RandomNumberGenerator) {
    state = Self.drawn(&generator)
    nonce = Self.drawn(&generator)
    verifier = Self.drawn(&generator)
  }

  /// For known answers.
  init(state: Secret, nonce: Secret, verifier: Secret) {
    self.state = state
    self.nonce = nonce
    self.verifier = verifier
  }

  private static func drawn(_ generator: inout some RandomNumberGenerator) -> Secret {
    Secret(Base64.encodeURL(.random(32, using: &generator)))
  }

  /// `code_challenge` by the method S256.
  public func challenge(digests: some Digests) -> String {
    PKCE.challenge(of: verifier, digests: digests)
  }
}

/// Proof Key for Code Exchange (RFC 7636), by the method S256 alone.
public enum PKCE {
  public static func challenge(of verifier: Secret, digests: some Digests) -> String {
    String(decoding: Base64.encodeURL(digests.sha256(verifier.bytes)), as: UTF8.self)
  }
}

extension Secret {
  /// Whether both are the same bytes. The time does not tell where they differ.
  func isSame(as other: [UInt8]) -> Bool { bytes.isEqual(to: other.span) }
}
