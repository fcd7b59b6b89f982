import CredCore

/// For which profiles endpoint tokens were given to a user or unit, so that the owner of a refused token
/// can be told which profile it is for. A token itself says nothing of that.
///
/// Only messages depend on it. It is bounded, and a restart of the daemon empties it.
struct GivenTokens {
  static let owners = 1024
  static let profilesOfOwner = 4

  private var profiles: [TokenOwner: [String]] = [:]
  /// The owners in the order of their first token.
  private var order: ArraySlice<TokenOwner> = []

  /// Notes a token. The last profiles of an owner and the last owners stay.
  mutating func note(_ profile: String, to owner: TokenOwner) {
    if profiles[owner] == nil {
      order.append(owner)
      if order.count > Self.owners { profiles[order.removeFirst()] = nil }
    }
    let others = (profiles[owner] ?? []).filter { $0 != profile }
    profiles[owner] = others.suffix(Self.profilesOfOwner - 1) + [profile]
  }

  /// The profile for which a token was given to its present bearer; nil if it was given to somebody else,
  /// or too long ago.
  func profile(
    of token: EndpointToken, ofUser uid: UInt32, unit: String?, _ lock: EndpointLock
  ) -> String? {
    let owner: TokenOwner? =
      switch token.kind {
      case .user: .user(uid)
      case .unit: unit.map(TokenOwner.unit)
      }
    guard let owner else { return nil }
    return profiles[owner]?.first {
      lock.key.check(token, ofUser: uid, unit: unit, for: $0, lock.digests) == .opens
    }
  }
}
