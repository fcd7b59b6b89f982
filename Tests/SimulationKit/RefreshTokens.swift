/// The refresh tokens of one sign-in at a user pool, as the pool knows them: which it accepts, and
/// what came of those that it replaced.
public struct RefreshTokens<Token: Hashable & Sendable>: Sendable {
  public enum Renewal: Sendable {
    case refused
    /// The token stays.
    case kept
    case replaced(by: Token)
  }

  /// Whether each renewal brings another refresh token, and the former one is dead.
  public var rotates = false
  /// Whether a token that was replaced is good until its successor is used.
  public var hasGrace = true
  /// The tokens that are accepted.
  public private(set) var live: Set<Token>
  /// Renewals with a token that was replaced or revoked.
  public private(set) var misuses = 0

  public init(_ first: Token) {
    live = [first]
  }

  /// A renewal with a token.
  public mutating func renew(_ token: Token, next: () -> Token) -> Renewal {
    guard live.contains(token) else {
      misuses += 1
      return .refused
    }
    guard rotates else { return .kept }
    let successor = next()
    // The grace period of the one before ends with the next renewal.
    live = hasGrace ? [token, successor] : [successor]
    return .replaced(by: successor)
  }

  public mutating func revoke(_ token: Token) { live.remove(token) }

  public mutating func revokeAll() { live = [] }
}
