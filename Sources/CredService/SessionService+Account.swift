import CredCore
import Logging

/// `account`: the user's account at the backend. The session here stays as it is.
extension SessionService {
  /// How long a session may take to get an access token.
  private static let tokenTime: Duration = .seconds(30)

  func account(
    _ account: AccountRequest, _ session: Session, _ request: Request, _ client: Client,
    _ now: Instant
  ) {
    let uid = session.key.uid
    if let error = session.profile.refusal(of: account) ?? callLimitError(uid, now) {
      return refuse(account.input, error, session, request, client)
    }
    if case .own(let input) = account.input {
      return ownAccount(input, session, request, client, now)
    }
    if let error = accountLimitError(account.input.username ?? "", session, now) {
      return refuse(account.input, error, session, request, client)
    }
    callAllowance.spent(by: accountNumber(of: uid), now: now)
    startAccountCall(account.input, nil, session, request, client)
  }

  /// Before anything is sent.
  private func refuse(
    _ input: AccountInput, _ error: ProtocolError, _ session: Session, _ request: Request,
    _ client: Client
  ) {
    recordRefusal(of: input, error, session, client)
    refuse(error, id: request.id, client)
  }

  /// What makes a backend send messages, or lets somebody guess, is limited.
  private func accountLimitError(
    _ username: String, _ session: Session, _ now: Instant
  ) -> ProtocolError? {
    guard let backend = session.profile.backend else { return nil }
    let pause = accountLimiter.attempt(
      by: accountNumber(of: session.key.uid), username: username, at: backend.name, now: now)
    return pause.map {
      counters.hit(.accounts)
      return ProtocolError(
        .tooManyRequests, "too many account requests; try again later", retryAfter: $0)
    }
  }

  // MARK: The own account

  private func ownAccount(
    _ input: OwnAccountInput, _ session: Session, _ request: Request, _ client: Client,
    _ now: Instant
  ) {
    guard case .signedIn(.userPool(let pool)) = session.machine.state else {
      let error = ProtocolError(
        .signInRequired, "nobody is signed in to profile '\(session.key.profile)'")
      return refuse(.own(input), error, session, request, client)
    }
    let owner = AccountOwner(pool)
    if let former = client.account, former != owner {
      return refuse(.anotherUserSignedIn, id: request.id, client)
    }
    let error =
      refusal(of: input.action, pool, now) ?? refusal(ofDeviceOf: input, pool, session)
      ?? guessRefusal(input, pool, session, now)
      ?? (input.sendsMessage ? accountLimitError(pool.username, session, now) : nil)
    if let error { return refuse(.own(input), error, session, request, client) }
    callAllowance.spent(by: accountNumber(of: session.key.uid), now: now)
    askForAccessToken(isNew: false, of: owner, session, request, client, now)
  }

  /// By the clock that nobody sets: the user, or a wrong time of this host, must not open it.
  private func refusal(
    of action: AccountAction, _ pool: PoolSession, _ now: Instant
  ) -> ProtocolError? {
    guard action.needsRecentSignIn else { return nil }
    if let proved = pool.provedAt, now - proved < Limits.User.accountTime { return nil }
    var error = ProtocolError(
      .signInRequired,
      "action '\(action.rawValue)' needs a sign-in within the last \(Int(Limits.User.accountTime.inSeconds / 60)) minutes: "
        + "sign in again")
    error.reason = "ReauthenticationRequired"
    return error
  }

  private func refusal(
    ofDeviceOf input: OwnAccountInput, _ pool: PoolSession, _ session: Session
  ) -> ProtocolError? {
    switch input {
    case .rememberDevice(nil, _), .forgetDevice(nil):
      guard pool.deviceKey == nil else { break }
      return ProtocolError(
        .invalidRequest,
        "the user pool has no device for this session: name one in \"device\"")
    default: break
    }
    // A pool would remember a device of which nobody has the secret.
    guard case .rememberDevice(let key, true) = input, key == nil || key == pool.deviceKey,
      knownDevice(of: session, username: pool.username)?.key != pool.deviceKey
    else { return nil }
    return ProtocolError(
      .invalidRequest,
      "this host has no secret for the session's device, so it cannot be used: sign in again first")
  }

  /// Codes and passwords are not to be guessed here either.
  private func guessRefusal(
    _ input: OwnAccountInput, _ pool: PoolSession, _ session: Session, _ now: Instant
  ) -> ProtocolError? {
    input.isGuess ? passwordRefusal(attempt(pool, session), now) : nil
  }

  private func attempt(
    _ pool: PoolSession, _ session: Session
  ) -> PasswordLimiter.Attempt {
    PasswordLimiter.Attempt(
      uid: session.key.uid, account: accountNumber(of: session.key.uid),
      profile: session.key.profile,
      username: pool.username)
  }

  /// - Parameter isNew: whether the held one was refused.
  private func askForAccessToken(
    isNew: Bool, of owner: AccountOwner, _ session: Session, _ request: Request,
    _ client: Client, _ now: Instant
  ) {
    ask(
      Waiter(
        id: client.id, want: .accountToken, mustRefresh: isNew, arrived: now,
        wait: Self.tokenTime),
      in: session, request, client, now, about: owner)
  }

