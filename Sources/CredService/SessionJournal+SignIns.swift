import CredCore
import Logging

/// The audit of sign-ins, sign-outs and accounts: who asked, by which means, as whom.
extension SessionService {
  /// Records how a `login` or a `respond` ended; does nothing for other requests.
  ///
  /// - Parameters:
  ///   - error: nil if the user is signed in.
  ///   - username: where the request does not say it.
  ///   - means: those of the conversation that it belongs to; nil without one.
  func recordSignIn(
    _ request: Request, _ session: Session, _ client: Client, _ error: ProtocolError? = nil,
    as username: String? = nil, by means: String? = nil
  ) {
    // An answer that was not read as one, such as another sign-in's, tried nothing.
    guard request.isSignIn, error?.code != .invalidRequest else { return }
    guard let means = means ?? request.login?.means else { return }
    recordSignIn(of: session.key, by: means, error) { repeats in
      var metadata = sessionMetadata(session, client, repeats)
      if let login = request.login { metadata.merge(login.metadata) { $1 } }
      if let username, !username.isEmpty, metadata["username"] == nil {
        metadata["username"] = "\(username)"
      }
      return metadata
    }
  }

  /// Records the refusal of a sign-in at a pool or a provider for which no client waits any more.
  func recordSignIn(
    ofNobodyWaiting signIn: OpenSignIn, _ session: Session, _ error: ProtocolError
  ) {
    let absent = AbsentSignIn(signIn, as: nil)
    recordSignIn(of: session.key, by: absent.means, error) { repeats in
      absent.metadata.merging(sessionMetadata(session, repeats)) { $1 }
    }
  }

  /// The client of a request waits no more. What is to be recorded of its sign-in, if that goes on, is
  /// known now.
  func goesOnAlone(_ request: Request, _ session: Session, _ client: Client, by means: String?) {
    guard session.machine.isSigningIn(client.id), let means = means ?? request.login?.means
    else { return }
    var metadata = sessionMetadata(session, client, 0)
    metadata.merge(request.login?.metadata ?? [:]) { $1 }
    session.absentSignIns[client.id] = AbsentSignIn(means: means, metadata: metadata)
  }

  /// The session takes up a sign-in for which no client waits.
  func goesOnAlone(
    _ signIn: OpenSignIn, _ number: UInt64, _ session: Session, as username: String
  ) {
    session.absentSignIns[number] = AbsentSignIn(signIn, as: username)
  }

  /// Records how a sign-in ended whose client waits no more.
  func recordSignIn(ofAbsent client: UInt64, _ session: Session, _ error: ProtocolError?) {
    guard let absent = session.absentSignIns.removeValue(forKey: client) else { return }
    recordSignIn(of: session.key, by: absent.means, error) { repeats in
      absent.metadata.merging(sessionMetadata(session, repeats)) { $1 }
    }
  }

  private func recordSignIn(
    of key: SessionKey, by means: String, _ error: ProtocolError?,
    _ metadata: (_ repeats: Int) -> Logger.Metadata
  ) {
    counters.signedIn(key.profile, by: means, error?.code.rawValue ?? ServiceCounters.success)
    guard error?.code.refusesSignIn ?? true else { return }
    let event: JournalEvent = error == nil ? .signedIn : .signInRefused
    let subject = NoticeLimiter.Subject(
      event: event.rawValue, profile: key.profile, uid: key.uid)
    guard let repeats = auditLimiter.admit(subject, now: host.clock.now) else { return }
    var metadata = metadata(repeats)
    metadata["means"] = "\(means)"
    if let error {
      metadata["code"] = "\(error.code.rawValue)"
      log.log(event, .notice, "sign-in refused", metadata)
    } else {
      log.log(event, .info, "signed in", metadata)
    }
  }

  /// Call before the session drops what it holds.
  func recordSignOut(_ session: Session, _ client: Client, global: Bool) {
    let subject = NoticeLimiter.Subject(
      event: JournalEvent.signedOut.rawValue, profile: session.key.profile, uid: session.key.uid)
    guard let repeats = auditLimiter.admit(subject, now: host.clock.now) else { return }
    var metadata = sessionMetadata(session, client, repeats)
    metadata["means"] = session.machine.state.means.map { "\($0)" }
    if global { metadata["global"] = "yes" }
    log.log(.signedOut, .info, "signed out", metadata)
  }

  /// Who asks for which account.
  func accountMetadata(
    _ action: AccountAction, _ username: String, _ session: Session, _ client: Client
  ) -> Logger.Metadata {
    var metadata = sessionMetadata(session, client, 0)
    metadata["identity"] = nil
    metadata["action"] = "\(action.rawValue)"
    metadata["username"] = "\(username)"
    return metadata
  }

