extension SessionMachine {
  /// A `login` that is being carried out.
  ///
  /// Until it is accepted the session stands as if it had succeeded, and nobody is told.
  struct SignIn: Sendable {
    /// Whom to answer; nil once they are answered or gone.
    var id: UInt64?
    let deadline: Instant
    let way: Way
    /// What a refused sign-in goes back to: it changes nothing.
    var before: Held
    var state = State.calling

    enum State: Sendable, Equatable {
      /// Goes to `accepted`, or the sign-in ends.
      case calling
      /// From here on the user is signed in, whatever becomes of the rest.
      case accepted
    }

    var isAccepted: Bool { state == .accepted }
  }

  /// How somebody signs in.
  enum Way: Sendable, Equatable {
    case host
    case password(userName: String)
    case tokens

    init(_ input: SignInInput) {
      switch input {
      case .host: self = .host
      case .password(let name, _): self = .password(userName: name)
      case .developerToken, .logins: self = .tokens
      }
    }

    var isPassword: Bool { if case .password = self { true } else { false } }
  }

  // MARK: Beginning

  mutating func beginSignIn(_ request: SignInRequest, _ turn: inout Turn) {
    // The later of two wins; whatever the earlier one fetched is no longer awaited.
    abandonSignIn(
      ProtocolError(.signInFailed, "another sign-in to the same profile took its place"), &turn)
    signIn = SignIn(
      id: request.id, deadline: request.deadline, way: Way(request.input), before: held)
    held.customRoleARN = request.customRoleARN
    rest()
    switch request.input {
    case .password(let name, let password):
      return make(
        .signIn(username: name, password: password),
        for: Attempt(goal: .credentials, voucher: nil), &turn)
    case .host: signInByHost(&turn)
    case .developerToken(let identityID, let token): take(token, of: identityID, request, &turn)
    case .logins(let added): take(added, request, &turn)
    }
    start(&turn)
    // A sign-in by the host where nothing works unattended: no call will ever end it.
    if case .fetching = work { return }
    abandonSignIn(signInRequired, &turn)
  }

  private mutating func signInByHost(_ turn: inout Turn) {
    switch held.state {
    // Whoever vouches already is asked anew; what is valid is kept in the meantime.
    case .signedIn(.host), .tokensInvalid(.host), .signedIn(.tokenFile): return
    // A guest's identity becomes the user's.
    case .signedOut, .guest: break
    case .signedIn, .tokensInvalid: adopt(nil, &turn)
    }
    forgetVouchers()
    forgetCredentials(&turn)
    held.username = nil
    held.state = .signedOut(byUser: false)
  }

  private mutating func take(
    _ developerToken: DeveloperToken, of identityID: IdentityID, _ request: SignInRequest,
    _ turn: inout Turn
  ) {
    forgetVouchers()
    forgetCredentials(&turn)
    held.username = nil
    adopt(identityID, &turn)
    // One that seems to be over is left to Cognito: this host's clock may be wrong.
    let lifetime = request.expires.flatMap { $0 > turn.now ? $0 - turn.now : nil }
    held.token = HeldToken(developerToken, lifetime: lifetime, received: turn.now)
    // Where a backend has the next one, nobody needs to be told.
    if plan.backend != .host {
      held.loginExpirations.set(plan.developerLoginKey, end: request.expires, now: turn.now)
    }
    held.state = .signedIn(.developerToken)
  }

  /// Logins are replaced provider by provider. With a backend they go to it, to be linked; without
  /// one they speak for themselves.
  private mutating func take(
    _ added: LoginsMap, _ request: SignInRequest, _ turn: inout Turn
  ) {
    let isLinked: Bool
    switch held.state {
    case .signedIn(.host), .signedIn(.password), .tokensInvalid(.host): isLinked = true
    case .signedOut, .guest: isLinked = plan.backend == .host
    case .signedIn, .tokensInvalid: isLinked = false
    }
    if !isLinked { leaveForLogins(&turn) }
    held.token = nil
    add(added, request, turn.now)
    switch held.state {
    case .signedOut where isLinked, .guest where isLinked:
      forgetCredentials(&turn)
      held.state = .signedOut(byUser: false)
    case _ where isLinked:
      // The same user, still vouched for: what is valid stays until the backend has answered.
      break
    default:
      forgetCredentials(&turn)
      held.state = .signedIn(.logins)
    }
  }

  /// What logins that speak for themselves leave behind.
  private mutating func leaveForLogins(_ turn: inout Turn) {
    switch held.state {
    // A guest's identity becomes theirs; more logins of one user are linked to one identity.
    case .guest, .signedOut, .signedIn(.logins), .signedIn(.tokenFile): break
    // One of the old ones was refused, and would be again.
    case .tokensInvalid(.logins), .tokensInvalid(.tokenFile): forgetVouchers()
    // Another kind of sign-in. Where the logins are linked to its identity, GetId finds it again.
    case .signedIn, .tokensInvalid:
      forgetVouchers()
      adopt(nil, &turn)
    }
    held.username = nil
  }

