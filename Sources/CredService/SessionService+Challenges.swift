import CredCore
import Logging

/// Sign-ins at user pools, which may ask back: `login`, and `respond`.
extension SessionService {
  /// How long a session's calls may take after the pool has accepted the user.
  private static let signInTime: Duration = .seconds(30)

  // MARK: login

  /// Begins a conversation with the profile's user pool. The session stays as it is until its end.
  func converse(
    _ login: LoginRequest, _ username: String, _ password: Secret?, _ session: Session,
    _ request: Request, _ client: Client, _ now: Instant
  ) {
    let attempt = PasswordLimiter.Attempt(
      uid: session.key.uid, profile: session.key.profile, username: username)
    if let error = passwordRefusal(attempt, now) {
      recordSignIn(request, session, client, error)
      return refuse(error, id: request.id, client)
    }
    if let error = codeLimitError(attempt, password, session, now) {
      recordSignIn(request, session, client, error)
      return refuse(error, id: request.id, client)
    }
    var input = PoolConversation.Input(username: username, password: password)
    input.metadata = login.metadata ?? ClientMetadata()
    input.validationData = login.validationData ?? ClientMetadata()
    if let issuer = session.profile.plan.backend.issuer {
      input.devices =
        devices[session.key.uid]?.devices(of: session.owner, at: issuer) ?? []
    }
    let conversation: PoolConversation
    do throws(ProtocolError) {
      guard let plan = session.profile.conversationPlan else {
        preconditionFailure("the profile has no user pool")
      }
      conversation = try PoolConversation(plan, input)
    } catch {
      return refuse(error, id: request.id, client)
    }
    endSignIn(of: session.key, Self.replaced)
    if let victim = signIns.victim(of: session.key.uid) { end(victim, Self.crowdedOut) }
    let signIn = OpenSignIn(
      number: signIns.nextNumber(), session, attempt, conversation,
      customRoleARN: login.customRoleARN, now: now)
    signIns.insert(signIn)
    begin(.started, signIn, session, request, client, now)
  }

  static let replaced = ProtocolError(
    .signInFailed, "another sign-in to the same profile took its place")
  private static let crowdedOut = ProtocolError(
    .tooManyRequests, "too many sign-ins are open: this one made room for another")

  /// Before a password was proved, a pool may send a message to whomever a client names.
  private func codeLimitError(
    _ attempt: PasswordLimiter.Attempt, _ password: Secret?, _ session: Session, _ now: Instant
  ) -> ProtocolError? {
    guard let plan = session.profile.conversationPlan, password == nil || plan.flow == .custom
    else { return nil }
    let pause = codeLimiter.attempt(
      by: attempt.uid, username: attempt.username, at: plan.backend, now: now)
    return pause.map {
      ProtocolError(
        .tooManyRequests, "too many codes were asked for; try again later", retryAfter: $0)
    }
  }

  /// Lets a client wait for the next question, or for the end.
  private func begin(
    _ event: PoolConversation.Event, _ signIn: OpenSignIn, _ session: Session,
    _ request: Request, _ client: Client, _ now: Instant
  ) {
    passwordsUnderWay.insert(signIn.attempt.uid)
    signIn.client = client.id
    wait(client, for: WaitingRequest(request, in: session))
    session.askedBy = client.id
    take(event, signIn, now)
    recordAccess(to: session, ofWaiting: client)
  }

  // MARK: respond

  func respond(
    _ respond: RespondRequest, _ request: Request, _ client: Client, _ now: Instant
  ) {
    guard let signIn = signIns[respond.handle], signIn.key.uid == client.peer.uid else {
      return refuse(.unknownChallenge, id: request.id, client)
    }
    switch resolve(signIn.key.profile, client, now) {
    case .pending: wait(client, for: WaitingRequest(request, forCaller: true))
    case .refused(let error):
      if error.endsAccess { end(signIn, error) }
      refuse(error, id: request.id, client)
    case .session(let session):
      // Whoever has the uid now need not be the person who signs in.
      guard clients[client.id] != nil else { return }
      guard signIns[respond.handle] === signIn,
        signIn.owner.successor(session.owner) == .samePerson
      else { return refuse(.unknownChallenge, id: request.id, client) }
      carryOut(respond, signIn, session, request, client, now)
    }
  }

