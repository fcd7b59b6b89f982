import CredCore

/// What upstreams answer in the tests of sessions.
struct Fixtures {
  let identity: IdentityID
  let other: IdentityID
  let developerToken: DeveloperToken

  init() {
    do throws(InvalidInput) {
      identity = try IdentityID(Samples.identityText)
      other = try IdentityID("us-east-1:00000000-1111-2222-3333-444444444444")
      developerToken = try DeveloperToken(Secret("token"))
    } catch {
      preconditionFailure("\(error)")
    }
  }

  func token(_ lifetime: Double? = 900, of identity: IdentityID? = nil) -> UpstreamOutcome {
    .token(
      identityID: identity ?? self.identity, token: developerToken,
      lifetime: lifetime.map { .seconds(1) * $0 })
  }

  func credentials(_ lifetime: Double = 3600, of identity: IdentityID? = nil) -> UpstreamOutcome {
    .credentials(
      Credentials(
        accessKeyID: "ASIAEXAMPLEEXAMPLE00", secretAccessKey: Secret("key"),
        sessionToken: Secret("session"), expiration: WallTime(milliseconds: 0)),
      identityID: identity ?? self.identity, lifetime: .seconds(1) * lifetime)
  }

  func failed(
    _ failureClass: FailureClass = .transient(retryAfter: nil),
    _ code: ProtocolErrorCode = .backendUnavailable
  ) -> UpstreamOutcome {
    .failed(failure(failureClass, code))
  }

  func failure(
    _ failureClass: FailureClass = .transient(retryAfter: nil),
    _ code: ProtocolErrorCode = .backendUnavailable
  ) -> UpstreamFailure {
    UpstreamFailure(
      upstream: .backend("corp"), failureClass: failureClass, code: code, message: "it failed",
      severity: .expected)
  }

  // MARK: Calls

  /// The exchange of the token above.
  func exchange(_ identity: IdentityID? = nil) -> UpstreamCall {
    let logins = try? LoginsMap([("cognito-identity.amazonaws.com", developerToken.token)])
    return .getCredentials(
      identityID: identity ?? self.identity, logins: logins ?? LoginsMap(), customRoleARN: nil)
  }

  func guestExchange() -> UpstreamCall {
    .getCredentials(identityID: identity, logins: LoginsMap(), customRoleARN: nil)
  }

  func callback(_ identity: IdentityID? = nil, forced: Bool = false) -> UpstreamCall {
    .tokenCallback(identityID: identity, logins: LoginsMap(), session: nil, isForced: forced)
  }
}

extension Fixtures {
  static let facebook = "graph.facebook.com"
  static let google = "accounts.google.com"
  static let role = "arn:aws:iam::123456789012:role/admin"

  // MARK: What users sign in with

  func password(_ userName: String) -> SignInInput {
    .password(username: userName, password: Secret("secret of \(userName)"))
  }

  func clientToken(_ identity: IdentityID? = nil) -> SignInInput {
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
    _ identity: IdentityID? = nil, logins: LoginsMap = LoginsMap(), session: BackendSession?,
    forced: Bool = false
  ) -> UpstreamCall {
    .tokenCallback(identityID: identity, logins: logins, session: session, isForced: forced)
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
  var unavailable: UpstreamOutcome { failed() }

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
