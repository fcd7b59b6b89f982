import TestSupport
import Testing

@testable import CredCore

/// Under which key a user pool's ID token goes to an identity pool, while the pool has either issuer.
struct LoginsKeyTests {
  private typealias Form = PoolIssuers.Form

  private static let mismatch = Fixtures.wrongKey
  private static let notTheirs = Fixtures.cognitoRefusal(
    "Logins don't match. Please include at least one valid login for this identity or identity pool."
  )
  private static let forbidden = Fixtures.cognitoRefusal(
    "Access to Identity '\(Samples.identityText)' is forbidden.")
  private static let unsupported = Fixtures.cognitoRefusal(
    "Token is not from a supported provider of this identity pool.")

  private let fixtures = Fixtures()

  /// The login of an ID token under one of the two keys.
  private func login(
    _ key: Form, number: Int = 1, from form: Form = .updated, _ username: String = "alice"
  ) -> LoginsMap {
    let token = fixtures.providerTokens(username, number: number, form: form).id.token
    return map(PoolIssuers(Fixtures.userPool).loginsKey(key), token)
  }

  private func map(_ key: String, _ token: Secret) -> LoginsMap {
    var logins = LoginsMap()
    try? logins.set(key, token: token)
    return logins
  }

  private func renewed(_ number: Int, _ form: Form) -> UpstreamOutcome {
    .providerTokens(fixtures.providerTokens(number: number, form: form), serverTime: nil)
  }

  /// A user signed in while the pool had its original issuer.
  private func signedIn(_ plan: SessionPlan? = nil) -> SessionDriver {
    var session = SessionDriver(plan: plan ?? SessionPlan(backend: .provider(Fixtures.issuer)))
    session.login(fixtures.poolSignIn(at: session.now, form: .original))
    session.finish(.identity(fixtures.identity), after: 0)
    session.finish(fixtures.credentials(), after: 0)
    session.forgetAll()
    return session
  }

  /// The next refresh, in which the pool gives a token of that issuer.
  private func refresh(_ session: inout SessionDriver, _ number: Int, _ form: Form) -> UInt64 {
    session.advance(by: 3000)
    session.forgetAll()
    let waiter = session.ask(refresh: true)
    session.finish(renewed(number, form))
    return waiter
  }

  // MARK: Which key

  @Test func theDocumentedKeyComesFirst() {
    var session = signedIn()
    let waiter = refresh(&session, 2, .updated)
    expect(session.calls.last, equals: fixtures.exchange(login(.original, number: 2)))
    session.finish(fixtures.credentials())
    expect(session.answer(to: waiter), equals: .credentials)
    expect(session.calls.count, equals: 2)
  }

  @Test func theOtherKeyIsTriedOnceAndKept() {
    var session = signedIn()
    let waiter = refresh(&session, 2, .updated)
    session.finish(Self.mismatch)
    expect(session.calls.last, equals: fixtures.exchange(login(.updated, number: 2)))
    session.finish(fixtures.credentials())
    expect(session.answer(to: waiter), equals: .credentials)
    expect(session.machine.identityID, equals: fixtures.identity)
    // In renewals, and after a restart.
    for (number, restarts) in [(3, false), (4, true), (5, false)] {
      if restarts { session.restart() }
      let waiter = refresh(&session, number, .updated)
      expect(session.calls.count, equals: 2)
      expect(session.calls.last, equals: fixtures.exchange(login(.updated, number: number)))
      session.finish(fixtures.credentials())
      expect(session.answer(to: waiter), equals: .credentials)
    }
  }

  @Test func thePoolMaySwitchBack() {
    var session = signedIn()
    _ = refresh(&session, 2, .updated)
    session.finish(Self.mismatch)
    session.finish(fixtures.credentials())
    let waiter = refresh(&session, 3, .original)
    expect(
      session.calls.last, equals: fixtures.exchange(login(.updated, number: 3, from: .original)))
    session.finish(Self.mismatch)
    expect(
      session.calls.last, equals: fixtures.exchange(login(.original, number: 3, from: .original)))
    session.finish(fixtures.credentials())
    expect(session.answer(to: waiter), equals: .credentials)
    _ = refresh(&session, 4, .original)
    expect(
      session.calls.last, equals: fixtures.exchange(login(.original, number: 4, from: .original)))
    expect(session.machine.state.reported, equals: .signedIn)
  }

