import CredCore

/// The content of a sign-out for a backend, taken before the session drops it.
package struct BackendSignOut: Sendable {
  let id: CallID
  let key: SessionKey
  let profile: Profile
  let user: UnixUser
  let identityID: IdentityID?
  let backendSession: BackendSession?
  private(set) var providerSession: ProviderSession?
  /// Whether the user is signed out on all hosts, or this session alone ends.
  let isGlobal: Bool

  /// Of a session's tokens that are not of its own sign-in, such as the linked one.
  init(_ id: CallID, _ session: Session, ofOther tokens: ProviderSession, isGlobal: Bool) {
    let user = UnixUser(uid: session.key.uid, name: session.userName)
    let giver = session.profile.giving(tokens)
    self.init(id, session.key, giver, user, of: tokens, isGlobal: isGlobal)
  }

  /// Of tokens alone, wherever they were held.
  init(
    _ id: CallID, _ key: SessionKey, _ profile: Profile, _ user: UnixUser, of pool: ProviderSession,
    isGlobal: Bool = false
  ) {
    (self.id, self.key, self.profile, self.user) = (id, key, profile, user)
    (identityID, backendSession, providerSession, self.isGlobal) = (nil, nil, pool, isGlobal)
  }

  /// - Parameters:
  ///   - tokens: those that are to end; nil for the session's own.
  ///   - profile: whose backend gave them; nil for the session's own.
  init(
    _ id: CallID, _ session: Session, isGlobal: Bool, tokens: ProviderSession? = nil,
    of profile: Profile? = nil
  ) {
    self.id = id
    self.isGlobal = isGlobal
    providerSession = tokens ?? session.machine.state.providerSession
    key = session.key
    self.profile = profile ?? session.profile
    user = UnixUser(uid: session.key.uid, name: session.userName)
    identityID = session.machine.identityForBackend
    backendSession =
      switch session.machine.state {
      case .signedIn(.password(let known)), .tokensInvalid(.password(let known)): known
      default: nil
      }
  }
}

extension BackendSignOut {
  /// With the tokens that a renewal brought meanwhile.
  func continued(by outcome: UpstreamOutcome, at now: Instant) -> BackendSignOut {
    var next = self
    next.providerSession = providerSession?.continued(by: outcome, at: now)
    return next
  }
}
