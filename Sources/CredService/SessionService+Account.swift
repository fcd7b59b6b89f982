import CredCore
import Logging

/// `account`: the user's account at the backend. The session here stays as it is.
extension SessionService {
  /// How long a session may take to get an access token.
  private static let tokenTime: Duration = .seconds(30)
  /// How long after a sign-in the account may be changed.
  private static let recent: Duration = .seconds(15 * 60)

  func account(
    _ account: AccountRequest, _ session: Session, _ request: Request, _ client: Client,
    _ now: Instant
  ) {
    let uid = session.key.uid
    if let error = session.profile.refusal(of: account) ?? callLimitError(uid, now) {
      return refuse(error, id: request.id, client)
    }
    if case .own(let input) = account.input {
      return ownAccount(input, account.input, session, request, client, now)
    }
    if let error = accountLimitError(account.input.username ?? "", session, now) {
      return refuse(error, id: request.id, client)
    }
    callAllowance.spent(by: uid, now: now)
    act(account.input, nil, session, request, client)
  }

  /// What makes a backend send messages, or lets somebody guess, is limited.
  private func accountLimitError(
    _ username: String, _ session: Session, _ now: Instant
  ) -> ProtocolError? {
    guard let backend = session.profile.backend else { return nil }
    let pause = accountLimiter.attempt(
      by: session.key.uid, username: username, at: backend.name, now: now)
    return pause.map {
      ProtocolError(
        .tooManyRequests, "too much was asked about accounts; try again later", retryAfter: $0)
    }
  }

  // MARK: The own account

  private func ownAccount(
    _ input: OwnAccountInput, _ whole: AccountInput, _ session: Session, _ request: Request,
    _ client: Client, _ now: Instant
  ) {
    guard case .signedIn(.userPool(let pool)) = session.machine.state else {
      let error = ProtocolError(
        .signInRequired, "nobody is signed in to profile '\(session.key.profile)'")
      return refuse(error, id: request.id, client)
    }
    let error =
      refusal(of: whole.action, pool) ?? refusal(ofDeviceOf: input, pool)
      ?? guessRefusal(input, pool, session, now)
      ?? (input.sendsMessage ? accountLimitError(pool.username, session, now) : nil)
    if let error { return refuse(error, id: request.id, client) }
    callAllowance.spent(by: session.key.uid, now: now)
    askForAccessToken(isNew: false, session, request, client, now)
  }

  private func refusal(of action: AccountAction, _ pool: PoolSession) -> ProtocolError? {
    guard action.needsRecentSignIn else { return nil }
    if let signedIn = pool.signedInAt, host.clock.wallTime - signedIn < Self.recent { return nil }
    var error = ProtocolError(
      .signInRequired,
      "action '\(action.rawValue)' wants a sign-in of less than 15 minutes ago: sign in again")
    error.reason = "ReauthenticationRequired"
    return error
  }

