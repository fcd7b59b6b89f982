import CredCore
import Testing

/// `logout`, `clear` and `release`.
@Suite struct SignOutTests {
  let fixtures = Fixtures()

  @Test func everythingIsForgotten() {
    var session = SessionDriver()
    session.signIn()
    session.login(fixtures.logins(Fixtures.facebook), role: Fixtures.role)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    session.forget()
    let actions = session.send(.loggedOut)
    #expect(
      actions == [
        .credentialsChanged, .announce(fixtures.changed(fixtures.identity, nil)),
        .announce(.state(.signedOut(byUser: true))),
      ])
    let machine = session.machine
    #expect(machine.credentials == nil && machine.token == nil && machine.identityID == nil)
    #expect(machine.logins.isEmpty)
    #expect(machine.nextWake == .distantFuture)
    session.forgetAll()
    session.login(.host)
    #expect(session.calls == [fixtures.callback()])
    session.finish(fixtures.token())
    #expect(session.calls.last == fixtures.exchange())
  }

  @Test func anotherPersonOfTheSameUidGetsNothingOfTheOneBefore() {
    var session = SessionDriver()
    session.signIn()
    session.send(.userChanged)
    let machine = session.machine
    #expect(machine.credentials == nil && machine.token == nil && machine.identityID == nil)
    session.forgetAll()
    // Unlike after a logout the host vouches for them at once, and without the old IdentityId.
    let get = session.ask()
    #expect(session.calls == [fixtures.callback()])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func whatWasOnItsWayForTheOneBeforeIsDropped() {
    var session = SessionDriver()
    session.ask(wait: .seconds(60))
    let callback = session.openCalls.keys.max() ?? 0
    session.send(.userChanged)
    session.forgetAll()
    session.finish(call: callback, fixtures.token())
    #expect(session.machine.identityID == nil)
    #expect(session.machine.token == nil)
  }

  @Test func aSecondLogoutIsNoNews() {
    var session = SessionDriver()
    session.send(.loggedOut)
    session.forget()
    #expect(session.send(.loggedOut) == [])
  }

  @Test func theHostDoesNotSilentlyReturn() {
    var session = SessionDriver()
    session.signIn()
    session.send(.loggedOut)
    let get = session.ask(refresh: true, wait: .seconds(300))
    session.advance(by: 300)
    #expect(session.answer(to: get) == .refused(.signInRequired))
    #expect(session.refusal(of: get)?.message == "signed out")
    #expect(session.calls == [])
  }

  @Test func lateRepliesAreDropped() {
    var session = SessionDriver()
    session.ask(wait: .seconds(60))
    let callback = session.openCalls.keys.max() ?? 0
    session.send(.loggedOut)
    session.forgetAll()
    session.finish(call: callback, fixtures.token())
    #expect(session.actions == [])
    #expect(session.machine.identityID == nil && session.machine.token == nil)
  }

  @Test func soIsALatePassword() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"))
    let call = session.openCalls.keys.max() ?? 0
    session.send(.loggedOut)
    #expect(session.answer(to: login) == .refused(.signInFailed))
    session.finish(call: call, fixtures.accepted("alice"))
    #expect(session.machine.state == .signedOut(byUser: true))
    #expect(session.openCalls.isEmpty)
  }

  @Test func whoWaitsGoesOnWaitingForALogin() {
    var session = SessionDriver()
    let get = session.ask(wait: .seconds(60))
    session.send(.loggedOut)
    #expect(session.answer(to: get) == nil)
    session.advance(by: 30)
    session.login(.host)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func aGuestMayFollowAndNothingElse() {
    var session = SessionDriver(.host, guests: true)
    session.signIn()
    session.send(.loggedOut)
    session.forgetAll()
    session.beGuest()
    #expect(session.calls == [.getID(logins: LoginsMap()), fixtures.guestExchange()])
    #expect(session.machine.state == .guest)
    // Not even by forgetting the guest.
    session.send(.cleared(.identity))
    #expect(session.machine.state == .signedOut(byUser: true))
    session.forgetAll()
    session.ask()
    #expect(session.calls == [.getID(logins: LoginsMap())])
  }

  // MARK: clear

  @Test func clearingCredentialsKeepsTheRest() {
    var session = SessionDriver()
    session.signIn()
    #expect(session.send(.cleared(.credentials)) == [.credentialsChanged])
    #expect(session.machine.identityID == fixtures.identity)
    #expect(session.machine.state == .signedIn(.host))
    session.ask()
    #expect(session.calls == [fixtures.exchange()])
  }

  @Test func whatWasOnItsWayBeforeIsNotTaken() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 60)
    let get = session.ask(refresh: true)
    let old = session.openCalls.keys.max() ?? 0
    session.send(.cleared(.credentials))
    #expect(session.calls.count == 2)
    session.finish(call: old, fixtures.credentials())
    #expect(session.machine.credentials == nil)
    session.finish(fixtures.credentials())
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func aServerThatAskedForPeaceHasIt() {
    var session = SessionDriver()
    session.ask()
    session.finish(fixtures.failed(.throttled(retryAfter: .seconds(60)), .throttled))
    session.send(.cleared(.credentials))
    let get = session.ask()
    #expect(session.answer(to: get) == .refused(.throttled))
    #expect(session.calls.count == 1)
  }

  @Test func clearingTheIdentityForgetsItAndSaysSo() {
    var session = SessionDriver()
    session.signIn()
    session.send(.cleared(.identity))
    #expect(session.announcements == [fixtures.changed(fixtures.identity, nil)])
    #expect(session.machine.token == nil)
    session.ask()
    #expect(session.calls == [fixtures.callback()])
    session.forget()
    session.finish(fixtures.token())
    #expect(session.identityChanges == [fixtures.changed(nil, fixtures.identity)])
  }

  @Test func aPasswordsSessionOutlivesTheIdentity() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.send(.cleared(.identity))
    #expect(session.machine.state == .signedIn(.password(fixtures.session("alice"))))
    session.ask()
    #expect(session.calls.last == fixtures.callback(session: fixtures.session("alice")))
  }

  @Test func whatVouchedByItselfIsGoneWithTheIdentity() {
    let signIns = [fixtures.tokenAtHand(), fixtures.logins(Fixtures.facebook)]
    for signIn in signIns {
      var session = SessionDriver(.none)
      session.signIn(signIn)
      session.forget()
      session.send(.cleared(.identity))
      #expect(
        session.announcements == [
          fixtures.changed(fixtures.identity, nil), .state(.signedOut(byUser: false)),
        ])
      #expect(session.machine.logins.isEmpty && session.machine.token == nil)
    }
  }

  @Test func aGuestIsANewGuest() {
    var session = SessionDriver(.none, guests: true)
    session.beGuest()
    session.send(.cleared(.identity))
    #expect(session.machine.state == .signedOut(byUser: false))
    session.ask()
    #expect(session.calls.last == .getID(logins: LoginsMap()))
  }

  @Test func aSignInThatMayFailDoesNotBringBackWhatWasCleared() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    let login = session.login(fixtures.password("alice"))
    session.send(.cleared(.identity))
    #expect(session.answer(to: login) == .refused(.signInFailed))
    session.finish(fixtures.refusedPassword)
    #expect(session.machine.credentials == nil)
    #expect(session.machine.identityID == nil)
  }

  // MARK: release

  @Test func whoWaitsForASignInIsReleased() {
    var session = SessionDriver(.password)
    let waiting = [session.ask(wait: .seconds(60)), session.ask(.token, wait: .seconds(60))]
    session.send(.released)
    #expect(waiting.allSatisfy { session.answer(to: $0) == .refused(.signInRequired) })
    #expect(session.machine.state == .signedOut(byUser: false))
    #expect(session.announcements == [])
    #expect(session.machine.waiterCount == 0)
  }

  @Test func whoWaitsForARefreshIsNot() {
    var session = SessionDriver()
    let get = session.ask()
    session.send(.released)
    #expect(session.answer(to: get) == nil)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func norWhoseSignInIsOnItsWay() {
    var session = SessionDriver(.password)
    let get = session.ask(wait: .seconds(60))
    session.login(fixtures.password("alice"))
    session.send(.released)
    #expect(session.answer(to: get) == nil)
  }
}
