import CredCore
import TestSupport
import Testing

/// From one kind of sign-in to another: what is kept, dropped and fetched anew (the mobile
/// SDKs' behaviour, aws-facts 3).
struct SignInTransitionTests {
  let fixtures = Fixtures()
  private var facebook: LoginsMap { fixtures.map([Fixtures.facebook]) }

  @Test func aGuestsIdentityBecomesTheSocialUsers() {
    var session = SessionDriver(.none, guests: true)
    session.beGuest()
    session.forgetAll()
    session.login(fixtures.logins(Fixtures.facebook))
    expect(session.calls, equals: [fixtures.exchange(facebook)])
    expect(session.machine.credentials == nil)
    session.finish(fixtures.credentials())
    expect(session.announcements, equals: [.state(.signedIn(.logins)), fixtures.refreshed])
  }

  @Test func aLoginThatIsLinkedElsewhereBringsItsOwnIdentity() {
    var session = SessionDriver(.none, guests: true)
    session.beGuest()
    session.forgetAll()
    let login = session.login(fixtures.logins(Fixtures.facebook))
    session.finish(fixtures.failed(.conflict, .identityConflict))
    expect(session.calls.last, equals: .getID(logins: facebook))
    session.finish(.identity(fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    expect(session.answer(to: login), equals: .state)
    expect(session.identityChanges, equals: [fixtures.changed(fixtures.identity, fixtures.other)])
  }

  @Test func aGuestStaysAGuestAfterARefusedLogin() {
    var session = SessionDriver(.none, guests: true)
    session.beGuest()
    session.forgetAll()
    let login = session.login(fixtures.logins(Fixtures.facebook))
    session.finish(fixtures.refusedToken)
    expect(session.answer(to: login), equals: .refused(.tokenRejected))
    expect(session.machine.state, equals: .guest)
    expect(session.machine.identityID, equals: fixtures.identity)
    expect(session.announcements, equals: [])
    let get = session.ask()
    expect(session.answer(to: get), equals: .credentials)
  }

  @Test func aGuestWithADeveloperTokenGetsItsIdentity() {
    var session = SessionDriver(.none, guests: true)
    session.beGuest()
    session.forgetAll()
    session.signIn(fixtures.clientToken(fixtures.other), as: fixtures.other)
    expect(session.calls, equals: [fixtures.exchange(fixtures.other)])
    expect(
      session.announcements,
      equals: [
        fixtures.changed(fixtures.identity, fixtures.other), .state(.signedIn(.developerToken)),
        fixtures.refreshed,
      ])
  }

  @Test func fromADeveloperTokenToLoginsGetIdGivesTheIdentity() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.clientToken())
    session.forgetAll()
    session.login(fixtures.logins(Fixtures.facebook))
    expect(session.calls, equals: [.getID(logins: facebook)])
    // The same identity, where they are linked: only how the user is signed in is news.
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.credentials())
    expect(session.announcements, equals: [.state(.signedIn(.logins)), fixtures.refreshed])
  }

  @Test func fromARefusedPasswordToLoginsGetIdGivesTheIdentity() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.advance(by: 1000)
    session.ask(refresh: true)
    session.finish(fixtures.failed(.signInRequired, .signInRequired))
    session.forgetAll()
    session.login(fixtures.logins(Fixtures.facebook))
    expect(session.calls, equals: [.getID(logins: facebook)])
    session.finish(.identity(fixtures.other))
    session.finish(fixtures.credentials(of: fixtures.other))
    expect(session.identityChanges, equals: [fixtures.changed(fixtures.identity, fixtures.other)])
    expect(session.states, equals: ["signedIn"])
  }

  @Test func fromLoginsToADeveloperTokenTheLoginsAreForgotten() {
    var session = SessionDriver(.none)
    session.signIn(fixtures.logins(Fixtures.facebook))
    session.signIn(fixtures.clientToken(fixtures.other), as: fixtures.other)
    expect(session.machine.logins.isEmpty)
    expect(session.calls.last, equals: fixtures.exchange(fixtures.other))
  }

  @Test func fromLoginsToAPasswordTheLoginsAreForgotten() {
    var session = SessionDriver(.password)
    session.signIn(fixtures.logins(Fixtures.facebook))
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    expect(session.calls.last, equals: fixtures.callback(session: fixtures.session("alice")))
  }

  @Test func aHostSignInAfterAClientsTokenDropsItsIdentity() {
    var session = SessionDriver(.host)
    session.signIn(fixtures.clientToken(fixtures.other), as: fixtures.other)
    session.forgetAll()
    session.login(.host)
    expect(session.calls, equals: [fixtures.callback()])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.identityChanges, equals: [fixtures.changed(fixtures.other, fixtures.identity)])
    expect(session.states, equals: ["signedIn"])
  }

  // MARK: The host

  @Test func aHostSignInTakesOverAGuestsIdentity() {
    var session = SessionDriver(.host, guests: true)
    session.send(.loggedOut)
    session.beGuest()
    session.forgetAll()
    session.login(.host)
    expect(session.calls, equals: [fixtures.callback(fixtures.identity)])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.states, equals: ["signedIn"])
  }

  @Test func aSecondHostSignInKeepsValidCredentials() {
    var session = SessionDriver()
    session.signIn()
    let login = session.login(.host)
    expect(session.calls, equals: [fixtures.exchange()])
    let get = session.ask()
    expect(session.answer(to: get), equals: .credentials)
    session.finish(fixtures.unavailable)
    expect(session.answer(to: login), equals: .state)
    expect(session.machine.credentials != nil)
  }

  @Test func anUnavailableBackendFailsALoginAfterALogoutWhichMayBeRepeated() {
    var session = SessionDriver()
    session.signIn()
    session.send(.loggedOut)
    session.forgetAll()
    let first = session.login(.host)
    session.finish(fixtures.unavailable)
    expect(session.answer(to: first), equals: .refused(.backendUnavailable))
    expect(session.machine.state, equals: .signedOut(byUser: true))
    let second = session.login(.host)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: second), equals: .state)
    expect(session.states, equals: ["signedIn"])
  }

  @Test func aFailedHostSignInCountsAsAFailedRefresh() {
    var session = SessionDriver()
    let get = session.ask(wait: .seconds(60))
    let login = session.login(.host)
    session.finish(fixtures.failed(.unknownUser, .backendRejected))
    expect(session.answer(to: login), equals: .refused(.backendRejected))
    // The waiter is answered too, without another call.
    expect(session.answer(to: get), equals: .refused(.backendRejected))
    expect(session.calls.count, equals: 2)
    expect(session.openCalls.count, equals: 1)
    expect(session.machine.failures, equals: 1)
  }

  @Test func aLoginEndsARefusalOfTheHost() {
    var session = SessionDriver()
    let get = session.ask(wait: .seconds(60))
    session.finish(fixtures.failed(.signInRequired, .signInRequired))
    expect(session.machine.state, equals: .tokensInvalid(.host))
    let login = session.login(.host)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: login), equals: .state)
    expect(session.answer(to: get), equals: .credentials)
    expect(session.states, equals: ["tokensInvalid", "signedIn"])
  }

  @Test func withoutAnUnattendedSourceAHostSignInIsRefusedAtOnce() {
    var session = SessionDriver(.password)
    let login = session.login(.host)
    expect(session.answer(to: login), equals: .refused(.signInRequired))
    expect(session.machine.nextWake, equals: .distantFuture)
  }
}
