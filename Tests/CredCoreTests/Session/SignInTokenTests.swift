import CredCore
import TestSupport
import Testing

/// A developer token that a client brings, with its IdentityId: the developer sign-in of
/// AWSMobileClient.
struct SignInTokenTests {
  let fixtures = Fixtures()

  @Test func aClientsTokenIsExchangedWithoutACallback() {
    var session = SessionDriver(.none)
    let login = session.login(fixtures.clientToken(), expires: 900)
    expect(session.calls, equals: [fixtures.exchange()])
    expect(session.announcements, equals: [])
    session.finish(fixtures.credentials())
    expect(session.answer(to: login), equals: .state)
    expect(
      session.announcements,
      equals: [
        fixtures.changed(nil, fixtures.identity), .state(.signedIn(.developerToken)),
        fixtures.refreshed,
      ])
  }

  @Test func aClientsTokenBringsItsIdentity() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.clientToken())
    session.forgetAll()
    session.signIn(fixtures.clientToken(fixtures.other), as: fixtures.other)
    expect(session.calls, equals: [fixtures.exchange(fixtures.other)])
    expect(
      session.announcements,
      equals: [
        fixtures.changed(fixtures.identity, fixtures.other), fixtures.refreshed,
      ])
  }

  @Test func cognitosIdentityReplacesTheClients() {
    var session = SessionDriver(.none)
    session.login(fixtures.clientToken())
    session.finish(fixtures.credentials(of: fixtures.other))
    expect(session.machine.identityID, equals: fixtures.other)
    expect(session.identityChanges, equals: [fixtures.changed(nil, fixtures.other)])
  }

  @Test func theFormerUsersCredentialsAreNotServedDuringTheExchange() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.clientToken())
    session.login(fixtures.clientToken(fixtures.other))
    let get = session.ask()
    expect(session.answer(to: get) == nil)
    session.finish(fixtures.credentials(of: fixtures.other))
    expect(session.answer(to: get), equals: .credentials)
  }

  @Test func aBadTokenIsRefusedAndNotAnnounced() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.clientToken())
    session.forgetAll()
    let login = session.login(fixtures.clientToken(fixtures.other))
    session.finish(fixtures.refusedToken)
    expect(session.answer(to: login), equals: .refused(.tokenRejected))
    expect(session.machine.identityID, equals: fixtures.identity)
    expect(session.machine.state, equals: .signedIn(.developerToken))
    expect(session.announcements, equals: [])
    expect(session.calls.count, equals: 1)
    let get = session.ask()
    expect(session.answer(to: get), equals: .credentials)
  }

  @Test(arguments: [SessionPlan.BackendTrust.none, .host])
  func aTokenThatCognitoCannotCheckIsRefused(_ backend: SessionPlan.BackendTrust) {
    var session = SessionDriver(backend)
    let login = session.login(fixtures.clientToken(), expires: 900)
    session.finish(fixtures.failed(.transient(retryAfter: nil), .cognitoUnavailable))
    expect(session.answer(to: login), equals: .refused(.cognitoUnavailable))
    expect(session.announcements, equals: [])
    expect(session.machine.state, equals: .signedOut(byUser: false))
    expect(session.machine.identityID == nil && session.machine.token == nil)
  }

  @Test func theSessionBeforeStaysWhileCognitoIsUnavailable() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.clientToken())
    let login = session.login(fixtures.clientToken(fixtures.other))
    session.finish(fixtures.failed(.throttled(retryAfter: nil), .throttled))
    expect(session.answer(to: login), equals: .refused(.throttled))
    expect(session.machine.identityID, equals: fixtures.identity)
    let get = session.ask()
    expect(session.answer(to: get), equals: .credentials)
  }

  // MARK: An identity that only a client claimed

  @Test func aClaimedIdentityIsNotTheSessionsBeforeCognitoAcceptedIt() {
    var session = SessionDriver(.none)
    session.login(fixtures.clientToken(), expires: 900)
    expect(session.calls, equals: [fixtures.exchange()])
    expect(session.machine.identityID == nil)
    expect(session.machine.snapshot.identityID == nil)
    session.finish(fixtures.credentials())
    expect(session.machine.identityID, equals: fixtures.identity)
  }

  /// The backend refuses the user for a moment; what comes next must not name the client's identity.
  @Test func anIdentityOfAClientsTokenNeverReachesABackend() {
    var session = SessionDriver(.host)
    session.signIn(fixtures.clientToken(fixtures.other), as: fixtures.other)
    session.forgetAll()
    session.advance(by: 60)
    session.ask(refresh: true)
    session.finish(fixtures.refusedToken)
    session.finish(fixtures.failed(.signInRequired, .signInRequired))
    expect(session.machine.state, equals: .tokensInvalid(.host))
    session.restart()
    session.advance(by: 600)
    session.ask(refresh: true)
    session.login(.host)
    let callbacks = session.calls.compactMap { call -> IdentityID?? in
      if case .tokenCallback(let identityID, _, _, _) = call { .some(identityID) } else { nil }
    }
    expect(callbacks.count >= 3)
    expect(callbacks.allSatisfy { $0 == .some(nil) })
    expect(session.machine.identityForBackend == nil)
    session.finish(fixtures.token())
    expect(session.machine.identityForBackend, equals: fixtures.identity)
  }

  @Test func anExpiredTokenMakesTheStateTokensInvalidAndValidCredentialsAreServed() {
    var session = SessionDriver(.none)
    session.login(fixtures.clientToken(), expires: 900)
    session.finish(fixtures.credentials(), after: 0)
    session.forgetAll()
    session.advance(by: 839)
    expect(session.states, equals: [])
    session.advance(by: 1)
    expect(session.states, equals: ["tokensInvalid"])
    expect(session.machine.token == nil)
    let served = session.ask()
    expect(session.answer(to: served), equals: .credentials)
    let waiting = session.ask(refresh: true, wait: .seconds(300))
    session.advance(by: 299)
    expect(session.answer(to: waiting) == nil)
    expect(session.calls, equals: [])
    session.login(fixtures.clientToken(), expires: 900)
    session.finish(fixtures.credentials())
    expect(session.answer(to: waiting), equals: .credentials)
    expect(session.states, equals: ["tokensInvalid", "signedIn"])
  }

  @Test func aWaiterIsToldThatTheTokenHasExpired() {
    var session = SessionDriver(.none)
    session.login(fixtures.clientToken(), expires: 900)
    session.finish(fixtures.credentials(30))
    session.advance(by: 900)
    let get = session.ask()
    session.advance(by: 5)
    expect(session.answer(to: get), equals: .refused(.signInRequired))
    expect(session.refusal(of: get)?.message, equals: "the developer token has run out")
  }

  @Test func anExchangeUnderWayMayOutlastItsToken() {
    var session = SessionDriver(.none)
    let login = session.login(fixtures.clientToken(), expires: 10)
    session.advance(by: 15)
    expect(session.states, equals: [])
    session.finish(fixtures.credentials())
    expect(session.answer(to: login), equals: .state)
    expect(session.states, equals: ["signedIn", "tokensInvalid"])
  }

  @Test func aTokenThatSeemsExpiredIsSentToCognito() {
    var session = SessionDriver(.none)
    let login = session.login(fixtures.clientToken(), expires: -3600)
    expect(session.calls, equals: [fixtures.exchange()])
    session.finish(fixtures.credentials())
    expect(session.answer(to: login), equals: .state)
    expect(session.states, equals: ["signedIn"])
  }

  @Test func aTokenThatIsRefusedLaterNeedsALogin() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.clientToken())
    session.forgetAll()
    session.advance(by: 60)
    let get = session.ask(refresh: true, wait: .seconds(60))
    session.finish(fixtures.refusedToken)
    expect(session.states, equals: ["tokensInvalid"])
    expect(session.openCalls.isEmpty)
    expect(session.machine.token == nil)
    let late = session.ask(refresh: true, wait: .zero)
    expect(session.refusal(of: late)?.message.contains("no longer accepted") == true)
    session.signIn(fixtures.clientToken())
    expect(session.answer(to: get), equals: .credentials)
  }

  @Test func aTokenRequestGetsTheClientsToken() {
    var session = SessionDriver(.none)
    session.login(fixtures.clientToken(), expires: 900)
    session.finish(fixtures.credentials())
    let token = session.ask(.token)
    expect(session.answer(to: token), equals: .token)
    expect(session.calls.count, equals: 1)
  }

  @Test func aClientsTokenIsNotGivenBeforeItIsAccepted() {
    var session = SessionDriver(.none)
    let token = session.ask(.token, wait: .seconds(60))
    session.login(fixtures.clientToken(), expires: 900)
    expect(session.answer(to: token) == nil)
    session.finish(fixtures.refusedToken)
    expect(session.answer(to: token) == nil)
    session.login(fixtures.clientToken(), expires: 900)
    session.finish(fixtures.credentials())
    expect(session.answer(to: token), equals: .token)
  }

  // MARK: Beside a backend

  @Test func aBackendThatTrustsTheHostGivesTheNextToken() {
    var session = SessionDriver(.host)
    session.login(fixtures.clientToken(fixtures.other), expires: 900)
    session.finish(fixtures.credentials(of: fixtures.other))
    session.forgetAll()
    session.advance(by: 1000)
    expect(session.announcements, equals: [])
    session.ask(refresh: true)
    // The backend does not say whose the client's identity is: it must not link its user with it.
    expect(session.calls, equals: [fixtures.callback(forced: true)])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.machine.state, equals: .signedIn(.host))
    expect(session.identityChanges, equals: [fixtures.changed(fixtures.other, fixtures.identity)])
  }

  @Test func aBackendGivesTheNextTokenWithinARefresh() {
    var session = SessionDriver(.host)
    session.signIn(fixtures.clientToken())
    session.forgetAll()
    session.advance(by: 60)
    let get = session.ask(refresh: true)
    session.finish(fixtures.refusedToken)
    expect(session.calls, equals: [fixtures.exchange(), fixtures.callback(forced: true)])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: get), equals: .credentials)
    // The host's user now, and no longer the token's.
    expect(session.states, equals: ["signedIn"])
  }

  @Test func aBadTokenFailsTheSignInBesideABackendToo() {
    var session = SessionDriver(.host)
    let login = session.login(fixtures.clientToken())
    session.finish(fixtures.refusedToken)
    expect(session.answer(to: login), equals: .refused(.tokenRejected))
    expect(session.machine.state, equals: .signedOut(byUser: false))
    expect(session.calls.count, equals: 1)
  }
}

