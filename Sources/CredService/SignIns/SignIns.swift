import CredCore

/// `login` and `respond`: sign-ins that end at once, and sign-ins that ask questions or go on
/// elsewhere.
final class SignIns {
  var host: Host
  var book = SignInBook()
  private var timer: (any Timer)?
  let guesses: Guesses
  let limits: UserLimits
  let clients: Clients
  let watches: Watches
  let sessions: SessionTable
  let admittance: Admittance
  let grants: Grants
  let tokens: Tokens
  let devices: Devices
  let journal: Journal
  let figures: Figures

  init(
    host: Host, guesses: Guesses, limits: UserLimits, clients: Clients, watches: Watches,
    sessions: SessionTable, admittance: Admittance, grants: Grants, tokens: Tokens,
    devices: Devices, journal: Journal, figures: Figures
  ) {
    self.host = host
    self.guesses = guesses
    self.limits = limits
    self.clients = clients
    self.watches = watches
    self.sessions = sessions
    self.admittance = admittance
    self.grants = grants
    self.tokens = tokens
    self.devices = devices
    self.journal = journal
    self.figures = figures
    timer = host.clock.makeTimer { [unowned self] in expire() }
  }

  func armTimer() {
    let next = book.nextWake
    timer?.arm(at: next == .distantFuture ? nil : next)
  }

  var openCount: Int { book.count }

  /// Whether a sign-in of the session is open, or a password of it is being checked.
  func isSigningIn(_ key: SessionKey) -> Bool {
    book[key] != nil || guesses.underWay.contains(key)
  }

  // MARK: login

  func login(_ login: LoginRequest, to session: Session, _ turn: Turn) {
    if let error = session.profile.refusal(of: login) { return turn.refuse(error) }
    if let error = limits.refusalOfCall(by: session.key.uid) ?? refusalOfLogins(login, session) {
      return refuse(login, session, turn, error)
    }
    switch login.signIn {
    case .browser, .device: return beginElsewhere(login, session, turn)
    default: break
    }
    if let pool = session.profile.poolProfile, let user = login.signIn.poolUser {
      return beginAtPool(login, user.name, user.password, at: pool, session, turn)
    }
    if let confirmation = session.machine.confirmation(of: login.signIn, now: turn.now) {
      return ask(before: login, confirmation, session, turn)
    }
    end(of: session.key, Self.replaced)
    if let attempt = passwordAttempt(turn.request, in: session) {
      if let error = guesses.refusal(of: attempt) { return refuse(login, session, turn, error) }
      guesses.began(in: session.key)
    }
    turn.wait(for: session)
    carryOut(login, book.nextNumber(), in: session, turn, for: turn.client.id)
    grants.grantWait(of: turn.client, in: session)
  }

  /// Refuses a `login` that does not begin.
  func refuse(
    _ login: LoginRequest, _ session: Session, _ turn: Turn, _ error: ProtocolError
  ) {
    record(journal.asker(turn.requester, session, of: login), session, error)
    turn.refuse(error)
  }

  /// Refuses logins if a user's sessions would then store too much. Logins of sign-ins under way
  /// count too.
  func refusalOfLogins(_ login: LoginRequest, _ session: Session) -> ProtocolError? {
    guard let added = login.signIn.logins else { return nil }
    let count = session.machine.loginCount(after: login.signIn, now: host.clock.now)
    if !added.isEmpty, let error = session.profile.refusal(ofKeeping: count) { return error }
    // When this sign-in begins, the logins of another sign-in of the same session go. So they do
    // not count.
    let others = sessions.sessions(of: session.key.uid).filter { $0 !== session }
    let kept = others.reduce(book.loginBytes(of: session.key.uid, besides: session.key)) {
      $0 + $1.machine.loginBytes
    }
    guard kept + added.byteCount > Limits.Session.loginBytesPerUser else { return nil }
    figures.hit(.logins)
    return ProtocolError(
      .tooManyRequests,
      "this user's sessions keep more than \(Limits.Session.loginBytesPerUser) bytes of logins; "
        + "sign out of other profiles")
  }

