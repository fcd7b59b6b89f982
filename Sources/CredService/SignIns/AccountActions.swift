import CredCore
import Logging

/// `account`: the user's account at the backend. The session here stays as it is, unless the account
/// is deleted.
final class AccountActions {
  /// The most time in which a session must get an access token.
  private static let tokenTime: Duration = .seconds(30)

  private let host: Host
  private let clients: Clients
  private let sessions: SessionTable
  private let grants: Grants
  private let guesses: Guesses
  private let signIns: SignIns
  private let signOuts: SignOuts
  private let devices: Devices
  private let limits: UserLimits
  private let journal: Journal

  init(
    host: Host, clients: Clients, sessions: SessionTable, grants: Grants,
    guesses: Guesses, signIns: SignIns, signOuts: SignOuts, devices: Devices, limits: UserLimits,
    journal: Journal
  ) {
    self.host = host
    self.clients = clients
    self.sessions = sessions
    self.grants = grants
    self.guesses = guesses
    self.signIns = signIns
    self.signOuts = signOuts
    self.devices = devices
    self.limits = limits
    self.journal = journal
  }

  func act(_ account: AccountRequest, in session: Session, _ turn: Turn) {
    let uid = session.key.uid
    if let error = session.profile.refusal(of: account) ?? limits.refusalOfCall(by: uid) {
      return refuse(account.input, error, session, turn)
    }
    if case .own(let input) = account.input { return actOnOwn(input, session, turn) }
    let action = session.profile.backend.map {
      limits.action(
        account.input.kind, by: uid, username: account.input.username ?? "", at: $0.name)
    }
    if let error = action.flatMap(limits.count) {
      return refuse(account.input, error, session, turn)
    }
    limits.callSpent(by: uid)
    call(account, nil, counted: action, session, turn)
  }

  /// Refuses an action before a request is sent.
  private func refuse(
    _ input: AccountInput, _ error: ProtocolError, _ session: Session, _ turn: Turn
  ) {
    journal.accountActionRefused(input, error, session, turn.requester)
    turn.refuse(error)
  }

  /// What makes a backend send messages is limited for signed-in users, too.
  private func countMessage(as username: String, _ session: Session) -> ProtocolError? {
    guard let backend = session.profile.backend else { return nil }
    return limits.count(
      limits.action(.request(sends: nil), by: session.key.uid, username: username, at: backend.name)
    )
  }

  // MARK: The own account

  private func actOnOwn(_ input: OwnAccountInput, _ session: Session, _ turn: Turn) {
    guard case .signedIn(.provider(let pool)) = session.machine.state else {
      let error = ProtocolError(
        .signInRequired, "nobody is signed in to profile '\(session.key.profile)'")
      return refuse(.own(input), error, session, turn)
    }
    let owner = AccountOwner(pool)
    if let former = turn.account, former != owner { return turn.refuse(.anotherUserSignedIn) }
    let error =
      refusal(of: input.action, pool, turn.now) ?? refusal(ofDeviceOf: input, pool, session)
      ?? refusal(ofGuess: input, pool, session)
      ?? (input.sendsMessage ? countMessage(as: pool.username, session) : nil)
    if let error { return refuse(.own(input), error, session, turn) }
    limits.callSpent(by: session.key.uid)
    askForAccessToken(isNew: false, of: owner, session, turn)
  }

  /// The time since the sign-in is counted by a clock that nobody can set. So neither the user nor
  /// a wrong clock of this host can extend it.
  private func refusal(
    of action: AccountAction, _ pool: ProviderSession, _ now: Instant
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
    ofDeviceOf input: OwnAccountInput, _ pool: ProviderSession, _ session: Session
  ) -> ProtocolError? {
    switch input {
    case .rememberDevice(nil, _), .forgetDevice(nil):
      guard pool.deviceKey == nil else { break }
      return ProtocolError(
        .invalidRequest,
        "the user pool has no device for this session: name one in \"device\"")
    default: break
    }
    // The pool would remember a device, and nobody would have its secret.
    guard case .rememberDevice(let key, true) = input, key == nil || key == pool.deviceKey,
      devices.known(of: session, username: pool.username)?.key != pool.deviceKey
    else { return nil }
    return ProtocolError(
      .invalidRequest,
      "this host has no secret for the session's device, so it cannot be used: sign in again first")
  }

