import FoundationEssentials

/// What a user signed in with: a provider and the user's name there.
struct Login: Hashable, Sendable {
  var provider: String
  var subject: String
}

/// One identity of an identity pool.
struct Identity: Sendable {
  let id: String
  /// Developer and public logins alike. Empty for a guest.
  var logins: Set<Login> = []
  /// The identity has lost its last login, which closes it for ever.
  var isClosed = false
  /// Where the identity went when it was merged into another.
  var mergedInto: String?

  /// Never signed in.
  var isGuest: Bool { logins.isEmpty && !isClosed && mergedInto == nil }
}
