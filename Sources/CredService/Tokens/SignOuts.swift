import CredCore

/// `logout` and `clear`: drop state of a session, and tell its backend.
final class SignOuts {
  private let host: Host
  private let clients: Clients
  private let sessions: SessionTable
  private let derived: DerivedSessions
  private let tokens: Tokens
  private let devices: Devices
  private let signIns: SignIns
  private let limits: UserLimits
  private let journal: Journal

  init(
    host: Host, clients: Clients, sessions: SessionTable, derived: DerivedSessions, tokens: Tokens,
    devices: Devices, signIns: SignIns, limits: UserLimits, journal: Journal
  ) {
    self.host = host
    self.clients = clients
    self.sessions = sessions
    self.derived = derived
    self.tokens = tokens
    self.devices = devices
    self.signIns = signIns
    self.limits = limits
    self.journal = journal
  }

  // MARK: What they need

  /// The sign-out must be stored if the user would otherwise be signed in again without being
  /// asked.
  func need(of profile: Profile?, by uid: UInt32, global: Bool) -> SessionNeed {
    guard let profile, !global, !profile.plan.worksUnattended, devices[uid] == nil
    else { return .session }
    return .change
  }

  func needOfClear(by uid: UInt32) -> SessionNeed { devices[uid] == nil ? .change : .session }

  // MARK: clear

  func clear(_ scope: ClearScope, _ session: Session, _ turn: Turn) {
    if let error = limits.refusalOfCall(by: session.key.uid) { return turn.refuse(error) }
    guard sessions.contains(session) else { return turn.giveState(of: session) }
    if scope == .identity { signIns.end(of: session.key, Self.signedOutMeanwhile) }
    let poolUser = devices.poolUser(of: session)
    sessions.handle(.cleared(scope), session, turn.now, .request(turn.client))
    derived.clear(from: session)
    if scope == .identity { devices.forgetAll(of: session, username: poolUser) }
    turn.giveState(of: session)
  }

  // MARK: logout

  /// Drops everything at once. With `global`, ends the user's sessions at the backend before the
  /// answer. Else revokes a refresh token in the background, unless the client wants it to live.
  func signOut(_ logout: LogoutRequest, _ session: Session, _ turn: Turn) {
    if let error = session.profile.refusal(of: logout) { return turn.refuse(error) }
    let (global, revoke) = (logout.global, logout.revoke)
    guard sessions.contains(session) else {
      journal.signedOut(session, turn.requester, global: global)
      return turn.giveState(of: session)
    }
    let profile = session.profile
    let held = session.machine.providerSessions
    let own = held.first { $0.issuer == profile.plan.backend.issuer }
    let signOut =
      global || revoke && own != nil
      ? BackendSignOut(sessions.nextCallID(), session, isGlobal: global, tokens: own)
        .withSSO(logout.sso) : nil
    // Set only if a browser may have a session at the provider.
    let page = logoutPage(of: session)
    // The linked sign-in, and the sign-in that is being replaced by a sign-in under way.
    let others = (revoke || global ? held : []).filter { $0 !== own }.map {
      BackendSignOut(sessions.nextCallID(), session, ofOther: $0, isGlobal: global)
        .withSSO(logout.sso)
    }
    let renewal = session.machine.renewalCall
    if let renewal, !revoke { tokens.leaveAlone(renewal) }
    dropAll(of: session, turn, global: global)
    for other in others {
      tokens.afterRenewal(renewal, other) { [unowned tokens] in tokens.revoke($0) }
    }
    guard let signOut else { return turn.giveState(of: session, logoutURL: page) }
    guard global else {
      tokens.afterRenewal(renewal, signOut) { [unowned tokens] in tokens.revoke($0) }
      return turn.giveState(of: session, logoutURL: page)
    }
    if let error = refusalOfGlobal(profile, session) { return turn.refuse(error) }
    limits.callSpent(by: session.key.uid)
    turn.wait(for: signOut.id)
    tokens.afterRenewal(renewal, signOut) { [unowned self, id = turn.client.id] signOut in
      host.upstream.signOut(signOut) { [unowned self] failure in
        globalEnded(signOut, page, id, failure)
      }
    }
  }

  private func dropAll(of session: Session, _ turn: Turn, global: Bool) {
    let poolUser = devices.poolUser(of: session)
    journal.signedOut(session, turn.requester, global: global)
    signIns.end(of: session.key, Self.signedOutMeanwhile)
    signOutHere(session, turn.now)
    if global { devices.forgetAll(of: session, username: poolUser) }
  }

  /// Drops everything. The journal has another entry for the request.
  func signOutHere(_ session: Session, _ now: Instant) {
    sessions.handle(.loggedOut, session, now, .signOut)
  }

  /// The page that ends the browser's own session, if the user may have signed in by a browser.
  private func logoutPage(of session: Session) -> String? {
    guard !session.machine.providerSessions.isEmpty else { return nil }
    return host.upstream.logoutURL(of: session.profile.signInProfile)
  }

  private static let signedOutMeanwhile = ProtocolError(
    .signInFailed, "the user has signed out meanwhile")

  // MARK: A global sign-out

  private func refusalOfGlobal(_ profile: Profile, _ session: Session) -> ProtocolError? {
    guard profile.reportsSignOut else {
      let error = ProtocolError(
        .invalidRequest,
        "the backend of profile '\(profile.settings.name)' has no logout_url to call")
      return Self.notToldBackend(error)
    }
    return limits.refusalOfCall(by: session.key.uid).map(Self.notToldBackend)
  }

  private static func notToldBackend(_ error: ProtocolError) -> ProtocolError {
    // A second request would not reach the backend, because its content is already dropped here.
    ProtocolError(
      error.code, "signed out on this host, but not at the backend: \(error.message)")
  }

  /// Ends a global sign-out after the backend's answer.
  ///
  /// - Parameter page: that ends the browser's own session; nil for none.
  private func globalEnded(
    _ signOut: BackendSignOut, _ page: String?, _ client: UInt64, _ failure: UpstreamFailure?
  ) {
    let key = signOut.key
    guard let turn = clients.endWait(client, for: signOut.id) else { return }
    if let failure {
      turn.refuse(Self.notToldBackend(failure.protocolError))
    } else if let session = sessions[key],
      session.owner == SessionOwner(name: signOut.user.name)
    {
      turn.giveState(of: session, logoutURL: page)
    } else {
      // A reload removed the profile meanwhile, or the uid has another owner now.
      turn.give(.session(profile: key.profile, state: .signedOut, identityID: nil))
    }
  }
}