  /// The session has an access token for a client that acts on the account.
  ///
  /// - Parameter isNew: whether it came for this request.
  func tokenLent(_ token: Secret, isNew: Bool, of session: Session, to waiter: UInt64) {
    if asksAnew(waiter, in: session) { return }
    guard let client = clients[waiter], let waiting = client.waiting, waiting.session === session
    else { return }
    endWait(client)
    let request = waiting.request
    guard case .account(let account) = request.operation, case .own(let input) = account.input,
      let pool = session.machine.state.poolSession, waiting.account == AccountOwner(pool)
    else { return refuse(.anotherUserSignedIn, id: request.id, client) }
    let now = host.clock.now
    // Time has passed since the request came.
    let error =
      refusal(of: account.input.action, pool, now) ?? guessRefusal(input, pool, session, now)
    if let error { return refuse(account.input, error, session, request, client) }
    if input.isGuess { passwordsUnderWay.insert(session.key) }
    let signedIn = AccountCall.SignedIn(session: pool, accessToken: token, isHeld: !isNew)
    startAccountCall(account.input, signedIn, session, request, client)
  }

  // MARK: The call

  private func startAccountCall(
    _ input: AccountInput, _ signedIn: AccountCall.SignedIn?, _ session: Session,
    _ request: Request, _ client: Client
  ) {
    let id = callIDs.next()
    wait(client, for: WaitingRequest(request, for: .call(id)))
    let call = AccountCall(
      id: id, profile: session.profile,
      user: UnixUser(uid: session.key.uid, name: session.userName), input: input,
      signedIn: signedIn)
    let username = input.username ?? signedIn?.session.username ?? ""
    // Who asks may have left before the answer.
    let asker = accountMetadata(input.action, username, session, client)
    host.upstream.account(call) { [unowned self, id = client.id] result in
      self.accountCallFinished(call, id, asker, result)
    }
  }

  private func accountCallFinished(
    _ call: AccountCall, _ id: UInt64, _ asker: Logger.Metadata,
    _ result: Result<AccountResult, UpstreamFailure>
  ) {
    let key = SessionKey(uid: call.user.uid, profile: call.profile.settings.name)
    let session = sessions[key].flatMap {
      $0.owner.successor(SessionOwner(name: call.user.name)) == .samePerson ? $0 : nil
    }
    if case .own(let input) = call.input, input.isGuess { guessEnded(call, result) }
    if case .failure(let failure) = result, failure.remedy == .newTokens,
      let signedIn = call.signedIn, signedIn.isHeld, let session,
      let (client, request) = endAccountWait(id, call.id)
    {
      let owner = AccountOwner(signedIn.session)
      guard session.machine.state.poolSession.map(AccountOwner.init) == owner else {
        return refuse(.anotherUserSignedIn, id: request.id, client)
      }
      return askForAccessToken(
        isNew: true, of: owner, session, request, client, host.clock.now)
    }
    recordAccount(call, asker, result)
    if case .success = result, let session { applyToSession(call, session) }
    guard let (client, request) = endAccountWait(id, call.id) else { return }
    switch result {
    case .success(let result):
      give(.account(profile: key.profile, result), request, client)
    case .failure(let failure) where failure.remedy == .sayDone:
      give(.account(profile: key.profile, .codeSent(nil)), request, client)
    case .failure(let failure): refuse(failure.protocolError, id: request.id, client)
    }
  }

  private func endAccountWait(_ id: UInt64, _ call: CallID) -> (Client, Request)? {
    guard let client = clients[id], let waiting = client.waiting, waiting.isFor(call)
    else { return nil }
    endWait(client)
    return (client, waiting.request)
  }

  private func guessEnded(
    _ call: AccountCall, _ result: Result<AccountResult, UpstreamFailure>
  ) {
    let profile = call.profile.settings.name
    passwordsUnderWay.remove(SessionKey(uid: call.user.uid, profile: profile))
    let attempt = PasswordLimiter.Attempt(
      uid: call.user.uid, account: accountNumber(of: call.user.uid), profile: profile,
      username: call.signedIn?.session.username ?? "")
    switch result {
    case .success: passwordLimiter.succeeded(attempt)
    // A new password that the pool's policy refuses is no guess.
    case .failure(let failure) where failure.judgesSecret:
      passwordLimiter.failed(attempt, now: host.clock.now)
    case .failure: break
    }
  }

  private static let accountDeleted = ProtocolError(
    .signInFailed, "the account was deleted, and its session has ended; sign in again")

  /// What the change means for the session here.
  private func applyToSession(_ call: AccountCall, _ session: Session) {
    guard case .own(let input) = call.input, let pool = call.signedIn?.session else { return }
    switch input {
    case .delete:
      forgetDevice(of: session, username: pool.username)
      // Another user may have signed in meanwhile.
      guard session.machine.state.poolSession?.isOfSameUser(as: pool) ?? false else { return }
      endSignIn(of: session.key, Self.accountDeleted)
      signOutHere(session, host.clock.now)
    case .forgetDevice(let key):
      guard key == nil || key == pool.deviceKey else { return }
      forgetDevice(of: session, username: pool.username)
    case .rememberDevice(let key, let isRemembered):
      guard key == nil || key == pool.deviceKey else { return }
      useDevice(isRemembered, of: session, username: pool.username)
    default: break
    }
  }
}

extension OwnAccountInput {
  /// Whether the pool may send a message for it, which costs somebody something.
  fileprivate var sendsMessage: Bool {
    switch self {
    case .setAttributes, .verifyAttribute(_, code: nil): true
    default: false
    }
  }

  /// Whether a secret of the user is judged.
  fileprivate var isGuess: Bool {
    switch self {
    case .changePassword, .verifyAttribute(_, code: .some), .totp(code: .some, _): true
    default: false
    }
  }
}