  private func carryOut(
    _ respond: RespondRequest, _ signIn: OpenSignIn, _ session: Session, _ request: Request,
    _ client: Client, _ now: Instant
  ) {
    if case .cancel = respond.input {
      end(signIn, ProtocolError(.signInFailed, "the sign-in was cancelled"))
      return giveState(of: session, request, client)
    }
    guard signIn.call == nil, let challenge = signIn.conversation.challenge else {
      let error = ProtocolError(
        .tooManyRequests, "an answer to this challenge is under way", retryAfter: .seconds(1))
      return refuse(error, id: request.id, client)
    }
    guard let deadline = signIn.deadline, now < deadline else {
      end(signIn, .unknownChallenge)
      return refuse(.unknownChallenge, id: request.id, client)
    }
    guard case .answers(let answers) = respond.input else {
      return give(
        .challenge(
          challenge, respond.handle, profile: session.key.profile,
          state: session.machine.state.reported, remaining: deadline - now),
        request, client)
    }
    if var error = callLimitError(session.key.uid, now) ?? passwordRefusal(signIn.attempt, now)
      ?? (respond.metadata == nil ? nil : session.profile.refusalOfMetadata)
    {
      error.handle = respond.handle
      return refuse(error, id: request.id, client)
    }
    begin(
      .answered(answers, metadata: respond.metadata), signIn, session, request, client, now)
  }

  // MARK: Steps

  /// Takes an event of a sign-in, and does what follows.
  private func take(_ event: PoolConversation.Event, _ signIn: OpenSignIn, _ now: Instant) {
    signIn.call = nil
    let action = signIn.conversation.handle(
      event, now: now, wallTime: host.clock.wallTime, random: &host.random)
    switch action {
    case .compute(let proof): perform(.compute(proof), signIn)
    case .send(let request):
      callAllowance.spent(by: signIn.key.uid, now: now)
      backendCalls += 1
      perform(.send(request), signIn)
    case .ask(let challenge, let isRefusal): ask(challenge, isRefusal, signIn, now)
    case .askAgain(let failure, let isRefusal):
      judged(signIn, isRefusal: isRefusal)
      answer(signIn, withRefusal: failure.signInRefusal, isOpen: true)
    case .refuse(let error):
      passwordsUnderWay.remove(signIn.attempt.uid)
      answer(signIn, withRefusal: error, isOpen: true)
    case .finish(let result): finish(signIn, result, now)
    case .fail(let failure, let isRefusal):
      signIns.remove(signIn)
      judged(signIn, isRefusal: isRefusal)
      answer(signIn, withRefusal: failure.signInRefusal, isOpen: false)
      // What concerns the pool and not its user is for the operator too.
      if failure.severity == .operatorMustAct || failure.failureClass.isTransient,
        let session = sessions[signIn.key]
      {
        announce(.signInFailed(failure), session)
      }
    }
    armSignInTimer()
  }

  private func perform(_ step: ConversationStep, _ signIn: OpenSignIn) {
    let id = callIDs.next()
    signIn.call = id
    let call = ConversationCall(
      id: id, profile: signIn.profile,
      user: UnixUser(uid: signIn.key.uid, name: signIn.owner.name), step: step)
    host.upstream.converse(call) { [unowned self] event in
      // One that has ended is not in the book any more.
      guard let signIn = signIns[signIn.key], signIn.call == id else { return }
      take(event, signIn, host.clock.now)
    }
  }

  private func ask(
    _ challenge: SignInChallenge, _ isRefusal: Bool, _ signIn: OpenSignIn, _ now: Instant
  ) {
    judged(signIn, isRefusal: isRefusal)
    let handle = ChallengeHandle(using: &host.random)
    signIns.setHandle(handle, of: signIn)
    guard let session = sessions[signIn.key], let deadline = signIn.deadline else {
      preconditionFailure("an open sign-in has a session, and a question its time")
    }
    let remaining = deadline - now
    sendEvent(.challenge(challenge, remaining: remaining), session)
    let again = Operation.respond(RespondRequest(handle, .wait(.zero)))
    guard let waiter = signIn.client.take(), !asksAnew(waiter, in: session, for: again),
      let (client, request) = endWait(waiter, in: session)
    else { return }
    give(
      .challenge(
        challenge, handle, profile: session.key.profile, state: session.machine.state.reported,
        remaining: remaining),
      request, client)
  }

  /// The pool has accepted the user: now it is the session's sign-in.
  private func finish(_ signIn: OpenSignIn, _ result: PoolSignInResult, _ now: Instant) {
    signIns.remove(signIn)
    passwordsUnderWay.remove(signIn.attempt.uid)
    passwordLimiter.succeeded(signIn.attempt)
    guard let session = sessions[signIn.key], let client = signIn.client else { return }
    let username = result.signIn.username
    if result.droppedDevice != nil { forgetDevice(of: session, username: username) }
    if let device = result.newDevice { keepDevice(device, of: session, username: username) }
    handle(
      .signInRequested(
        SignInRequest(
          id: client, input: .poolTokens(result.signIn), customRoleARN: signIn.customRoleARN,
          deadline: now + Self.signInTime)),
      session, now)
  }

