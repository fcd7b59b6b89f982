import TestSupport
import Testing

@testable import CredCore

/// Sessions of a user pool: sign-in, renewal, and what a failure means.
struct UserPoolSessionTests {
  private let fixtures = Fixtures()

  private func refused(
    _ upstream: Upstream = .backend("staff"), _ failureClass: FailureClass = .signInRequired,
    _ reason: String? = nil
  ) -> UpstreamOutcome {
    var failure = UpstreamFailure(
      upstream: upstream, failureClass: failureClass, code: .signInRequired, message: "it failed",
      severity: .expected)
    failure.reason = reason
    return .failed(failure)
  }

  // MARK: Sign-in

  @Test func aSignInBringsCredentialsByTheIDToken() {
    var session = SessionDriver.ofUserPool()
    let login = session.login(fixtures.poolSignIn())
    expect(session.calls, equals: [.getID(logins: fixtures.providerLogins())])
    session.finish(.identity(fixtures.identity))
    expect(session.calls.last, equals: fixtures.exchange(fixtures.providerLogins()))
    session.finish(fixtures.credentials())
    expect(session.answer(to: login), equals: .state)
    expect(session.machine.credentials != nil)
    let shown = session.machine.signedIn(hostName: "host-alice") { _ in WallTime(milliseconds: 0) }
    expect(shown?.by, equals: .userPool)
    expect(shown?.username, equals: "alice")
    expect(shown?.subject, equals: "s-1")
    expect(session.machine.state.isPersonal)
  }

  @Test func theBasicFlowAsksCognitoForATokenFirst() {
    var session = SessionDriver(
      plan: SessionPlan(backend: .provider(Fixtures.issuer), flow: .basic))
    session.login(fixtures.poolSignIn())
    session.finish(.identity(fixtures.identity))
    expect(
      session.calls.last,
      equals: .getOpenIDToken(identityID: fixtures.identity, logins: fixtures.providerLogins()))
    session.finish(fixtures.token())
    expect(session.calls.last, equals: fixtures.assumeRole())
  }

  @Test func aSignInOfAnotherPoolOrClientIsRefusedWithoutARequest() throws {
    let other = ProviderIssuer(
      pool: Fixtures.userPool, clientID: "2other", url: Fixtures.issuer.url)
    var session = SessionDriver.ofUserPool()
    let login = session.login(fixtures.poolSignIn(of: other))
    expect(session.answer(to: login), equals: .refused(.signInFailed))
    expect(session.calls, equals: [])
    expect(session.machine.state, equals: .signedOut(byUser: false))
  }

  @Test func aSignInWithoutARefreshTokenIsRefused() {
    var session = SessionDriver.ofUserPool()
    let login = session.login(fixtures.poolSignIn(refresh: nil))
    expect(session.answer(to: login), equals: .refused(.signInFailed))
    expect(session.machine.state, equals: .signedOut(byUser: false))
  }

  @Test func anotherUserGetsAnotherIdentity() {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    session.login(fixtures.poolSignIn("bob", at: session.now))
    expect(session.calls, equals: [.getID(logins: fixtures.providerLogins("bob"))])
    expect(session.machine.credentials == nil)
  }

  @Test func theSameUserKeepsTheIdentity() {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    session.login(fixtures.poolSignIn(at: session.now))
    expect(session.calls, equals: [fixtures.exchange(fixtures.providerLogins())])
  }

  @Test func aGuestsIdentityBecomesTheUsers() {
    var session = SessionDriver.ofUserPool(guests: true)
    session.beGuest()
    session.forgetAll()
    session.login(fixtures.poolSignIn(at: session.now))
    expect(session.calls, equals: [fixtures.exchange(fixtures.providerLogins())])
  }

  @Test func anUnavailableCognitoRefusesNoSignIn() {
    var session = SessionDriver.ofUserPool()
    let login = session.login(fixtures.poolSignIn())
    session.finish(fixtures.failed(.transient(retryAfter: nil), .cognitoUnavailable))
    expect(session.answer(to: login), equals: .state)
    expect(session.machine.state.reported, equals: .signedIn)
  }

  // MARK: Renewal

  @Test func aStaleIDTokenIsRenewedAndOneThatLastsIsUsedAgain() {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool(lifetime: 7200)
    session.advance(by: 600)
    session.askForAWholeHour()
    expect(session.calls, equals: [fixtures.exchange(fixtures.providerLogins(lifetime: 7200))])
    session.finish(fixtures.credentials())
    session.advance(by: 6900)
    session.forgetAll()
    session.askForAWholeHour()
    guard case .renewProviderTokens(let asked, .getTokensFromRefreshToken)? = session.calls.last
    else {
      Issue.record("no renewal: \(session.calls.count) calls")
      return
    }
    expect(asked.refreshToken, equals: Secret("refresh-1"))
    session.finish(.providerTokens(fixtures.providerTokens(number: 2), serverTime: nil))
    expect(session.calls.last, equals: fixtures.exchange(fixtures.providerLogins(number: 2)))
    session.finish(fixtures.credentials())
    expect(session.machine.state.reported, equals: .signedIn)
  }

