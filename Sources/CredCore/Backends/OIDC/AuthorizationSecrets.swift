/// The secrets by which one sign-in by browser is recognised. They are drawn anew for each sign-in.
/// Each leaves the daemon only in the URL or the request that needs it.
public struct AuthorizationSecrets: Sendable, Equatable, Redacted {
  /// Comes back in the browser's response: 256 bits in base64url, which no provider changes.
  public let state: Secret
  /// Comes back in the ID token.
  public let nonce: Secret
  /// The `code_verifier` of PKCE (RFC 7636, 4.1): 43 characters. Nobody gets tokens with the code
  /// alone.
  public let verifier: Secret

  public init(using generator: inout some RandomNumberGenerator) {
    state = Self.drawn(&generator)
    nonce = Self.drawn(&generator)
    verifier = Self.drawn(&generator)
  }

  /// For tests with known answers.
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

/// Proof Key for Code Exchange (RFC 7636), only by the method S256.
public enum PKCE {
  public static func challenge(of verifier: Secret, digests: some Digests) -> String {
    String(decoding: Base64.encodeURL(digests.sha256(verifier.bytes)), as: UTF8.self)
  }
}

extension Secret {
  /// Whether both are the same bytes. The time of the comparison does not show where they differ.
  func isSame(as other: [UInt8]) -> Bool { bytes.isEqual(to: other.span) }
}
