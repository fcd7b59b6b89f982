import CredCore

/// The content of a sign-out for a backend, copied before the session drops it.
package struct BackendSignOut: Sendable {
  let id: CallID
  let key: SessionKey
  let profile: Profile
  let user: UnixUser
  let identityID: IdentityID?
  let backendSession: BackendSession?
  private(set) var providerSession: ProviderSession?
  /// Whether the user is signed out on all hosts; if not, only this session ends.
  let isGlobal: Bool
  /// Whether a user pool ends the browser's session too, through which the sign-in came.
  private(set) var endsSSO = false

  /// Signs out tokens that do not come from the session's sign-in, such as tokens of the linked
  /// sign-in.
  init(_ id: CallID, _ session: Session, ofOther tokens: ProviderSession, isGlobal: Bool) {
    let user = UnixUser(uid: session.key.uid, name: session.userName)
    let giver = session.profile.giving(tokens)
    self.init(id, session.key, giver, user, of: tokens, isGlobal: isGlobal)
  }

  /// Signs out tokens, wherever they were held.
  init(
    _ id: CallID, _ key: SessionKey, _ profile: Profile, _ user: UnixUser, of pool: ProviderSession,
    isGlobal: Bool = false
  ) {
    (self.id, self.key, self.profile, self.user) = (id, key, profile, user)
    (identityID, backendSession, providerSession, self.isGlobal) = (nil, nil, pool, isGlobal)
  }

  /// - Parameters:
  ///   - tokens: the tokens to revoke; nil for the session's tokens.
  ///   - profile: the profile with the backend that gave the tokens; nil for the session's profile.
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
  func withSSO(_ ends: Bool) -> BackendSignOut {
    var next = self
    next.endsSSO = ends
    return next
  }

  /// This sign-out with the tokens that a renewal brought meanwhile.
  func continued(by outcome: UpstreamOutcome, at now: Instant) -> BackendSignOut {
    var next = self
    next.providerSession = providerSession?.continued(by: outcome, at: now)
    return next
  }
}