  private mutating func add(_ added: LoginsMap, _ request: SignInRequest, _ now: Instant) {
    dropLoginsOver(at: now)
    var next = held.logins
    for login in added.logins where (try? next.set(login.provider, token: login.token)) == nil {
      // More than ten together: the new ones count.
      next = added
      held.loginExpirations.removeAll()
      break
    }
    held.logins = next
    for login in added.logins {
      held.loginExpirations.set(login.provider, end: request.loginsExpire[login.provider], now: now)
    }
  }

  // MARK: On the way

  /// Whether a backend is being asked about a password. Another call could only succeed for the user
  /// who was signed in before.
  var awaitsPassword: Bool {
    signIn.map { $0.way.isPassword && !$0.isAccepted } ?? false
  }

  mutating func passwordAccepted(
    _ session: BackendSession, _ attempt: Attempt, _ turn: inout Turn
  ) {
    guard case .password(let name) = signIn?.way else {
      preconditionFailure("a password is given to a backend by a sign-in alone")
    }
    // Another user's identity must not become this one's; a guest's may, that is what it is for.
    if name != held.username && held.state != .guest { adopt(nil, &turn) }
    forgetVouchers()
    forgetCredentials(&turn)
    held.username = name
    held.state = .signedIn(.password(session))
    acceptSignIn(&turn)
    var attempt = attempt
    attempt.voucher = .password(session)
    proceed(attempt, &turn)
  }

  /// From here on the session stands as it says, and everybody may know.
  mutating func acceptSignIn(_ turn: inout Turn) {
    signIn?.state = .accepted
    tell(&turn)
  }

  // MARK: Ending

  /// What a sign-in wanted is there.
  mutating func signInSucceeded(_ turn: inout Turn) {
    acceptSignIn(&turn)
    if let id = signIn?.id { turn.actions.append(.giveState(id)) }
    signIn = nil
  }

  /// A sign-in's attempt failed. True if the session is again what it was before; false if the
  /// failure is the session's own.
  mutating func signInFailed(
    _ attempt: Attempt, _ failure: UpstreamFailure, _ turn: inout Turn
  ) -> Bool {
    guard let progress = signIn else { return false }
    // With upstream away nobody can say that the tokens are bad: they are kept and tried again.
    // Nobody has tokens yet where a password, or the host, is still to be believed.
    if failure.failureClass.isTransient, case .signedIn = held.state,
      progress.isAccepted || !progress.way.isPassword
    {
      signInSucceeded(&turn)
      return false
    }
    if let id = progress.id { turn.actions.append(.refuse(id, Self.refusal(of: failure))) }
    signIn = nil
    if progress.isAccepted { return false }
    rollBack(progress, &turn)
    // The very thing that a refresh would try next: it has failed already.
    return progress.way != .host || means?.voucher != attempt.voucher
  }

  /// A sign-in is overtaken by something else that the user wants. It counts as refused: the backend
  /// has seen the password, whatever it says of it.
  mutating func abandonSignIn(_ error: ProtocolError, _ turn: inout Turn) {
    guard let progress = signIn else { return }
    signIn = nil
    if let id = progress.id { turn.actions.append(.refuse(id, error)) }
    if progress.isAccepted { return }
    rollBack(progress, &turn)
  }

  /// Restores the state before the sign-in. Watchers were not told of the sign-in, so nothing is
  /// announced.
  private mutating func rollBack(_ refused: SignIn, _ turn: inout Turn) {
    held = refused.before
    work = .idle
    turn.actions.append(.credentialsChanged)
    dropExpired(&turn)
  }

  /// What a `login` is told. That a sign-in is required would be no answer to it: by that code a
  /// client knows that a password is wanted.
  private static func refusal(of failure: UpstreamFailure) -> ProtocolError {
    var error = failure.protocolError
    if error.code == .signInRequired { error.code = .signInFailed }
    return error
  }

  /// A sign-in that takes too long goes on, but nobody waits for it any more.
  mutating func settleSignIn(_ turn: inout Turn) {
    guard let progress = signIn, let id = progress.id, progress.deadline <= turn.now
    else { return }
    signIn?.id = nil
    turn.actions.append(
      .refuse(id, ProtocolError(.timeout, "no answer from upstream yet; the sign-in goes on")))
  }
}

/// A `login` that a session is to carry out.
public struct SignInRequest: Sendable, Equatable {
  /// Whom to answer; given by the daemon.
  public let id: UInt64
  public let input: SignInInput
  public let customRoleARN: String?
  /// When a developer token runs out, on this host's clock; nil where it does not say.
  public let expires: Instant?
  /// The same for logins, by provider.
  public let loginsExpire: [String: Instant]
  /// When whoever asked is answered one way or the other.
  public let deadline: Instant

  public init(
    id: UInt64, input: SignInInput, customRoleARN: String? = nil, expires: Instant? = nil,
    loginsExpire: [String: Instant] = [:], deadline: Instant
  ) {
    self.id = id
    self.input = input
    self.customRoleARN = customRoleARN
    self.expires = expires
    self.loginsExpire = loginsExpire
    self.deadline = deadline
  }
}