  // MARK: Passwords without questions

  /// The password that a request tries, so that a failure can be counted. Nil for other requests,
  /// and at a user pool, where not only the password may be wrong.
  private func passwordAttempt(
    _ request: Request, in session: Session
  ) -> PasswordLimiter.Attempt? {
    guard case .login(let login) = request.operation,
      case .password(let username, _, _) = login.signIn, session.profile.plan.backend.issuer == nil,
      session.profile.poolProfile == nil
    else { return nil }
    return guesses.attempt(of: session.key, as: username)
  }

  /// A request that waited in a session was answered, or its client has left: counts the password
  /// that it tried, if any.
  func waitEnded(_ request: Request, in session: Session, _ judgement: Guesses.Judgement) {
    guard let attempt = passwordAttempt(request, in: session) else { return }
    guesses.ended(attempt, judgement)
  }

  // MARK: Sign-ins that ask back

  /// Enters a sign-in into the book, and ends the sign-ins that it replaces.
  func enter(
    _ login: LoginRequest, _ conversation: SignInConversation,
    _ attempt: PasswordLimiter.Attempt, _ session: Session, _ turn: Turn
  ) -> OpenSignIn {
    let origin = OpenSignIn.Origin(
      number: book.nextNumber(), key: session.key, owner: session.owner,
      caller: caller(turn.client, of: session), profile: session.profile, attempt: attempt,
      customRoleARN: login.customRoleARN, begun: turn.now)
    let signIn = OpenSignIn(origin, conversation)
    end(of: signIn.key, Self.replaced)
    if let victim = book.victim(of: signIn.key.uid) { end(victim, Self.crowdedOut) }
    book.insert(signIn)
    return signIn
  }

  /// The known facts about a client, to check the rules of a later reload.
  private func caller(_ client: Client, of session: Session) -> Caller {
    var caller = Caller(
      uid: session.key.uid, groups: client.groups(), userName: session.userName,
      unit: client.unit(), isUnmapped: session.key.uid == host.process.overflowUID)
    if case .executable(let program) = client.program.known?.answer { caller.executable = program }
    return caller
  }

  static let replaced = ProtocolError(
    .signInFailed, "another sign-in to the same profile took its place")
  private static let crowdedOut = ProtocolError(
    .tooManyRequests, "too many sign-ins are open: this one made room for another")

  /// Lets a client wait for the next question, or for the end.
  func begin(_ signIn: OpenSignIn, _ session: Session, _ turn: Turn, _ event: () -> Void) {
    guesses.began(in: signIn.key)
    setAsker(of: signIn, session, turn)
    signIn.waiter = OpenSignIn.Waiter(
      client: turn.client.id, answerDue: host.clock.now + Self.stepTime(signIn))
    turn.wait(for: session)
    event()
    grants.grantWait(of: turn.client, in: session)
  }

  func setAsker(of signIn: OpenSignIn, _ session: Session, _ turn: Turn) {
    signIn.asker = journal.asker(
      turn.requester, session, by: signIn.conversation.means, as: signIn.attempt.username)
  }

  /// How long a step may take, with the requests that follow without an answer of the user. A
  /// person waits for the step.
  private static func stepTime(_ signIn: OpenSignIn) -> Duration {
    max(.seconds(30), (signIn.signInProfile.backend?.timeout ?? .zero) * 2)
  }
}

extension SignInInput {
  /// The user name and password for a user pool; nil for other sign-ins.
  fileprivate var poolUser: (name: String, password: Secret?)? {
    switch self {
    case .username(let name): (name, nil)
    case .password(let name, let password, _): (name, password)
    case .host, .developerToken, .logins, .providerTokens, .browser, .device: nil
    }
  }
}