  @Test func aForcedRefreshRenewsOnce() {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    session.advance(by: 600)
    let waiter = session.ask(refresh: true)
    session.ask(refresh: true)
    session.finish(.providerTokens(fixtures.providerTokens(number: 2), serverTime: nil))
    session.finish(fixtures.credentials())
    expect(session.answer(to: waiter), equals: .credentials)
    let renewals = session.calls.count { if case .renewProviderTokens = $0 { true } else { false } }
    expect(renewals, equals: 1)
  }

  @Test func aRotatedRefreshTokenIsStoredBeforeTheNextCall() {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    session.advance(by: 600)
    session.ask(refresh: true)
    session.finish(
      .providerTokens(fixtures.providerTokens(number: 2, refresh: "refresh-2"), serverTime: nil))
    // The exchange has not been answered.
    expect(!session.openCalls.isEmpty)
    expect(session.providerSession?.refreshToken, equals: Secret("refresh-2"))
    expect(
      session.machine.snapshot.held.state.providerSession?.refreshToken, equals: Secret("refresh-2")
    )
  }

  @Test func aRefusedLoginKeepsTheRefreshTokenThatCameMeanwhile() throws {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    session.advance(by: 3700)
    let login = session.login(fixtures.logins(Fixtures.facebook))
    session.finish(
      .providerTokens(fixtures.providerTokens(number: 2, refresh: "refresh-2"), serverTime: nil))
    session.finish(fixtures.failed(.poolMisconfigured, .poolMisconfigured))
    expect(session.answer(to: login), equals: .refused(.poolMisconfigured))
    expect(session.machine.logins.isEmpty)
    expect(session.providerSession?.refreshToken, equals: Secret("refresh-2"))
  }

  /// Cognito may find the added login too old: the ID token is renewed for nothing.
  @Test func aLoginThatIsRefusedTwiceKeepsItToo() {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    let login = session.login(fixtures.logins(Fixtures.facebook))
    session.finish(refused(.cognitoIdentity, .newTokenOnce))
    session.finish(
      .providerTokens(fixtures.providerTokens(number: 2, refresh: "refresh-2"), serverTime: nil))
    session.finish(refused(.cognitoIdentity, .newTokenOnce))
    expect(session.answer(to: login), equals: .refused(.signInFailed))
    expect(session.providerSession?.refreshToken, equals: Secret("refresh-2"))
    expect(session.machine.state.reported, equals: .signedIn)
    expect(session.machine.credentials != nil)
  }

  @Test func loginsOfOtherProvidersGoBesideThePools() throws {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    session.login(fixtures.logins(Fixtures.facebook))
    var logins = fixtures.providerLogins()
    for login in fixtures.map([Fixtures.facebook]).logins {
      try logins.set(login.provider, token: login.token)
    }
    expect(session.calls, equals: [fixtures.exchange(logins)])
    session.finish(fixtures.credentials())
    expect(session.machine.state.reported, equals: .signedIn)
    expect(session.providerSession != nil)
  }

  @Test func aPoolThatIsAwaySignsNobodyOut() {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    session.advance(by: 3590)
    session.ask(refresh: true)
    for _ in 0..<20 {
      session.finish(fixtures.unavailable)
      session.advance(by: 600)
      session.ask(refresh: true)
    }
    expect(session.machine.state.reported, equals: .signedIn)
    expect(session.providerSession?.refreshToken, equals: Secret("refresh-1"))
  }

  @Test func aRefusedRefreshTokenNeedsASignIn() {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    session.advance(by: 600)
    session.ask(refresh: true)
    session.finish(refused())
    expect(session.machine.state.reported, equals: .tokensInvalid)
    expect(session.providerSession?.refreshToken, equals: Secret([]))
    expect(session.providerSession?.idToken == nil)
    expect(session.providerSession?.username, equals: "alice")
    session.forgetAll()
    session.ask(refresh: true, wait: .zero)
    expect(session.calls, equals: [])
    // The credentials that are held go on serving.
    expect(session.machine.credentials != nil)
  }

  @Test func tokensOfAnotherUserEndTheSession() {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    session.advance(by: 600)
    session.ask(refresh: true)
    session.finish(.providerTokens(fixtures.providerTokens("bob", number: 2), serverTime: nil))
    expect(session.machine.state.reported, equals: .tokensInvalid)
    expect(session.calls.count, equals: 1)
  }

  @Test(arguments: ["UnsupportedOperationException", "UnknownOperationException"])
  func aPoolWithoutTheOperationIsAskedInTheOlderWay(_ reason: String) {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    session.advance(by: 600)
    session.ask(refresh: true)
    session.finish(refused(.backend("staff"), .permanentConfiguration, reason))
    guard case .renewProviderTokens(_, .refreshTokenAuth)? = session.calls.last else {
      Issue.record("not asked again")
      return
    }
    session.finish(refused(.backend("staff"), .permanentConfiguration, reason))
    expect(session.calls.count, equals: 2)
    expect(session.machine.state.reported, equals: .signedIn)
  }