  @Test func aNewSignInBeginsWithTheKeyThatWorked() {
    var session = signedIn()
    _ = refresh(&session, 2, .updated)
    session.finish(Self.mismatch)
    session.finish(fixtures.credentials())
    session.forgetAll()
    session.login(fixtures.poolSignIn("bob", at: session.now, form: .updated))
    expect(session.calls, equals: [.getID(logins: login(.updated, "bob"))])
  }

  @Test func aSignInTriesTheOtherKeyToo() {
    var session = SessionDriver.ofUserPool()
    let waiter = session.login(fixtures.poolSignIn(form: .updated))
    expect(session.calls, equals: [.getID(logins: login(.original))])
    session.finish(Self.mismatch)
    expect(session.calls.last, equals: .getID(logins: login(.updated)))
    session.finish(.identity(fixtures.identity))
    expect(session.calls.last, equals: fixtures.exchange(login(.updated)))
    session.finish(fixtures.credentials())
    expect(session.answer(to: waiter), equals: .state)
    expect(session.providerSession?.usesUpdatedKey == true)
  }

  @Test func theBasicFlowTriesItToo() {
    var session = SessionDriver(
      plan: SessionPlan(backend: .provider(Fixtures.issuer), flow: .basic), seed: 2)
    session.login(fixtures.poolSignIn(form: .updated))
    session.finish(.identity(fixtures.identity))
    session.finish(Self.mismatch)
    expect(
      session.calls.last,
      equals: .getOpenIDToken(identityID: fixtures.identity, logins: login(.updated)))
    session.finish(fixtures.token())
    expect(session.calls.last, equals: fixtures.assumeRole())
    session.finish(fixtures.credentials())
    expect(session.providerSession?.usesUpdatedKey == true)
  }

  // MARK: Where it is not tried

  /// Neither key fits: the first answer is shown, nobody is signed out, and nothing is kept.
  @Test func twoRefusalsAreOneFailure() {
    var session = signedIn()
    let waiter = refresh(&session, 2, .updated)
    session.finish(Self.mismatch)
    session.finish(Self.mismatch)
    expect(session.answer(to: waiter), equals: .refused(.poolMisconfigured))
    expect(session.refusal(of: waiter)?.message.contains("provider_name") == true)
    expect(session.calls.count, equals: 3)
    expect(session.machine.state.reported, equals: .signedIn)
    expect(session.providerSession?.usesUpdatedKey == false)
  }

  /// The other key is unknown to the identity pool: the first answer is the one that helps.
  @Test func aKeyThatThePoolDoesNotKnowIsNotShown() {
    var session = signedIn()
    let waiter = refresh(&session, 2, .updated)
    session.finish(Self.mismatch)
    session.finish(Self.unsupported)
    // A refused token is renewed once.
    session.finish(renewed(3, .updated))
    session.finish(Self.unsupported)
    expect(session.answer(to: waiter), equals: .refused(.poolMisconfigured))
    expect(session.refusal(of: waiter)?.message.contains("provider_name") == true)
    expect(session.machine.state.reported, equals: .signedIn)
  }

  @Test func aTokenOfTheKeysOwnIssuerIsNotTriedAgain() {
    var session = signedIn()
    let waiter = refresh(&session, 2, .original)
    session.finish(Self.mismatch)
    expect(session.calls.count, equals: 2)
    expect(session.answer(to: waiter), equals: .refused(.poolMisconfigured))
  }

  @Test func anotherRefusalTriesNoKey() {
    var session = signedIn()
    let waiter = refresh(&session, 2, .updated)
    session.finish(
      Fixtures.cognitoRefusal("Unauthenticated access is not supported for this identity pool."))
    expect(session.calls.count, equals: 2)
    expect(session.answer(to: waiter), equals: .refused(.poolMisconfigured))
  }

