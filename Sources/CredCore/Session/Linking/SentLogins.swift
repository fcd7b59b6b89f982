/// Logins of a sign-in that go to Cognito beside the user's own.
///
/// Once they are sent, Cognito may have linked them for good, whatever becomes of the answer: it may be lost,
/// another sign-in may take the place of this one, the daemon may be killed. So a session that goes back to
/// its state before the sign-in remembers whose they were, as it does of logins that have ended, and asks
/// before it links another person's login of the same provider.
extension SignInUnderWay {
  /// Remembers them. Call it before the first call of the sign-in.
  ///
  /// - Parameter held: what the session holds with them.
  mutating func noteSent(_ added: LoginsMap, by held: Held) {
    guard let identity = before.identityID, held.identityID == identity,
      held.state.sendsLoginsToCognito
    else { return }
    let known = before
    for login in added.logins {
      // Of a login without a subject nobody can be asked: it goes to Cognito by itself.
      guard let subject = LoginSubject.subject(of: login.token), !known.knows(login.provider)
      else { continue }
      before.endedLogins.add(login.provider, subject: subject, of: identity)
      notedLogins.append(login.provider)
    }
  }

  /// The state to go back to after a failure.
  func before(_ failure: UpstreamFailure) -> Held {
    guard failure.showsThatNothingIsLinked else { return before }
    var before = before
    for provider in notedLogins { before.endedLogins.remove(provider, before.identityID) }
    return before
  }
}

extension Held {
  /// Whether it has a login of that provider, or remembers one.
  fileprivate func knows(_ provider: String) -> Bool {
    logins.logins.contains { LoginsMap.areSame($0.provider, provider) }
      || !endedLogins.subjects(of: provider).isEmpty
  }
}

extension SignInState {
  /// Whether a client's logins go to Cognito, and not to a backend.
  fileprivate var sendsLoginsToCognito: Bool {
    switch self {
    case .signedIn(.logins), .signedIn(.provider): true
    case .signedOut, .guest, .signedIn, .tokensInvalid: false
    }
  }
}

extension UpstreamFailure {
  /// Whether Cognito has said no to the logins themselves, or was not asked.
  fileprivate var showsThatNothingIsLinked: Bool {
    upstream == .cognitoIdentity && !failureClass.isTransient
      && failureClass != .poolMisconfigured
  }
}
