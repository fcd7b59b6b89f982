import CredCore
import Logging

/// `login`, `logout`, `clear` and `release`.
extension SessionService {
  /// How long a `login` may take in all; a person waits for it.
  private static let signInTime: Duration = .seconds(30)

  func signIn(
    _ login: LoginRequest, _ session: Session, _ request: Request, _ client: Client,
    _ now: Instant
  ) {
    if let error = session.profile.refusal(of: login) {
      return refuse(error, id: request.id, client)
    }
    if let error = callLimitError(session.key.uid, now) ?? loginLimitError(login, session) {
      recordRefusal(of: request, session, client, error)
      return refuse(error, id: request.id, client)
    }
    switch login.signIn {
    case .browser, .device: return signInElsewhere(login, session, request, client, now)
    default: break
    }
    if let place = session.profile.poolProfile, let user = login.signIn.poolUser {
      return beginPoolSignIn(
        login, user.name, user.password, at: place, session, request, client, now)
    }
    endSignIn(of: session.key, Self.replaced)
    if let attempt = passwordAttempt(request, in: session) {
      if let error = passwordRefusal(attempt, now) {
        recordRefusal(of: request, session, client, error)
        return refuse(error, id: request.id, client)
      }
      passwordsUnderWay.insert(SessionKey(of: attempt))
    }
    wait(client, for: WaitingRequest(request, for: .session(session)))
    session.askedBy = client.id
    let (wall, number) = (host.clock.wallTime, signIns.nextNumber())
    session.signInAskers[number] = asker(client, session, of: login)
    handle(
      .signInRequested(
        SignInRequest(
          id: client.id, number: number, input: login.signIn, customRoleARN: login.customRoleARN,
          expires: login.signIn.tokenExpiration.map { now + ($0 - wall) },
          loginsExpire: login.signIn.loginExpirations.mapValues { now + ($0 - wall) },
          deadline: now + Self.signInTime)),
      session, now)
    recordAccess(to: session, ofWaiting: client)
  }

  /// In each session one password at a time, with a pause after failures: otherwise a program could
  /// try many passwords at once.
  func passwordRefusal(
    _ attempt: PasswordLimiter.Attempt, _ now: Instant
  ) -> ProtocolError? {
    if isPasswordUnderWay(attempt) {
      counters.hit(.signIns)
      return ProtocolError(
        .tooManyRequests, "another sign-in of yours to this profile is under way",
        retryAfter: .seconds(1))
    }
    return passwordLimiter.pause(before: attempt, now: now).map {
      counters.hit(.signIns)
      return ProtocolError(.tooManyRequests, "too many sign-ins failed", retryAfter: $0)
    }
  }

  /// Records whether a password was accepted. If its client disconnected before the answer, that
  /// counts as a failure.
  func passwordEnded(_ attempt: PasswordLimiter.Attempt, _ result: ProtocolErrorCode?) {
    passwordsUnderWay.remove(SessionKey(of: attempt))
    switch result {
    case nil: passwordLimiter.succeeded(attempt)
    case .signInFailed: passwordLimiter.failed(attempt, now: host.clock.now)
    default: break
    }
  }

  func clear(
    _ scope: ClearScope, _ session: Session, _ request: Request, _ client: Client,
    _ now: Instant
  ) {
    if let error = callLimitError(session.key.uid, now) {
      return refuse(error, id: request.id, client)
    }
    guard isInTable(session) else { return giveState(of: session, request, client) }
    if scope == .identity { endSignIn(of: session.key, Self.signedOutMeanwhile) }
    let poolUser = poolUser(of: session)
    session.requester = client
    handle(.cleared(scope), session, now)
    session.requester = nil
    if scope == .identity { forgetDevices(of: session, username: poolUser) }
    giveState(of: session, request, client)
  }

  func release(
    _ session: Session, _ request: Request, _ client: Client, _ now: Instant
  ) {
    let before = session.machine.waiterCount
    handle(.released, session, now)
    let released = before - session.machine.waiterCount
    give(.released(profile: session.key.profile, waiters: released), request, client)
  }