  /// Records how an action of `account` ended at the backend.
  ///
  /// - Parameter asker: who asked; the client may have left meanwhile.
  func recordAccount(
    _ call: AccountCall, _ asker: Logger.Metadata,
    _ result: Result<AccountResult, UpstreamFailure>
  ) {
    var metadata = asker
    if case .failure(let failure) = result {
      metadata["code"] = "\(failure.code.rawValue)"
      if let reason = failure.reason { metadata["reason"] = "\(reason)" }
    }
    record(
      call.input.action, SessionKey(uid: call.user.uid, profile: call.profile.settings.name),
      isDone: (try? result.get()) != nil, metadata)
  }

  /// Records an action of `account` that was not allowed: not listed, too late or too often.
  func recordRefusal(
    of input: AccountInput, _ error: ProtocolError, _ session: Session, _ client: Client
  ) {
    guard error.code.refusesSignIn else { return }
    let username = input.username ?? session.machine.state.poolSession?.username ?? ""
    var metadata = accountMetadata(input.action, username, session, client)
    metadata["code"] = "\(error.code.rawValue)"
    if let reason = error.reason { metadata["reason"] = "\(reason)" }
    record(input.action, session.key, isDone: false, metadata)
  }

  private func record(
    _ action: AccountAction, _ key: SessionKey, isDone: Bool, _ metadata: Logger.Metadata
  ) {
    let subject = NoticeLimiter.Subject(
      event: JournalEvent.accountAction.rawValue, profile: key.profile, uid: key.uid,
      detail: isDone ? action.rawValue : "refused")
    guard let repeats = auditLimiter.admit(subject, now: host.clock.now) else { return }
    var metadata = metadata
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    let message: Logger.Message =
      switch (action, isDone) {
      case (.signUp, true): "an account was made"
      case (.signUp, false): "an account was refused"
      case (_, true): "an account action was done"
      case (_, false): "an account action was refused"
      }
    log.log(.accountAction, .notice, message, metadata)
  }

  private func sessionMetadata(
    _ session: Session, _ client: Client, _ repeats: Int
  ) -> Logger.Metadata {
    let caller = callerMetadata(session.key.profile, client, client.unit(), repeats)
    return caller.merging(sessionMetadata(session, 0)) { caller, _ in caller }
  }

  private func sessionMetadata(_ session: Session, _ repeats: Int) -> Logger.Metadata {
    var metadata: Logger.Metadata = [
      "profile": "\(session.key.profile)", "uid": "\(session.key.uid)",
    ]
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    if let name = session.userName { metadata["user"] = "\(name)" }
    if let identity = session.machine.identityID { metadata["identity"] = "\(identity)" }
    return metadata
  }
}

/// What is known of a sign-in whose client waits no more, for the audit.
struct AbsentSignIn {
  let means: String
  let metadata: Logger.Metadata

  init(means: String, metadata: Logger.Metadata) {
    self.means = means
    self.metadata = metadata
  }

  /// - Parameter username: nil for the one that was typed, if any.
  init(_ signIn: OpenSignIn, as username: String?) {
    means = signIn.conversation.means
    var metadata: Logger.Metadata = [:]
    if let unit = signIn.caller.unit { metadata["unit"] = "\(unit)" }
    let username = username ?? signIn.attempt.username
    if !username.isEmpty { metadata["username"] = "\(username)" }
    self.metadata = metadata
  }
}

extension LoginRequest {
  /// By which means, where no conversation has others.
  fileprivate var means: String {
    switch signIn {
    case .host: "host"
    case .poolTokens(let signIn): signIn.issuer.pool == nil ? "oidc" : "userPool"
    case .browser: "browser"
    case .device: "device"
    case .username, .password: "password"
    case .developerToken: "token"
    case .logins: "logins"
    }
  }

  /// As whom.
  fileprivate var metadata: Logger.Metadata {
    switch signIn {
    case .host, .browser, .device: [:]
    case .poolTokens(let signIn): ["username": "\(signIn.username)"]
    case .username(let username), .password(let username, _): ["username": "\(username)"]
    case .developerToken(let identity, _): ["claimed": "\(identity)"]
    case .logins(let map, _, _):
      ["providers": "\(map.logins.map(\.provider).joined(separator: " "))"]
    }
  }
}

extension Request {
  fileprivate var login: LoginRequest? {
    if case .login(let login) = operation { login } else { nil }
  }

  /// Whether it begins a sign-in, or goes on with one.
  var isSignIn: Bool {
    switch operation {
    case .login, .respond: true
    default: false
    }
  }
}

extension ProtocolErrorCode {
  /// Whether a sign-in that ends so was judged and refused. Others were not judged.
  fileprivate var refusesSignIn: Bool {
    switch self {
    case .signInFailed, .signInRequired, .backendRejected, .tokenRejected, .identityConflict,
      .accessDenied, .tooManyRequests:
      true
    default: false
    }
  }
}
