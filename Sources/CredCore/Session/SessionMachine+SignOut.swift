extension SessionMachine {
  /// Forgets everything; what is under way is no longer awaited.
  mutating func signOut(_ turn: inout Turn) {
    abandonSignIn(
      ProtocolError(.signInFailed, "a logout of the same profile came in between"), &turn)
    forgetUser(&turn)
  }

  /// Nothing of the user is left.
  mutating func forgetUser(_ turn: inout Turn) {
    rest()
    forgetVouchers()
    forgetCredentials(&turn)
    held.username = nil
    held.customRoleARN = nil
    forgetIdentity(&turn)
    become(.signedOut(byUser: true), &turn)
  }

  /// Nothing of the person before is left; the new one never signed out, and may sign in unattended.
  mutating func changeUser(_ turn: inout Turn) {
    signOut(&turn)
    held.state = .signedOut(byUser: false)
  }

  /// `credentials` is the mobile SDKs' clearCredentials, `identity` their clearKeychain.
  mutating func clear(_ scope: ClearScope, _ turn: inout Turn) {
    if let progress = signIn {
      // On its way it fetches everything anew in any case. One that may yet be refused must not
      // bring back what was to be forgotten.
      guard !progress.isAccepted else { return }
      abandonSignIn(
        ProtocolError(.signInFailed, "a clear of the same profile came in between"), &turn)
    }
    forgetCredentials(&turn)
    // Whatever is on its way was asked for before.
    if case .fetching = work { stopRefresh() }
    guard scope == .identity else { return }
    rest()
    forgetVouchers()
    forgetIdentity(&turn)
    switch held.state {
    case .signedIn(.developerToken), .signedIn(.logins), .tokensInvalid:
      become(.signedOut(byUser: false), &turn)
    case .guest:
      // Where something else works unattended, a guest is who signed out of it.
      become(.signedOut(byUser: plan.worksUnattended), &turn)
    case .signedIn(.host), .signedIn(.tokenFile), .signedIn(.password), .signedOut:
      // These vouch for the user again without anything that was forgotten.
      break
    }
  }

  /// Callers that only a sign-in could help are told so now.
  mutating func release(_ turn: inout Turn) {
    guard signIn == nil else { return }
    let released = waiters.filter(needsSignIn)
    waiters.removeAll(where: needsSignIn)
    for waiter in released { turn.actions.append(.refuse(waiter.id, signInRequired)) }
  }

  mutating func rest() {
    stopRefresh()
    held.backOff = BackOff()
  }

  /// What is under way is no longer awaited; failures still count.
  mutating func stopRefresh() {
    work = .idle
    held.pause = nil
  }

  mutating func forgetVouchers() {
    held.token = nil
    held.logins = LoginsMap()
    held.loginExpirations.removeAll()
  }

  mutating func forgetCredentials(_ turn: inout Turn) {
    guard held.credentials != nil else { return }
    held.credentials = nil
    turn.actions.append(.credentialsChanged)
  }

  // MARK: Vouchers that run out

  /// Whether what runs out is of interest: not what is refused already, and not what may never be
  /// accepted.
  private var awaitsExpirations: Bool {
    if case .tokensInvalid = held.state { return false }
    return signIn?.isAccepted ?? true
  }

  /// When to say that what the user signed in with runs out.
  var expiryWarning: Instant? { awaitsExpirations ? held.loginExpirations.nextWarning : nil }

  mutating func warnOfExpiry(_ turn: inout Turn) {
    guard awaitsExpirations else { return }
    for (provider, end) in held.loginExpirations.takeWarnings(at: turn.now) {
      let left = max(Int((end - turn.now).inSeconds), 0)
      let message = "the token of \(provider) runs out in \(left) s; sign in with a new one"
      turn.actions.append(.announce(.expiring(ProtocolError(.tokenRejected, message))))
    }
  }

  /// Cognito refuses a request for one login that is over, though the others are good, and though
  /// the login has long been linked to what a backend vouches for.
  mutating func dropLoginsOver(at now: Instant) {
    let kept = held.state == .signedIn(.logins) || held.state == .tokensInvalid(.logins) ? 1 : 0
    for provider in held.loginExpirations.over(at: now) where held.logins.logins.count > kept {
      held.logins.remove(provider)
      held.loginExpirations.remove(provider)
    }
  }
}

extension SessionMachine {
  /// The profile's configuration is another one. Who waits goes on waiting, for what comes of it.
  mutating func changeProfile(_ next: SessionPlan, _ change: ProfileChange, _ turn: inout Turn) {
    switch change {
    case .nothingHeld: break
    case .credentials: dropWhatTheOldProfileGave(&turn)
    case .identity: beginAnew(&turn)
    }
    plan = next
    // A pause was for what may be mended now.
    if work == .idle, held.pause != nil { rest() }
    guard signIn != nil, work == .idle else { return }
    start(&turn)
    // The new plan may have no way to go on with it.
    if work == .idle { abandonSignIn(signInRequired, &turn) }
  }

  private mutating func dropWhatTheOldProfileGave(_ turn: inout Turn) {
    forgetCredentials(&turn)
    // What a sign-in that is refused goes back to.
    signIn?.before.credentials = nil
    // What is under way was asked for in the old way; a password is asked about once, and what
    // comes after it is asked in the new way.
    if case .fetching = work, !awaitsPassword { rest() }
  }

  private mutating func beginAnew(_ turn: inout Turn) {
    abandonSignIn(
      ProtocolError(.signInFailed, "the profile's configuration changed in between"), &turn)
    let byUser = held.state == .signedOut(byUser: true)
    forgetUser(&turn)
    // Nobody signed out here, but who did before stays so.
    held.state = .signedOut(byUser: byUser)
  }
}

/// What a change of its profile's configuration means for a session.
public enum ProfileChange: Sendable, Equatable {
  /// Nothing that the session holds depends on what changed.
  case nothingHeld
  /// The credentials are no longer what the profile would give: fetched anew. The user stays.
  case credentials
  /// The user would be another one, or known by other means: the session begins anew.
  case identity
}

extension Profile {
  /// What a session of this profile may keep when the profile is `next` from now on: the same as
  /// across a restart.
  public func change(to next: Profile) -> ProfileChange {
    if identityFingerprint != next.identityFingerprint { return .identity }
    return credentialsFingerprint == next.credentialsFingerprint ? .nothingHeld : .credentials
  }
}