  /// Refuses an action that tries a code or a password, if the user has guessed too often.
  private func refusal(
    ofGuess input: OwnAccountInput, _ pool: ProviderSession, _ session: Session
  ) -> ProtocolError? {
    guard input.isGuess else { return nil }
    return guesses.refusal(of: guesses.attempt(of: session.key, as: pool.username))
  }

  /// - Parameter isNew: whether a new token is needed, because the held one was refused.
  private func askForAccessToken(
    isNew: Bool, of owner: AccountOwner, _ session: Session, _ turn: Turn
  ) {
    grants.ask(
      Waiter(
        id: turn.client.id, want: .accountToken, mustRefresh: isNew, arrived: turn.now,
        wait: Self.tokenTime),
      in: session, turn, about: owner)
  }

  /// Takes the session's access token for a client that acts on the account.
  ///
  /// - Parameter isNew: whether the token came for this request.
  func tokenLent(_ token: Secret, isNew: Bool, of session: Session, to waiter: UInt64) {
    if grants.askAnew(waiter, in: session) { return }
    guard let turn = clients.endWait(waiter, in: session) else { return }
    guard case .account(let account) = turn.request.operation,
      case .own(let input) = account.input,
      let pool = session.machine.state.providerSession, turn.account == AccountOwner(pool)
    else { return turn.refuse(.anotherUserSignedIn) }
    // Time has passed since the request came.
    let error =
      refusal(of: account.input.action, pool, turn.now) ?? refusal(ofGuess: input, pool, session)
    if let error { return refuse(account.input, error, session, turn) }
    if input.isGuess { guesses.began(in: session.key) }
    let signedIn = AccountCall.SignedIn(session: pool, accessToken: token, isHeld: !isNew)
    call(account, signedIn, session, turn)
  }

  // MARK: The call

  /// - Parameter action: as it was counted; nil for the own account.
  private func call(
    _ account: AccountRequest, _ signedIn: AccountCall.SignedIn?,
    counted action: CountedAction? = nil, _ session: Session, _ turn: Turn
  ) {
    let id = sessions.nextCallID()
    turn.wait(for: id)
    let input = account.input
    let call = AccountCall(
      id: id, profile: session.profile,
      user: UnixUser(uid: session.key.uid, name: session.userName), input: input,
      metadata: account.metadata ?? ClientMetadata(),
      validationData: account.validationData ?? ClientMetadata(), signedIn: signedIn)
    let username = input.username ?? signedIn?.session.username ?? ""
    // Taken now, because the client may have left before the answer.
    let asker = journal.accountMetadata(input.action, username, session, turn.requester)
    host.upstream.account(call) { [unowned self, client = turn.client.id] result in
      if let action { ended(action, result) }
      callEnded(call, client, asker, result)
    }
  }

  /// What the result means for the counts.
  private func ended(
    _ action: CountedAction, _ result: Result<AccountResult, UpstreamFailure>
  ) {
    switch result {
    case .success: limits.succeeded(action)
    case .failure(let failure) where failure.refusesNewPassword: limits.takeBack(action)
    case .failure: break
    }
  }

