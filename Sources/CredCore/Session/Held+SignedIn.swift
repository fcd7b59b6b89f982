extension SessionMachine {
  /// The user who is signed in, or was until the tokens became invalid; nil if there is none.
  ///
  /// - Parameters:
  ///   - hostName: the user's name on this host.
  ///   - wallTime: the time of day at an instant.
  public func signedIn(hostName: String?, wallTime: (Instant) -> WallTime) -> SignedIn? {
    held.signedIn(plan, hostName: hostName, wallTime: wallTime)
  }
}

extension Held {
  /// The user who is signed in, or was until the tokens became invalid; nil if there is none.
  ///
  /// - Parameters:
  ///   - hostName: the user's name on this host.
  ///   - wallTime: the time of day at an instant.
  func signedIn(
    _ plan: SessionPlan, hostName: String?, wallTime: (Instant) -> WallTime
  ) -> SignedIn? {
    let until = signInEnd(plan).map(wallTime)
    switch state.method {
    case nil: return state == .guest ? SignedIn(by: .guest) : nil
    case .source: return nil
    case .host: return SignedIn(by: .host, username: hostName, subject: link?.subject)
    case .password:
      return SignedIn(by: .password, username: username, subject: link?.subject)
    case .provider(let session):
      return SignedIn(
        by: session.issuer.traits.means, username: session.username,
        subject: session.subject, until: until)
    case .developerToken:
      return SignedIn(by: .token, username: token?.token.developerUser, until: until)
    case .logins, .tokenFile:
      return SignedIn(by: .logins, subject: logins.subject, until: until)
    }
  }

  /// When the tokens of a client or a provider expire, if nothing renews them.
  private func signInEnd(_ plan: SessionPlan) -> Instant? {
    switch state {
    case .signedIn(.developerToken): plan.backend == .host ? nil : token?.expires
    case .signedIn(.provider(let session)):
      session.refreshToken.isEmpty ? session.lastToken(plan)?.expires : nil
    case .signedIn(.logins): loginsEnd
    default: nil
    }
  }
}

extension LoginsMap {
  /// `sub` of the first login that is a JWT with one.
  var subject: String? {
    logins.lazy.compactMap { LoginSubject.subject(of: $0.token) }.first
  }
}

extension DeveloperToken {
  /// The developer user identifier: the end of `provider:pool:user` in `amr`. A pool's id has a
  /// colon of its own.
  fileprivate var developerUser: String? {
    guard case .array(let methods)? = JWT.claims(of: token)?["amr"] else { return nil }
    for method in methods {
      let parts = (method.text ?? "").split(
        separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
      if parts.count == 4, String(parts[3]).isShowable { return String(parts[3]) }
    }
    return nil
  }
}

extension String {
  /// Whether a name from a token may be shown: of a sensible length, and without controls.
  var isShowable: Bool {
    (1...Limits.Session.usernameLength).contains(unicodeScalars.count)
      && unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }
}
