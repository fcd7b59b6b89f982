import CredCore

extension Fixtures {
  static let facebook = "graph.facebook.com"
  static let google = "accounts.google.com"
  static let role = "arn:aws:iam::123456789012:role/admin"

  // MARK: What users sign in with

  func password(_ userName: String) -> SignInInput {
    .password(username: userName, password: Secret("secret of \(userName)"))
  }

  func tokenAtHand(_ identity: IdentityID? = nil) -> SignInInput {
    .developerToken(identityID: identity ?? self.identity, token: developerToken)
  }

  func logins(_ providers: String..., token: String = "token") -> SignInInput {
    .logins(map(providers, token: token))
  }

  func map(_ providers: [String], token: String = "token") -> LoginsMap {
    do throws(InvalidInput) {
      return try LoginsMap(providers.map { ($0, Secret("\($0)'s \(token)")) })
    } catch {
      preconditionFailure("\(error)")
    }
  }

  // MARK: Calls

  func givePassword(_ userName: String) -> UpstreamCall {
    .signIn(username: userName, password: Secret("secret of \(userName)"))
  }

  func callback(
    _ identity: IdentityID? = nil, logins: LoginsMap = LoginsMap(), session: BackendSession?
  ) -> UpstreamCall {
    .tokenCallback(identityID: identity, logins: logins, session: session)
  }

  func exchange(
    _ logins: LoginsMap, of identity: IdentityID? = nil, role: String? = nil
  ) -> UpstreamCall {
    .getCredentials(identityID: identity ?? self.identity, logins: logins, customRoleARN: role)
  }

  func assumeRole(_ identity: IdentityID? = nil) -> UpstreamCall {
    .assumeRole(identityID: identity ?? self.identity, token: developerToken.token)
  }

  // MARK: Outcomes

  func session(_ userName: String) -> BackendSession {
    BackendSession(token: Secret("session of \(userName)"), developerUserIdentifier: userName)
  }

  func accepted(_ userName: String) -> UpstreamOutcome {
    .signedIn(session(userName))
  }

  var refusedPassword: UpstreamOutcome { failed(.signInFailed, .signInFailed) }
  var refusedToken: UpstreamOutcome { failed(.newTokenOnce, .tokenRejected) }
  var away: UpstreamOutcome { failed() }

  // MARK: News

  func changed(_ previous: IdentityID?, _ current: IdentityID?) -> Announcement {
    .identityChanged(previous: previous, current: current)
  }

  var refreshed: Announcement { .refreshed(expiration: WallTime(milliseconds: 0)) }
}

extension SessionDriver {
  /// A password that is accepted, and credentials for it.
  @discardableResult
  mutating func signIn(
    _ userName: String, as identity: IdentityID? = nil, _ fixtures: Fixtures = Fixtures()
  ) -> UInt64 {
    let login = login(fixtures.password(userName))
    finish(fixtures.accepted(userName), after: 0)
    finish(fixtures.token(of: identity), after: 0)
    finish(fixtures.credentials(of: identity), after: 0)
    return login
  }

  /// A guest gets an identity and credentials.
  mutating func beGuest(_ fixtures: Fixtures = Fixtures()) {
    ask()
    finish(.identity(fixtures.identity), after: 0)
    finish(fixtures.credentials(), after: 0)
  }

  /// What `login` brought for a social user, with the identity that Cognito has for it.
  @discardableResult
  mutating func signIn(
    _ signIn: SignInInput, as identity: IdentityID? = nil, _ fixtures: Fixtures = Fixtures()
  ) -> UInt64 {
    let login = login(signIn)
    if case .getID = calls.last { finish(.identity(identity ?? fixtures.identity), after: 0) }
    finish(fixtures.credentials(of: identity), after: 0)
    return login
  }

  /// Only what comes from now on is looked at, calls included.
  mutating func forgetAll() {
    forget()
    forgetCalls()
  }

  var states: [String] {
    announcements.compactMap {
      if case .state(let state) = $0 { state.reported.rawValue } else { nil }
    }
  }

  var identityChanges: [Announcement] {
    announcements.filter { if case .identityChanged = $0 { true } else { false } }
  }
}
