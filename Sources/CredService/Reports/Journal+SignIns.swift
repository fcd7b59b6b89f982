import CredCore
import Logging

/// The audit of sign-ins, sign-outs and accounts: the client, the means and the user name.
extension Journal {
  // MARK: Who asks

  /// The asker of a sign-in, taken when the client asks: the process may end before the sign-in
  /// does.
  func asker(
    _ requester: Requester, _ session: Session, by means: String, as username: String = ""
  ) -> SignInAsker {
    let metadata = callerMetadata(session.key.profile, requester, requester.client.unit(), 0)
    return SignInAsker(means: means, metadata: metadata).named(username)
  }

  /// The asker of a `login` that asks nothing, or that does not begin.
  func asker(
    _ requester: Requester, _ session: Session, of login: LoginRequest
  ) -> SignInAsker {
    var asker = asker(requester, session, by: login.means(in: session.profile))
    asker.metadata.merge(login.metadata) { $1 }
    return asker
  }

  // MARK: How it ends

  /// Records how a sign-in has ended, if it was judged.
  ///
  /// - Parameter error: nil if its user is signed in.
  func signInEnded(_ asker: SignInAsker, _ session: Session, _ error: ProtocolError?) {
    guard error?.code.refusesSignIn ?? true else { return }
    let event: JournalEvent = error == nil ? .signedIn : .signInRefused
    guard
      let repeats = admit(
        .audit, event.rawValue, session.key.profile, uid: session.key.uid)
    else { return }
    var metadata = asker.metadata.merging(sessionMetadata(session, repeats)) { $1 }
    metadata["means"] = "\(asker.means)"
    if let error {
      metadata["code"] = "\(error.code.rawValue)"
      // A problem that an operator must mend has another entry.
      if error.kind != .permanent {
        metadata["reason"] = "\(error.message)\(Self.hint(for: error, asker))"
      }
      log.log(event, .notice, "sign-in refused", metadata)
    } else {
      log.log(event, .info, "signed in", metadata)
    }
  }

  /// A user pool's id is in the proof of the password, so a wrong id reads like a wrong password. Only the
  /// administrator can correct it.
  private static func hint(for error: ProtocolError, _ asker: SignInAsker) -> String {
    let isOfPool = asker.means == SignedIn.Means.userPool.rawValue
    return isOfPool && error.code == .signInFailed && error.reason == "NotAuthorizedException"
      ? ", or user_pool_id" : ""
  }

  /// Call it before the session drops its state.
  func signedOut(_ session: Session, _ requester: Requester, global: Bool) {
    guard
      let repeats = admit(
        .audit, JournalEvent.signedOut.rawValue, session.key.profile, uid: session.key.uid)
    else { return }
    var metadata = sessionMetadata(session, requester, repeats)
    metadata["means"] = session.machine.state.means.map { "\($0)" }
    if global { metadata["global"] = "yes" }
    log.log(.signedOut, .info, "signed out", metadata)
  }

  /// The asker and the account.
  func accountMetadata(
    _ action: AccountAction, _ username: String, _ session: Session, _ requester: Requester
  ) -> Logger.Metadata {
    var metadata = sessionMetadata(session, requester, 0)
    metadata["identity"] = nil
    metadata["action"] = "\(action.rawValue)"
    metadata["username"] = "\(username)"
    return metadata
  }

  /// Records how an action of `account` ended at the backend.
  ///
  /// - Parameter asker: the asker, taken before; the client may have left meanwhile.
  func accountActionEnded(
    _ call: AccountCall, _ asker: Logger.Metadata,
    _ result: Result<AccountResult, UpstreamFailure>
  ) {
    var metadata = asker
    let failure =
      if case .success(.codeSent(_, let unsent?)) = result { unsent } else { result.failure }
    if let failure {
      metadata["code"] = "\(failure.code.rawValue)"
      if let reason = failure.reason { metadata["reason"] = "\(reason)" }
    }
    logAction(call.input.action, call.sessionKey, isDone: failure == nil, metadata)
  }

  /// Records an action of `account` that was not allowed: not listed, too late or too often.
  func accountActionRefused(
    _ input: AccountInput, _ error: ProtocolError, _ session: Session, _ requester: Requester
  ) {
    guard error.code.refusesSignIn else { return }
    let username = input.username ?? session.machine.state.providerSession?.username ?? ""
    var metadata = accountMetadata(input.action, username, session, requester)
    metadata["code"] = "\(error.code.rawValue)"
    if let reason = error.reason { metadata["reason"] = "\(reason)" }
    logAction(input.action, session.key, isDone: false, metadata)
  }

  private func logAction(
    _ action: AccountAction, _ key: SessionKey, isDone: Bool, _ metadata: Logger.Metadata
  ) {
    guard
      let repeats = admit(
        .audit, JournalEvent.accountAction.rawValue, key.profile, uid: key.uid,
        detail: isDone ? action.rawValue : "refused")
    else { return }
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
    _ session: Session, _ requester: Requester, _ repeats: Int
  ) -> Logger.Metadata {
    let caller = callerMetadata(
      session.key.profile, requester, requester.client.unit(), repeats)
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

extension AccountCall {
  /// The session of the call's user and profile.
  var sessionKey: SessionKey { SessionKey(uid: user.uid, profile: profile.settings.name) }
}

extension LoginRequest {
  /// The means of signing in. A user name, with or without a password, belongs to the user pool if
  /// the profile has one.
  fileprivate func means(in profile: Profile) -> String {
    switch signIn {
    case .host: "host"
    case .providerTokens(let signIn): signIn.issuer.traits.means.rawValue
    case .browser: "browser"
    case .device: "device"
    case .username, .password: profile.poolProfile == nil ? "password" : "userPool"
    case .developerToken: "token"
    case .logins: "logins"
    }
  }

  /// The user name at the backend or the provider.
  fileprivate var metadata: Logger.Metadata {
    var metadata: Logger.Metadata =
      switch signIn {
      case .host, .browser, .device, .logins: [:]
      case .providerTokens(let signIn): ["username": "\(signIn.username)"]
      case .username(let username), .password(let username, _, _): ["username": "\(username)"]
      case .developerToken(let identity, _): ["claimed": "\(identity)"]
      }
    if let logins = signIn.logins?.logins {
      metadata["providers"] = "\(logins.map(\.provider).joined(separator: " "))"
    }
    return metadata
  }
}

extension ProtocolErrorCode {
  /// Whether a sign-in that ends with this error was judged and refused. With other errors it was
  /// not judged.
  fileprivate var refusesSignIn: Bool {
    switch self {
    case .signInFailed, .signInRequired, .backendRejected, .tokenRejected, .identityConflict,
      .accessDenied, .tooManyRequests:
      true
    default: false
    }
  }
}