  /// Drops everything at once. With `global`, it ends the user's sessions at the backend before it
  /// answers; else a refresh token is revoked in the background, unless the client wants it to live.
  func signOut(
    global: Bool, revoke: Bool, _ session: Session, _ request: Request, _ client: Client,
    _ now: Instant
  ) {
    guard isInTable(session) else {
      recordSignOut(session, client, global: global)
      return giveState(of: session, request, client)
    }
    let profile = session.profile
    let tokens = session.machine.poolSessions
    let own = tokens.first { $0.issuer == profile.plan.backend.issuer }
    let signOut =
      global || revoke && own != nil
      ? BackendSignOut(callIDs.next(), session, isGlobal: global, tokens: own) : nil
    // Only where a browser may have a session of its own there.
    let page = logoutPage(of: session)
    // The linked sign-in; also the one that a sign-in under way replaces.
    let others = (revoke || global ? tokens : []).filter { $0 !== own }.map {
      BackendSignOut(callIDs.next(), session, ofOther: $0, isGlobal: global)
    }
    let renewal = session.machine.renewalCall
    if let renewal, !revoke { renewals[renewal]?.isLeftAlone = true }
    let poolUser = poolUser(of: session)
    recordSignOut(session, client, global: global)
    endSignIn(of: session.key, Self.signedOutMeanwhile)
    signOutHere(session, now)
    if global { forgetDevices(of: session, username: poolUser) }
    for other in others { afterRenewal(renewal, other) { [unowned self] in revokeTokens($0) } }
    guard let signOut else { return giveState(of: session, request, client, logoutURL: page) }
    guard global else {
      afterRenewal(renewal, signOut) { [unowned self] in revokeTokens($0) }
      return giveState(of: session, request, client, logoutURL: page)
    }
    guard profile.reportsSignOut else {
      let error = ProtocolError(
        .invalidRequest,
        "the backend of profile '\(profile.settings.name)' has no logout_url to call")
      return refuse(Self.notToldBackend(error), id: request.id, client)
    }
    if let error = callLimitError(session.key.uid, now) {
      return refuse(Self.notToldBackend(error), id: request.id, client)
    }
    callAllowance.spent(by: accountNumber(of: session.key.uid), now: now)
    wait(client, for: WaitingRequest(request, for: .call(signOut.id)))
    afterRenewal(renewal, signOut) { [unowned self, id = client.id] signOut in
      host.upstream.signOut(signOut) { [unowned self] failure in
        self.globalSignOutFinished(signOut, id, failure)
      }
    }
  }

  /// Drops everything. What asked for it has an entry of its own in the journal.
  func signOutHere(_ session: Session, _ now: Instant) {
    session.isBeingSignedOut = true
    handle(.loggedOut, session, now)
    session.isBeingSignedOut = false
  }

  /// The page that ends the browser's own session, where one may have signed in.
  private func logoutPage(of session: Session) -> String? {
    guard !session.machine.poolSessions.isEmpty else { return nil }
    return host.upstream.logoutURL(of: session.profile.signInProfile)
  }

  /// Revokes a refresh token in the background. A failure leaves a token that nobody has.
  func revokeTokens(_ signOut: BackendSignOut) {
    let metadata: Logger.Metadata = [
      "profile": "\(signOut.key.profile)", "uid": "\(signOut.key.uid)",
    ]
    host.upstream.signOut(signOut) { [log = self.log] failure in
      guard let failure else { return }
      var metadata = metadata
      metadata["code"] = "\(failure.code.rawValue)"
      log.log(
        .tokensNotRevoked, failure.severity == .operatorMustAct ? .warning : .info,
        "a refresh token was dropped but not revoked: \(failure.summary)", metadata)
    }
  }

  private static let signedOutMeanwhile = ProtocolError(
    .signInFailed, "the user has signed out meanwhile")

  private static func notToldBackend(_ error: ProtocolError) -> ProtocolError {
    // A second request would not reach the backend: its content is already dropped here.
    ProtocolError(
      error.code, "signed out on this host, but not at the backend: \(error.message)")
  }

  /// Ends a global sign-out after the backend's answer.
  private func globalSignOutFinished(
    _ signOut: BackendSignOut, _ id: UInt64, _ failure: UpstreamFailure?
  ) {
    let key = signOut.key
    guard let client = clients[id], let waiting = client.waiting, waiting.isFor(signOut.id)
    else { return }
    endWait(client)
    if let failure {
      refuse(Self.notToldBackend(failure.protocolError), id: waiting.request.id, client)
    } else if let session = sessions[key],
      session.owner == SessionOwner(name: signOut.user.name)
    {
      giveState(of: session, waiting.request, client)
    } else {
      // A reload removed the profile meanwhile, or the uid is another person's now.
      give(
        .session(profile: key.profile, state: .signedOut, identityID: nil), waiting.request,
        client)
    }
  }
}

extension SignInInput {
  /// When a developer token expires, if the token says.
  fileprivate var tokenExpiration: WallTime? {
    if case .developerToken(_, let token) = self { token.expiration } else { nil }
  }

  /// When logins expire, if they are JWTs that say.
  fileprivate var loginExpirations: [String: WallTime] {
    guard case .logins(let map, _, _) = self else { return [:] }
    let ends = map.logins.compactMap { login in
      (try? DeveloperToken(login.token))?.expiration.map { (login.provider, $0) }
    }
    return Dictionary(ends) { first, _ in first }
  }
}