  @Test func withProviderNameThereIsNoOtherKey() {
    var plan = SessionPlan(backend: .provider(Fixtures.issuer))
    plan.providerName = "own.example.com/pool"
    var session = signedIn(plan)
    let waiter = refresh(&session, 2, .updated)
    let token = fixtures.providerTokens(number: 2, form: .updated).id.token
    expect(session.calls.last, equals: fixtures.exchange(map("own.example.com/pool", token)))
    session.finish(Self.mismatch)
    expect(session.calls.count, equals: 2)
    expect(session.answer(to: waiter), equals: .refused(.poolMisconfigured))
    expect(session.refusal(of: waiter)?.message.contains("provider_name") == true)
  }

  // MARK: The identity

  /// Cognito knows the user under the other key as somebody else: the known identity stays.
  @Test func anotherIdentityUnderTheOtherKeyIsRefused() {
    for outcome in [
      Self.notTheirs, Self.forbidden, fixtures.credentials(of: fixtures.other),
    ] {
      var session = signedIn()
      let waiter = refresh(&session, 2, .updated)
      session.finish(Self.mismatch)
      session.finish(outcome)
      expect(session.calls.count, equals: 3, "\(outcome)")
      expect(session.answer(to: waiter), equals: .refused(.identityConflict), "\(outcome)")
      expect(session.refusal(of: waiter)?.message.contains("provider_name") == true)
      expect(session.machine.identityID, equals: fixtures.identity)
      expect(session.identityChanges.isEmpty)
      expect(session.machine.state.reported, equals: .signedIn)
      expect(session.providerSession?.usesUpdatedKey == false)
    }
  }

  @Test func anIdentityThatWasDroppedComesBack() {
    var session = signedIn()
    let waiter = refresh(&session, 2, .updated)
    session.finish(Self.forbidden)
    expect(session.calls.last, equals: .getID(logins: login(.original, number: 2)))
    session.finish(Self.mismatch)
    session.finish(.identity(fixtures.other))
    expect(session.answer(to: waiter), equals: .refused(.identityConflict))
    expect(session.machine.identityID, equals: fixtures.identity)
  }

  /// A guest who signs in gets the identity that the login has.
  @Test func aGuestsIdentityMayChange() {
    var session = SessionDriver.ofUserPool(guests: true)
    session.beGuest()
    session.forgetAll()
    let waiter = session.login(fixtures.poolSignIn(at: session.now, form: .updated))
    session.finish(Self.mismatch)
    session.finish(fixtures.credentials(of: fixtures.other))
    expect(session.answer(to: waiter), equals: .state)
    expect(session.machine.identityID, equals: fixtures.other)
  }

  /// Also where the guest signed in while Cognito was away, and a restart came between.
  @Test(arguments: [false, true])
  func aGuestsIdentityMayChangeAfterAnOutage(_ restarts: Bool) {
    var session = SessionDriver.ofUserPool(guests: true)
    session.beGuest()
    session.forgetAll()
    let waiter = session.login(fixtures.poolSignIn(at: session.now, form: .updated))
    session.finish(.failed(.transport(.connect, from: .cognitoIdentity)))
    expect(session.answer(to: waiter), equals: .state)
    if restarts { session.restart() }
    session.advance(by: 400)
    session.ask()
    session.finish(Self.mismatch)
    session.finish(Self.forbidden)
    expect(session.calls.last, equals: .getID(logins: login(.updated)))
    session.finish(.identity(fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    expect(session.machine.identityID, equals: fixtures.other)
  }

  // MARK: A linked sign-in

  @Test func aLinkedSignInStaysLinked() {
    let way = PlannedWay.pool(PoolPlan(link: Fixtures.issuer))
    var session = SessionDriver(plan: SessionPlan(backend: .password, way: way))
    session.signIn("alice")
    session.forgetAll()
    session.login(fixtures.poolSignIn(at: session.now, form: .updated))
    session.finish(Self.mismatch)
    guard case .tokenCallback(_, let logins, _, _)? = session.calls.last else {
      Issue.record("no callback")
      return
    }
    expect(logins, equals: login(.updated))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.machine.link?.usesUpdatedKey == true)
  }
}