  private func callEnded(
    _ call: AccountCall, _ client: UInt64, _ asker: Logger.Metadata,
    _ result: Result<AccountResult, UpstreamFailure>
  ) {
    let session = sessions[call.sessionKey].flatMap {
      $0.owner.successor(SessionOwner(name: call.user.name)) == .samePerson ? $0 : nil
    }
    if case .own(let input) = call.input, input.isGuess { guessEnded(call, result) }
    if case .failure(let failure) = result, failure.remedy == .newTokens,
      let signedIn = call.signedIn, signedIn.isHeld, let session,
      let turn = clients.endWait(client, for: call.id)
    {
      let owner = AccountOwner(signedIn.session)
      guard session.machine.state.providerSession.map(AccountOwner.init) == owner else {
        return turn.refuse(.anotherUserSignedIn)
      }
      return askForAccessToken(isNew: true, of: owner, session, turn)
    }
    journal.accountActionEnded(call, asker, result)
    let told = result.map { result in session.map { apply(call, result, to: $0) } ?? result }
    guard let turn = clients.endWait(client, for: call.id) else { return }
    let profile = call.sessionKey.profile
    switch told {
    case .success(let result): turn.give(.account(profile: profile, result))
    case .failure(let failure): turn.refuse(failure.protocolError)
    }
  }

  private func guessEnded(
    _ call: AccountCall, _ result: Result<AccountResult, UpstreamFailure>
  ) {
    guesses.ended(in: call.sessionKey)
    let attempt = guesses.attempt(
      of: call.sessionKey, as: call.signedIn?.session.username ?? "")
    switch result {
    case .success: guesses.succeeded(attempt)
    // A new password that the pool's policy refuses is no guess.
    case .failure(let failure) where failure.judgesSecret: guesses.failed(attempt)
    case .failure: break
    }
  }

  private static let accountDeleted = ProtocolError(
    .signInFailed, "the account was deleted, and its session has ended; sign in again")
  private static let deviceForgotten = ProtocolError(
    .signInFailed, "the device was forgotten, and its session has ended; sign in again")

  /// Does what the change means for the session here.
  ///
  /// - Returns: what its client is told.
  private func apply(
    _ call: AccountCall, _ result: AccountResult, to session: Session
  ) -> AccountResult {
    guard case .own(let input) = call.input, let pool = call.signedIn?.session else {
      return result
    }
    switch input {
    case .delete:
      devices.forget(of: session, username: pool.username)
      // Another user may have signed in meanwhile.
      guard session.machine.state.providerSession?.isOfSameUser(as: pool) ?? false else { break }
      signIns.end(of: session.key, Self.accountDeleted)
      signOuts.signOutHere(session, host.clock.now)
    case .forgetDevice(let key):
      guard key == nil || key == pool.deviceKey else { break }
      devices.forget(of: session, username: pool.username)
      // The pool renews no token of a device that it has forgotten.
      guard let present = session.machine.state.providerSession, present.isOfSameUser(as: pool),
        present.deviceKey == pool.deviceKey
      else { break }
      signIns.end(of: session.key, Self.deviceForgotten)
      signOuts.signOutHere(session, host.clock.now)
      return .signedOut
    case .rememberDevice(let key, let isRemembered):
      guard key == nil || key == pool.deviceKey else { break }
      devices.use(isRemembered, of: session, username: pool.username)
    default: break
    }
    return result
  }
}

extension AccountInput {
  /// As what it counts before a sign-in.
  fileprivate var kind: CountedAction.Kind {
    switch self {
    case .confirm: .answer(.confirmation)
    case .resetPassword: .answer(.newPassword)
    case .signUp, .resend: .request(sends: .confirmation)
    case .forgotPassword: .request(sends: .newPassword)
    case .own: .request(sends: nil)
    }
  }
}

extension OwnAccountInput {
  /// Whether the pool may send a message for the action, which costs money.
  fileprivate var sendsMessage: Bool {
    switch self {
    case .setAttributes, .verifyAttribute(_, code: nil): true
    default: false
    }
  }

  /// Whether the pool judges a secret of the user.
  fileprivate var isGuess: Bool {
    switch self {
    case .changePassword, .verifyAttribute(_, code: .some), .totp(code: .some, _): true
    default: false
    }
  }
}
