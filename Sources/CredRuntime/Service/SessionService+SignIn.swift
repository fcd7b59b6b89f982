internal import CredCore

/// `login`, `logout`, `clear` and `release`.
extension SessionService {
  /// How long a `login` may take in all; a person waits for it.
  private static let signInTime: Duration = .seconds(30)

  func answer(
    _ login: LoginRequest, _ session: Session, _ request: Request, _ connection: Connection,
    _ now: Instant
  ) {
    if let error = session.profile.refusal(of: login) {
      return refuse(error, id: request.id, connection)
    }
    if let error = excess(of: session.key.uid, now) ?? excess(of: login, in: session) {
      return refuse(error, id: request.id, connection)
    }
    if request.isPasswordSignIn {
      if let error = passwordRefusal(session.key.uid, now) {
        return refuse(error, id: request.id, connection)
      }
      passwordsUnderWay.insert(session.key.uid)
    }
    connection.parked = ParkedRequest(request: request, session: session)
    let wall = loop.wallTime
    handle(
      .signInRequested(
        SignInRequest(
          id: connection.token, input: login.signIn, customRoleARN: login.customRoleARN,
          expires: login.signIn.tokenExpiration.map { now + ($0 - wall) },
          loginsExpire: login.signIn.loginExpirations.mapValues { now + ($0 - wall) },
          deadline: now + Self.signInTime)),
      session, now)
    noteGrant(of: session, toWaiting: connection)
  }

  /// One password at a time, and after failures not at once: else a guesser tries many together.
  private func passwordRefusal(_ uid: UInt32, _ now: Instant) -> ProtocolError? {
    if passwordsUnderWay.contains(uid) {
      return ProtocolError(
        .tooManyRequests, "another sign-in of yours is under way", retryAfter: .seconds(1))
    }
    return signIns.attempt(by: uid, now: now).map {
      ProtocolError(.tooManyRequests, "too many sign-ins failed", retryAfter: $0)
    }
  }

  /// A password was taken or refused, or whoever sent it left before that was known, which counts
  /// as a failure.
  func passwordEnded(_ uid: UInt32, _ result: ProtocolErrorCode?) {
    passwordsUnderWay.remove(uid)
    switch result {
    case nil: signIns.succeeded(uid)
    case .signInFailed: signIns.failed(uid, now: loop.now)
    default: break
    }
  }

  func clear(
    _ scope: ClearScope, _ session: Session, _ request: Request, _ connection: Connection,
    _ now: Instant
  ) {
    if let error = excess(of: session.key.uid, now) {
      return refuse(error, id: request.id, connection)
    }
    handle(.cleared(scope), session, now)
    giveState(of: session, request, connection)
  }

  func release(
    _ session: Session, _ request: Request, _ connection: Connection, _ now: Instant
  ) {
    let before = session.machine.waiterCount
    handle(.released, session, now)
    let released = before - session.machine.waiterCount
    give(.released(profile: session.key.profile, waiters: released), request, connection)
  }

  /// Forgets everything at once; with `global`, tells the backend before it answers.
  func logout(
    global: Bool, _ session: Session, _ request: Request, _ connection: Connection, _ now: Instant
  ) {
    let farewell = global ? Farewell(session) : nil
    handle(.loggedOut, session, now)
    guard let farewell else { return giveState(of: session, request, connection) }
    if let error = excess(of: session.key.uid, now) {
      return refuse(Self.notToldBackend(error), id: request.id, connection)
    }
    allowance.spent(by: session.key.uid, now: now)
    connection.parked = ParkedRequest(request: request)
    sendFarewell(farewell, connection.token)
  }

  private static func notToldBackend(_ error: ProtocolError) -> ProtocolError {
    // Asking again tells the backend nothing: what it would have to be told is forgotten here.
    ProtocolError(
      error.code, "signed out on this host, but not at the backend: \(error.message)")
  }

  /// The backend was told, or could not be.
  func farewellSent(_ token: UInt64, _ key: Session.Key, _ failure: UpstreamFailure?) {
    guard let connection = server.connection(token), let parked = connection.parked else { return }
    connection.parked = nil
    if let failure {
      refuse(Self.notToldBackend(failure.protocolError), id: parked.request.id, connection)
    } else if let session = sessions[key] {
      giveState(of: session, parked.request, connection)
    } else {
      // A reload took the profile away meanwhile.
      give(
        .session(profile: key.profile, state: .signedOut, identityID: nil), parked.request,
        connection)
    }
    server.finishTurn()
  }

  func giveState(of session: Session, _ request: Request, _ connection: Connection) {
    give(
      .session(
        profile: session.key.profile, state: session.machine.state.reported,
        identityID: session.machine.identityID),
      request, connection)
  }
}

extension SignInInput {
  /// When a developer token runs out, where it says.
  fileprivate var tokenExpiration: WallTime? {
    if case .developerToken(_, let token) = self { token.expiration } else { nil }
  }

  /// When logins run out, where they are JWTs that say.
  fileprivate var loginExpirations: [String: WallTime] {
    guard case .logins(let map) = self else { return [:] }
    let ends = map.logins.compactMap { login in
      (try? DeveloperToken(login.token))?.expiration.map { (login.provider, $0) }
    }
    return Dictionary(ends) { first, _ in first }
  }
}

/// What a backend is told when a user signs out everywhere: taken before the session forgets it.
struct Farewell: Sendable {
  let key: Session.Key
  let profile: Profile
  let user: UpstreamClient.User
  let identityID: IdentityID?
  let backendSession: BackendSession?

  init(_ session: Session) {
    key = session.key
    profile = session.profile
    user = UpstreamClient.User(uid: session.key.uid, name: session.userName)
    identityID = session.machine.identityID
    backendSession =
      switch session.machine.state {
      case .signedIn(.password(let known)), .tokensInvalid(.password(let known)): known
      default: nil
      }
  }
}