  /// Records whether the pool took a password or an answer.
  private func judged(_ signIn: OpenSignIn, isRefusal: Bool) {
    passwordsUnderWay.remove(signIn.attempt.uid)
    if isRefusal { passwordLimiter.failed(signIn.attempt, now: host.clock.now) }
  }

  /// - Parameter isOpen: whether the same challenge may be answered again.
  private func answer(_ signIn: OpenSignIn, withRefusal error: ProtocolError, isOpen: Bool) {
    var error = error
    error.handle = isOpen ? signIn.handle : nil
    guard let client = signIn.client.take(), let session = sessions[signIn.key] else { return }
    refuse(client, error, session)
  }

  // MARK: The end

  /// Ends the open sign-in of a session, if there is one. What comes of its calls is dropped.
  func endSignIn(of key: SessionKey, _ error: ProtocolError) {
    if let signIn = signIns[key] { end(signIn, error) }
  }

  /// - Parameter error: for the client that waits.
  private func end(_ signIn: OpenSignIn, _ error: ProtocolError) {
    signIns.remove(signIn)
    if let call = signIn.call.take() { host.upstream.cancel(call) }
    guard let client = signIn.client else { return armSignInTimer() }
    passwordsUnderWay.remove(signIn.attempt.uid)
    if clients[client]?.waiting?.session?.key == signIn.key {
      answer(signIn, withRefusal: error, isOpen: false)
    }
    armSignInTimer()
  }

  /// Ends the sign-in whose client does not wait any more. Its password or answer may have been
  /// wrong: it counts as a refused one, else a program could guess and leave.
  func signInClientLeft(_ client: UInt64, _ key: SessionKey) {
    guard let signIn = signIns[key], signIn.client == client else { return }
    signIn.client = nil
    judged(signIn, isRefusal: true)
    end(signIn, .unknownChallenge)
  }

  /// Ends sign-ins that a reload has changed or closed.
  func endSignIns(changedFrom previous: [String: Profile]) {
    for signIn in signIns.all {
      let name = signIn.key.profile
      guard let former = previous[name], let present = configuration.profiles[name] else {
        end(signIn, Self.removed(name))
        continue
      }
      guard !former.signsIn(like: present) else { continue }
      end(
        signIn,
        ProtocolError(.signInFailed, "a reload has changed how profile '\(name)' signs in"))
    }
  }

  /// At the end of the daemon: nobody waits any more.
  func endAllSignIns() {
    for signIn in signIns.all {
      signIn.client = nil
      end(signIn, .unknownChallenge)
    }
  }

  /// The open sign-ins. While there is one, the daemon is in use.
  package var openSignIns: Int { signIns.all.count }

  func armSignInTimer() { signInTimer?.arm(at: signIns.nextDeadline) }

  /// Ends questions that were not answered in time.
  func expireSignIns() {
    let now = host.clock.now
    for signIn in signIns.all where signIn.deadline.map({ $0 <= now }) ?? false {
      end(signIn, .unknownChallenge)
    }
    armSignInTimer()
  }
}

extension UpstreamFailure {
  /// The error for a `login` or a `respond`. `SignInRequired` would be wrong, unless a password is
  /// missing: to clients it means just that.
  fileprivate var signInRefusal: ProtocolError {
    var error = protocolError
    if error.code == .signInRequired, failureClass == .signInRequired { error.code = .signInFailed }
    return error
  }
}

extension Profile {
  /// How a conversation with the profile's user pool goes; nil without one.
  var conversationPlan: PoolConversation.Plan? {
    guard let backend, case .userPool(let settings) = backend.kind, let issuer = plan.backend.issuer
    else { return nil }
    return PoolConversation.Plan(
      backend: backend.name, issuer: issuer, flow: settings.authFlow,
      rememberDevice: settings.rememberDevice)
  }

  /// Whether an open challenge of one may be answered in the other.
  fileprivate func signsIn(like other: Profile) -> Bool {
    identityFingerprint == other.identityFingerprint
      && backendFingerprint == other.backendFingerprint && backend == other.backend
  }
}

extension SignInInput {
  /// What a user pool asks for first; nil for other sign-ins.
  var poolUser: (name: String, password: Secret?)? {
    switch self {
    case .username(let name): (name, nil)
    case .password(let name, let password): (name, password)
    case .host, .developerToken, .logins, .poolTokens: nil
    }
  }
}
