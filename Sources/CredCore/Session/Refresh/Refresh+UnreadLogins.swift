/// Logins that replace one of the same provider, and of which nobody but Cognito can say whose they are:
/// tokens of Facebook and Amazon, assertions of SAML.
///
/// The same person has a new one at each sign-in, so nobody is asked. Each goes to Cognito once with the
/// session's identity, and with no other login: that links nothing, and Cognito refuses it where it is
/// not a login of this identity. Only then all logins go together.
extension OutgoingLogins {
  /// Those among the logins of a sign-in.
  func unread(of added: LoginsMap) -> [LoginsMap.Login] {
    let judged = judged
    return added.logins.filter { judged[$0.provider] == .unread }
  }
}

extension SessionMachine {
  /// Takes what Cognito has said of one of them.
  mutating func loginProved(
    of provider: String, _ outcome: UpstreamOutcome, _ refresh: Refresh,
    _ context: inout EventContext
  ) {
    var refresh = refresh
    if case .failed(let failure) = outcome {
      return fail(refresh, failure.ofUnreadLogin(provider), &context)
    }
    let left = Array(refresh.unreadLogins.dropFirst())
    refresh.atCognito = left.isEmpty ? .asked : .proving(left)
    startNextCall(refresh, &context)
  }
}

extension Refresh {
  /// The call that shows whether the next of them is a login of the identity; nil where none is left, or
  /// where no identity is known.
  func unreadLoginCall(_ facts: RefreshFacts) -> UpstreamCall? {
    guard let login = unreadLogins.first, let identityID = facts.identity else { return nil }
    return call(proving: login, of: identityID, facts)
  }

  /// The next of them, if a call shows what Cognito says of it.
  func loginProved(by call: UpstreamCall) -> LoginsMap.Login? {
    switch call {
    case .getCredentials(_, let logins, _), .getOpenIDToken(_, let logins):
      unreadLogins.first.flatMap { logins.logins == [$0] ? $0 : nil }
    default: nil
    }
  }
}

extension Held {
  /// The session without them; nil where none is left, or where nothing else says whose identity it is.
  /// While no identity is known, its call comes first: that of all together would link them.
  func withoutUnreadLogins(_ refresh: Refresh) -> Held? {
    guard !refresh.unreadLogins.isEmpty else { return nil }
    var known = self
    for login in refresh.unreadLogins { known.logins.remove(login.provider) }
    switch state {
    case .signedIn(.provider): return known
    case .signedIn(.logins) where !known.logins.isEmpty: return known
    // A backend says whose identity it is.
    default: return nil
    }
  }
}

extension UpstreamFailure {
  /// What a refusal of such a login means.
  fileprivate func ofUnreadLogin(_ provider: String) -> UpstreamFailure {
    guard refusesIdentity else { return self }
    return mistake(
      "\(upstream) does not take the token of \(provider.quoted) as one of the user who is signed in: "
        + "another person signs in after a logout, or with --alone")
  }
}
