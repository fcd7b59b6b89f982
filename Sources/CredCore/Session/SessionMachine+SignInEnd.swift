/// Sign-ins that nothing renews: they end with their tokens. A client's developer token is not among them;
/// ``SessionMachine/dropExpired(_:)`` drops it.
extension SessionMachine {
  /// When the sign-in ends; nil for one that goes on. A call under way may still succeed with its tokens.
  var signInEnd: Instant? { work == .idle ? held.lastUse(plan) : nil }

  mutating func endSignIn(_ context: inout EventContext) {
    guard let signInEnd, signInEnd <= context.now else { return }
    switch held.state {
    case .signedIn(.provider(let session)):
      setState(.tokensInvalid(.provider(session.keeping(id: false, access: false))), &context)
    case .signedIn(let method): setState(.tokensInvalid(method), &context)
    case .tokensInvalid, .signedOut, .guest: break
    }
  }
}

extension Held {
  /// Until when a sign-in lasts that nothing renews; nil for another one.
  fileprivate func lastUse(_ plan: SessionPlan) -> Instant? {
    switch state {
    case .signedIn(.logins): return loginsEnd
    case .signedIn(.provider(let session)) where session.refreshToken.isEmpty:
      let token = session.lastToken(plan)
      guard let token, token.lifetime != nil else {
        // Nobody knows the token's end: the credentials that it brought decide.
        return credentials?.servableUntil ?? Instant(nanoseconds: .min)
      }
      return token.usableUntil
    default: return nil
    }
  }

  /// When the last login expires; nil while one does not say when.
  var loginsEnd: Instant? {
    let ends = loginExpirations.ends
    guard logins.logins.allSatisfy({ ends[$0.provider] != nil }) else { return nil }
    return ends.values.map(\.time).max()
  }

  /// A fingerprint of the user and of how the user signed in. Watchers get an event when it changes. A linked
  /// account does not count. Nil if nobody is signed in, or if the user's token has ended.
  func shownUser(_ plan: SessionPlan) -> Fingerprint? {
    guard case .signedIn(let method) = state, method != .developerToken || token != nil else {
      return nil
    }
    var own = self
    own.link = nil
    let user = own.signedIn(plan, hostName: nil) { _ in WallTime(milliseconds: 0) }
    var shown = Fingerprint()
    for text in [user?.by.rawValue, user?.username, user?.subject] { shown.add(text ?? "") }
    return shown
  }
}

extension ProviderSession {
  /// The token with which a sign-in ends that nothing renews: the ID token, which brings credentials; where
  /// tokens are all that the profile gives, the one that lasts longest.
  func lastToken(_ plan: SessionPlan) -> HeldProviderToken? {
    guard plan.product == .tokens else { return idToken }
    return [idToken, accessToken].compactMap(\.self).max { $0.usableUntil < $1.usableUntil }
  }

  /// Whether the provider gave no refresh token. One that it refused later is dropped with the address from
  /// which it came.
  var neverRenews: Bool { refreshToken.isEmpty && tokenEndpoint != nil }
}