  private func refusal(
    ofDeviceOf input: OwnAccountInput, _ pool: PoolSession
  ) -> ProtocolError? {
    switch input {
    case .rememberDevice(nil, _), .forgetDevice(nil):
      guard pool.deviceKey == nil else { return nil }
      return ProtocolError(
        .invalidRequest, "the user pool knows no device of this session: name one in \"device\"")
    default: return nil
    }
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
      uid: session.key.uid, profile: session.key.profile, username: pool.username)
  }

  /// - Parameter isNew: whether the held one was refused.
  private func askForAccessToken(
    isNew: Bool, _ session: Session, _ request: Request, _ client: Client, _ now: Instant
  ) {
    ask(
      Waiter(
        id: client.id, want: .accountToken, mustRefresh: isNew, arrived: now,
        wait: Self.tokenTime),
      in: session, request, client, now)
  }

  /// The session has an access token for a client that acts on the account.
  func tokenLent(_ token: Secret, of session: Session, to waiter: UInt64) {
    if asksAnew(waiter, in: session) { return }
    guard let (client, request) = endWait(waiter, in: session),
      case .account(let account) = request.operation, case .own(let input) = account.input,
      let pool = session.machine.state.poolSession
    else { return }
    let now = host.clock.now
    if let error = guessRefusal(input, pool, session, now) {
      return refuse(error, id: request.id, client)
    }
    if input.isGuess { passwordsUnderWay.insert(session.key.uid) }
    let held = pool.accessToken
    let signedIn = AccountCall.SignedIn(
      session: pool, accessToken: token,
      isHeld: held?.token == token && held.map { $0.received < now } ?? false)
    act(account.input, signedIn, session, request, client)
  }

  // MARK: The call

  private func act(
    _ input: AccountInput, _ signedIn: AccountCall.SignedIn?, _ session: Session,
    _ request: Request, _ client: Client
  ) {
    wait(client, for: WaitingRequest(request))
    let call = AccountCall(
      id: callIDs.next(), profile: session.profile,
      user: UnixUser(uid: session.key.uid, name: session.userName), input: input,
      signedIn: signedIn)
    let username = input.username ?? signedIn?.session.username ?? ""
    // Who asks may have left before the answer.
    let asker = accountMetadata(input.action, username, session, client)
    host.upstream.account(call) { [unowned self, id = client.id] result in
      self.finished(call, id, asker, result)
    }
  }

  private func finished(
    _ call: AccountCall, _ id: UInt64, _ asker: Logger.Metadata,
    _ result: Result<AccountResult, UpstreamFailure>
  ) {
    let key = SessionKey(uid: call.user.uid, profile: call.profile.settings.name)
    let session = sessions[key].flatMap {
      $0.owner.successor(SessionOwner(name: call.user.name)) == .samePerson ? $0 : nil
    }
    if case .own(let input) = call.input, input.isGuess { guessEnded(call, result) }
    if case .failure(let failure) = result, failure.remedy == .newTokens,
      call.signedIn?.isHeld ?? false, let session, let (client, request) = endAccountWait(id)
    {
      return askForAccessToken(isNew: true, session, request, client, host.clock.now)
    }
    logAccount(call, asker, result)
    if case .success = result, let session { follow(call, session) }
    guard let (client, request) = endAccountWait(id) else { return }
    switch result {
    case .success(let result):
      give(.account(profile: key.profile, result), request, client)
    case .failure(let failure): refuse(failure.protocolError, id: request.id, client)
    }
  }

  private func endAccountWait(_ id: UInt64) -> (Client, Request)? {
    guard let client = clients[id], let waiting = client.waiting, waiting.session == nil,
      !waiting.forCaller, case .account = waiting.request.operation
    else { return nil }
    endWait(client)
    return (client, waiting.request)
  }

  private func guessEnded(
    _ call: AccountCall, _ result: Result<AccountResult, UpstreamFailure>
  ) {
    passwordsUnderWay.remove(call.user.uid)
    guard case .failure(let failure) = result, failure.code == .accountRefused else { return }
    passwordLimiter.failed(
      PasswordLimiter.Attempt(
        uid: call.user.uid, profile: call.profile.settings.name,
        username: call.signedIn?.session.username ?? ""), now: host.clock.now)
  }

  private func logAccount(
    _ call: AccountCall, _ asker: Logger.Metadata,
    _ result: Result<AccountResult, UpstreamFailure>
  ) {
    var metadata = asker
    if case .failure(let failure) = result { metadata["code"] = "\(failure.code.rawValue)" }
    let isDone = (try? result.get()) != nil
    guard case .signUp = call.input else {
      return log.log(
        .accountAction, .notice,
        isDone ? "an account action was done" : "an account action was refused", metadata)
    }
    log.log(
      .accountAction, .notice, isDone ? "an account was made" : "an account was refused", metadata)
  }

  /// What the change means for the session here.
  private func follow(_ call: AccountCall, _ session: Session) {
    guard case .own(let input) = call.input, let pool = call.signedIn?.session else { return }
    switch input {
    case .delete:
      forgetDevice(of: session, username: pool.username)
      endSignIn(of: session.key, Self.replaced)
      session.isBeingSignedOut = true
      handle(.loggedOut, session, host.clock.now)
      session.isBeingSignedOut = false
    case .forgetDevice(let key), .rememberDevice(let key, false):
      guard key == nil || key == pool.deviceKey else { return }
      forgetDevice(of: session, username: pool.username)
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