/// A token file is a login without a client.
struct TokenFileTests {
  let fixtures = Fixtures()
  private static let issuer = "oidc.example"

  private func plan(_ backend: SessionPlan.BackendTrust = .none) -> SessionPlan {
    SessionPlan(backend: backend, tokenFileProvider: Self.issuer)
  }

  private func login(_ token: String) -> LoginsMap {
    (try? LoginsMap([(Self.issuer, Secret(token))])) ?? LoginsMap()
  }

  @Test func aGetSignsInByTheTokenFile() {
    var session = SessionDriver(plan: plan())
    let get = session.ask()
    session.finish(.fileToken(Secret("one")))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.credentials())
    expect(
      session.calls,
      equals: [
        .readTokenFile, .getID(logins: login("one")), fixtures.exchange(login("one")),
      ])
    expect(session.answer(to: get), equals: .credentials)
    expect(session.machine.state, equals: .signedIn(.tokenFile))
  }

  @Test func theTokenFileIsReadForEachRefresh() {
    var session = SessionDriver(plan: plan())
    session.ask()
    session.finish(.fileToken(Secret("one")))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.credentials())
    session.forgetAll()
    session.advance(by: 60)
    session.ask(refresh: true)
    session.finish(.fileToken(Secret("two")))
    expect(session.calls, equals: [.readTokenFile, fixtures.exchange(login("two"))])
  }

  @Test func anExpiredFileTokenIsRetriedWithTheNextOne() {
    var session = SessionDriver(plan: plan())
    session.ask()
    session.finish(.fileToken(Secret("old")))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.refusedToken)
    expect(session.machine.state, equals: .signedOut(byUser: false))
    session.advance(by: 5)
    let get = session.ask()
    session.finish(.fileToken(Secret("new")))
    session.finish(fixtures.credentials())
    expect(session.answer(to: get), equals: .credentials)
  }

  @Test func anUnreadableTokenFileIsAFailureLikeOthers() {
    var session = SessionDriver(plan: plan())
    let get = session.ask()
    session.finish(fixtures.failed(.permanentConfiguration, .cognitoUnavailable))
    expect(session.answer(to: get), equals: .refused(.cognitoUnavailable))
    expect(session.openCalls.isEmpty)
  }

  @Test func anEmptyTokenFileIsRefusedBeforeAnyCall() {
    var session = SessionDriver(plan: plan())
    let get = session.ask()
    session.finish(.fileToken(Secret("")))
    expect(session.calls, equals: [.readTokenFile])
    expect(session.answer(to: get), equals: .refused(.cognitoUnavailable))
  }

  @Test func besideABackendTheFilesLoginIsLinked() {
    var session = SessionDriver(plan: plan(.host))
    session.ask()
    session.finish(.fileToken(Secret("one")))
    expect(session.calls.last, equals: fixtures.callback(logins: login("one"), session: nil))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.machine.state, equals: .signedIn(.host))
    session.advance(by: 60)
    session.askForAWholeHour()
    // The held token needs no callback, and so no file.
    expect(session.calls.last, equals: fixtures.exchange())
  }

  @Test func addedLoginsDoNotMakeTheFilesLoginStale() {
    var session = SessionDriver(plan: plan())
    session.ask()
    session.finish(.fileToken(Secret("one")))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.credentials())
    session.forgetAll()
    let login = session.login(fixtures.logins(Fixtures.google))
    session.finish(.fileToken(Secret("two")))
    session.finish(fixtures.credentials())
    expect(session.answer(to: login), equals: .state)
    expect(session.calls.first, equals: .readTokenFile)
    expect(session.machine.logins[Self.issuer], equals: Secret("two"))
    expect(session.machine.logins.logins.count, equals: 2)
  }

  @Test func afterALogoutALoginUsesTheTokenFileAgain() {
    var session = SessionDriver(plan: plan())
    session.ask()
    session.finish(.fileToken(Secret("one")))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.credentials())
    session.send(.loggedOut)
    session.forgetAll()
    let get = session.ask(wait: .seconds(60))
    expect(session.calls, equals: [])
    let login = session.login(.host)
    session.finish(.fileToken(Secret("two")))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.credentials())
    expect(session.answer(to: login), equals: .state)
    expect(session.answer(to: get), equals: .credentials)
    expect(session.machine.state, equals: .signedIn(.tokenFile))
  }
}