  @Test func anIDTokenThatCognitoTakesForExpiredIsRenewedOnce() {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    session.advance(by: 600)
    session.askForAWholeHour()
    let expired = refused(.cognitoIdentity, .newTokenOnce)
    session.finish(expired)
    guard case .renewProviderTokens? = session.calls.last else {
      Issue.record("not renewed")
      return
    }
    session.finish(.providerTokens(fixtures.providerTokens(number: 2), serverTime: nil))
    session.finish(expired)
    expect(session.calls.count, equals: 3)
    // The pool itself accepts the user: an operator has to look at the identity pool.
    expect(session.machine.state.reported, equals: .signedIn)
  }

  @Test func anIdentityOfAnotherUserIsReplaced() {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    session.advance(by: 600)
    session.askForAWholeHour()
    session.finish(refused(.cognitoIdentity, .conflict))
    expect(session.calls.last, equals: .getID(logins: fixtures.providerLogins()))
  }

  // MARK: Expiry and the end

  @Test func tokensAreDroppedWhenTheyEndAndTheRefreshTokenStays() {
    var session = SessionDriver.ofUserPool(keepsAccessToken: true)
    session.signInAtPool()
    expect(session.providerSession?.accessToken != nil)
    session.advance(by: 7200)
    expect(session.providerSession?.idToken == nil)
    expect(session.providerSession?.accessToken == nil)
    expect(session.providerSession?.refreshToken, equals: Secret("refresh-1"))
    expect(session.machine.state.reported, equals: .signedIn)
  }

  @Test func anAccessTokenIsKeptOnlyWhereProgramsMayHaveIt() {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    expect(session.providerSession?.accessToken == nil)
  }

  @Test func aLogoutForgetsEverything() {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    session.send(.loggedOut)
    expect(session.machine.state, equals: .signedOut(byUser: true))
    expect(session.providerSession == nil)
    expect(session.machine.identityID == nil)
    expect(session.machine.credentials == nil)
  }

  @Test func anotherPoolGetsNothingThatTheFormerOneGave() {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    var plan = session.machine.plan
    plan.backend = .provider(
      ProviderIssuer(pool: Fixtures.userPool, clientID: "2other", url: "https://h/"))
    session.send(.profileChanged(plan, .backend))
    expect(session.machine.state.reported, equals: .tokensInvalid)
    expect(session.providerSession?.refreshToken, equals: Secret([]))
    session.ask(refresh: true, wait: .zero)
    expect(session.calls, equals: [])
  }

  // MARK: Store

  @Test func aSessionIsTheSameAfterARestart() throws {
    var session = SessionDriver.ofUserPool(keepsAccessToken: true)
    session.login(fixtures.poolSignIn(device: PoolSamples.deviceKey))
    session.finish(.identity(fixtures.identity), after: 0)
    session.finish(fixtures.credentials(), after: 0)
    let before = session.machine.snapshot
    let profile = try Self.profile()
    let record = SessionRecord(
      uid: 1000, owner: .named("alice"), profile: profile, snapshot: before)
    let read = try SessionRecord(reading: record.encoded[...])
    expect(read.snapshot, equals: before)
    expect(read, equals: record)
    expect(try read.snapshot(for: profile, now: session.now), equals: before)
    expect(read.snapshot.held.state.providerSession?.deviceKey, equals: PoolSamples.deviceKey)
  }

  @Test(arguments: [
    "client_id = 2other", "user_pool_id = eu-west-1_Other",
    "client_id = 1example23456789\nuser_pool_endpoint = http://127.0.0.1:1",
  ])
  func afterARestartAnotherPoolGetsNothing(_ lines: String) throws {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    let record = SessionRecord(
      uid: 1000, owner: .named("alice"), profile: try Self.profile(),
      snapshot: session.machine.snapshot)
    let kept = try #require(
      try record.snapshot(for: Self.profile(lines), now: session.now) as SessionSnapshot?)
    expect(kept.held.state.reported, equals: .tokensInvalid)
    expect(kept.held.state.providerSession?.refreshToken, equals: Secret([]))
    expect(kept.held.state.providerSession?.idToken == nil)
  }

  @Test func noIdentityOfAPoolsUserOutlivesABoot() throws {
    var session = SessionDriver.ofUserPool()
    session.signInAtPool()
    expect(
      KnownIdentity(
        uid: 1000, owner: .named("alice"), profile: try Self.profile(),
        snapshot: session.machine.snapshot) == nil)
  }

  /// A profile on the pool of the samples; a line replaces the one of the same key.
  private static func profile(_ lines: String = "") throws -> Profile {
    var keys = ["user_pool_id": PoolSamples.poolText, "client_id": "1example23456789"]
    for line in lines.split(separator: "\n") {
      let parts = line.split(separator: " = ").map(String.init)
      keys[parts[0]] = parts[1]
    }
    let text = keys.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)\n" }.joined()
    return try fullProfile("backend = b\n", backend: "[backend b]\ntype = user-pool\n\(text)")
  }
}
