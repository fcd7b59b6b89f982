import TestSupport
import Testing

@testable import CredCore

/// `logout`, `clear` and `release`.
struct SignOutTests {
  let fixtures = Fixtures()

  @Test func aLogoutForgetsEverything() {
    var session = SessionDriver()
    session.signIn()
    session.login(fixtures.logins(Fixtures.facebook), role: Fixtures.role)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    session.forget()
    let actions = session.send(.loggedOut)
    expect(
      actions,
      equals: [
        .credentialsChanged, .announce(fixtures.changed(fixtures.identity, nil)),
        .announce(.state(.signedOut(byUser: true))),
      ])
    let machine = session.machine
    expect(machine.credentials == nil && machine.token == nil && machine.identityID == nil)
    expect(machine.logins.isEmpty)
    expect(machine.nextWake, equals: .distantFuture)
    session.forgetAll()
    session.login(.host)
    expect(session.calls, equals: [fixtures.callback()])
    session.finish(fixtures.token())
    expect(session.calls.last, equals: fixtures.exchange())
  }

  @Test func anotherPersonOfTheSameUidGetsNothingOfTheFormer() {
    var session = SessionDriver()
    session.signIn()
    session.send(.userChanged)
    let machine = session.machine
    expect(machine.credentials == nil && machine.token == nil && machine.identityID == nil)
    session.forgetAll()
    // Unlike after a logout the host signs in at once, and without the old IdentityId.
    let get = session.ask()
    expect(session.calls, equals: [fixtures.callback()])
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: get), equals: .credentials)
  }

  @Test func aCallForTheFormerPersonIsDropped() {
    var session = SessionDriver()
    session.ask(wait: .seconds(60))
    let callback = session.openCalls.keys.max() ?? 0
    session.send(.userChanged)
    session.forgetAll()
    session.finish(call: callback, fixtures.token())
    expect(session.machine.identityID == nil)
    expect(session.machine.token == nil)
  }

  @Test func aSecondLogoutIsNotAnnounced() {
    var session = SessionDriver()
    session.send(.loggedOut)
    session.forget()
    expect(session.send(.loggedOut), equals: [])
  }

  @Test func theHostDoesNotSignInAgainAfterALogout() {
    var session = SessionDriver()
    session.signIn()
    session.send(.loggedOut)
    let get = session.ask(refresh: true, wait: .seconds(300))
    session.advance(by: 300)
    expect(session.answer(to: get), equals: .refused(.signInRequired))
    expect(session.refusal(of: get)?.message, equals: "signed out")
    expect(session.calls, equals: [])
  }

  @Test func outcomesAfterALogoutAreDropped() {
    var session = SessionDriver()
    session.ask(wait: .seconds(60))
    let callback = session.openCalls.keys.max() ?? 0
    session.send(.loggedOut)
    session.forgetAll()
    session.finish(call: callback, fixtures.token())
    expect(session.actions, equals: [])
    expect(session.machine.identityID == nil && session.machine.token == nil)
  }

  @Test func anAcceptedPasswordAfterALogoutIsDropped() {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"))
    let call = session.openCalls.keys.max() ?? 0
    session.send(.loggedOut)
    expect(session.answer(to: login), equals: .refused(.signInFailed))
    session.finish(call: call, fixtures.accepted("alice"))
    expect(session.machine.state, equals: .signedOut(byUser: true))
    expect(session.openCalls.isEmpty)
  }

  @Test func waitersKeepWaitingAfterALogout() {
    var session = SessionDriver()
    let get = session.ask(wait: .seconds(60))
    session.send(.loggedOut)
    expect(session.answer(to: get) == nil)
    session.advance(by: 30)
    session.login(.host)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: get), equals: .credentials)
  }

  @Test func afterALogoutOnlyAGuestIsFetched() {
    var session = SessionDriver(.host, guests: true)
    session.signIn()
    session.send(.loggedOut)
    session.forgetAll()
    session.beGuest()
    expect(session.calls, equals: [.getID(logins: LoginsMap()), fixtures.guestExchange()])
    expect(session.machine.state, equals: .guest)
    // Not even by forgetting the guest.
    session.send(.cleared(.identity))
    expect(session.machine.state, equals: .signedOut(byUser: true))
    session.forgetAll()
    session.ask()
    expect(session.calls, equals: [.getID(logins: LoginsMap())])
  }

  // MARK: clear

  @Test func clearingCredentialsKeepsTheSignIn() {
    var session = SessionDriver()
    session.signIn()
    expect(session.send(.cleared(.credentials)), equals: [.credentialsChanged])
    expect(session.machine.identityID, equals: fixtures.identity)
    expect(session.machine.state, equals: .signedIn(.host))
    session.ask()
    expect(session.calls, equals: [fixtures.exchange()])
  }

  @Test func anOutcomeFromBeforeAClearIsDropped() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 60)
    let get = session.ask(refresh: true)
    let old = session.openCalls.keys.max() ?? 0
    session.send(.cleared(.credentials))
    expect(session.calls.count, equals: 2)
    session.finish(call: old, fixtures.credentials())
    expect(session.machine.credentials == nil)
    session.finish(fixtures.credentials())
    expect(session.answer(to: get), equals: .credentials)
  }

  /// What was asked for before is dropped, and the sign-in fetches it anew.
  @Test(arguments: [ClearScope.credentials, .identity])
  func aClearDuringAnAcceptedSignInIsNotLost(_ scope: ClearScope) {
    var session = SessionDriver(.password)
    let login = session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    session.finish(fixtures.token())
    let old = session.openCalls.keys.max() ?? 0
    session.send(.cleared(scope))
    expect((session.machine.identityID == nil), equals: (scope == .identity))
    expect(session.answer(to: login) == nil)
    session.finish(call: old, fixtures.credentials())
    expect(session.machine.credentials == nil)
    if scope == .identity {
      expect(session.calls.last, equals: fixtures.callback(session: fixtures.session("alice")))
      session.finish(fixtures.token())
    }
    session.finish(fixtures.credentials())
    expect(session.answer(to: login), equals: .state)
    expect(session.machine.state, equals: .signedIn(.password(fixtures.session("alice"))))
  }

  @Test func aClearKeepsThePause() {
    var session = SessionDriver()
    session.ask()
    session.finish(fixtures.failed(.throttled(retryAfter: .seconds(60)), .throttled))
    session.send(.cleared(.credentials))
    let get = session.ask()
    expect(session.answer(to: get), equals: .refused(.throttled))
    expect(session.calls.count, equals: 1)
  }

  @Test func clearingTheIdentityForgetsAndAnnouncesIt() {
    var session = SessionDriver()
    session.signIn()
    session.send(.cleared(.identity))
    expect(session.announcements, equals: [fixtures.changed(fixtures.identity, nil)])
    expect(session.machine.token == nil)
    session.ask()
    expect(session.calls, equals: [fixtures.callback()])
    session.forget()
    session.finish(fixtures.token())
    expect(session.identityChanges, equals: [fixtures.changed(nil, fixtures.identity)])
  }

  @Test func clearingTheIdentityKeepsAPasswordSession() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.send(.cleared(.identity))
    expect(session.machine.state, equals: .signedIn(.password(fixtures.session("alice"))))
    session.ask()
    expect(session.calls.last, equals: fixtures.callback(session: fixtures.session("alice")))
  }

  @Test func clearingTheIdentityEndsASignInByTokens() {
    let signIns = [fixtures.clientToken(), fixtures.logins(Fixtures.facebook)]
    for signIn in signIns {
      var session = SessionDriver(.none)
      session.signIn(signIn)
      session.forget()
      session.send(.cleared(.identity))
      expect(
        session.announcements,
        equals: [
          fixtures.changed(fixtures.identity, nil), .state(.signedOut(byUser: false)),
        ])
      expect(session.machine.logins.isEmpty && session.machine.token == nil)
    }
  }

  @Test func clearingTheIdentityMakesANewGuest() {
    var session = SessionDriver(.none, guests: true)
    session.beGuest()
    session.send(.cleared(.identity))
    expect(session.machine.state, equals: .signedOut(byUser: false))
    session.ask()
    expect(session.calls.last, equals: .getID(logins: LoginsMap()))
  }

  @Test func aPendingSignInDoesNotRestoreWhatWasCleared() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    let login = session.login(fixtures.password("alice"))
    session.send(.cleared(.identity))
    expect(session.answer(to: login), equals: .refused(.signInFailed))
    session.finish(fixtures.refusedPassword)
    expect(session.machine.credentials == nil)
    expect(session.machine.identityID == nil)
  }

  // MARK: release

  @Test func releaseRefusesWaitersForASignIn() {
    var session = SessionDriver(.password)
    let waiting = [session.ask(wait: .seconds(60)), session.ask(.token, wait: .seconds(60))]
    session.send(.released)
    expect(waiting.allSatisfy { session.answer(to: $0) == .refused(.signInRequired) })
    expect(session.machine.state, equals: .signedOut(byUser: false))
    expect(session.announcements, equals: [])
    expect(session.machine.waiterCount, equals: 0)
  }

  @Test func releaseKeepsWaitersForARefresh() {
    var session = SessionDriver()
    let get = session.ask()
    session.send(.released)
    expect(session.answer(to: get) == nil)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: get), equals: .credentials)
  }

  @Test func releaseKeepsWaitersOfASignInUnderWay() {
    var session = SessionDriver(.password)
    let get = session.ask(wait: .seconds(60))
    session.login(fixtures.password("alice"))
    session.send(.released)
    expect(session.answer(to: get) == nil)
  }
}

/// A profile whose configuration changes under its sessions.
struct ProfileChangeTests {
  let fixtures = Fixtures()

  // MARK: What a change means

  private static let base = """
    [backend corp]
    type = http
    url = https://auth.example.com/token
    [backend other]
    type = http
    url = https://auth.example.com/token
    [backend script]
    type = exec
    command = /bin/true
    [profile work]
    identity_pool_id = eu-west-1:11111111-2222-3333-4444-555555555555
    developer_provider = login.example.app
    backend = corp
    role_arn = arn:aws:iam::123456789012:role/a
    """

  private func profile(_ text: String) throws -> Profile {
    let reading = Configuration.read(
      [ConfigurationSource(name: "credd.conf", bytes: Array(text.utf8))], environment: { _ in nil })
    let configuration = try #require(reading.configuration, "\(reading.diagnostics)")
    return try Profile(try #require(configuration.profiles["work"]), in: configuration) { _ in nil }
  }

  @Test(arguments: [
    ("auth.example.com", "auth2.example.com", ProfileChange.backend),
    ("type = http", "type = http\nunix_socket = /run/auth", .backend),
    ("type = http", "type = http\nca_file = /etc/ca", .backend),
    ("type = http", "type = http\nlogout_url = https://auth.example.com/bye", .nothingHeld),
    ("type = http", "type = http\nlogout_url = https://bye.example.com/bye", .backend),
    ("backend = corp", "backend = corp\nallow_users = alice", .nothingHeld),
    ("backend = corp", "backend = corp\nfips = yes", .nothingHeld),
    ("role/a", "role/b", .credentials),
    ("backend = corp", "backend = corp\nflow = basic", .credentials),
    ("backend = corp", "backend = other", .identity),
    ("backend = corp", "backend = script", .identity),
    ("type = http\nurl", "type = http\nlogin_url = https://auth.example.com/login\nurl", .identity),
    ("login.example.app", "login.example.com", .identity),
    ("backend = corp", "backend = corp\nuser_identifier = {uid}", .identity),
    ("555555555555", "666666666666", .identity),
    ("backend = corp", "backend = corp\nguest = yes", .identity),
  ])
  func aSessionKeepsWhatTheNewProfileWouldGive(
    _ old: String, _ new: String, _ change: ProfileChange
  ) throws {
    let before = try profile(Self.base)
    let after = try profile(Self.base.replacing(old, with: new, maxReplacements: 1))
    expect(before != after)
    expect(before.change(to: after), equals: change)
    expect(after.change(to: before), equals: change)
    expect(before.change(to: before), equals: .nothingHeld)
  }

  // MARK: What a session makes of it

  private let plan = SessionPlan(backend: .host)

  @Test func anIrrelevantChangeKeepsEverything() {
    var session = SessionDriver()
    session.signIn()
    let held = session.machine.credentials
    session.forget()
    expect(session.send(.profileChanged(plan, .nothingHeld)), equals: [])
    expect(session.machine.credentials, equals: held)
  }

  @Test func aPauseEndsWhenTheProfileChanges() {
    var session = SessionDriver()
    let get = session.ask(wait: .seconds(60))
    session.finish(fixtures.failed(.permanentConfiguration, .poolMisconfigured))
    expect(session.answer(to: get) != nil)
    session.forgetAll()
    session.send(.profileChanged(plan, .nothingHeld))
    session.ask()
    expect(session.calls, equals: [fixtures.callback()])
  }

  @Test func anotherRoleGivesOtherCredentialsToTheSameUser() {
    var session = SessionDriver()
    session.signIn()
    session.forgetAll()
    session.send(.profileChanged(plan, .credentials))
    expect(session.machine.credentials == nil)
    expect(session.machine.identityID, equals: fixtures.identity)
    let get = session.ask()
    // The token is the user's, whatever the role.
    expect(session.calls, equals: [fixtures.exchange()])
    session.finish(fixtures.credentials())
    expect(session.answer(to: get), equals: .credentials)
  }

  @Test func aCallForTheOldRoleIsDroppedAndMadeAnew() {
    var session = SessionDriver()
    let get = session.ask(wait: .seconds(60))
    session.finish(fixtures.token())
    let exchange = session.openCalls.keys.max() ?? 0
    session.forgetAll()
    session.send(.profileChanged(SessionPlan(backend: .host, flow: .basic), .credentials))
    session.finish(call: exchange, fixtures.credentials())
    expect(session.machine.credentials == nil)
    expect(session.answer(to: get) == nil)
    guard case .assumeRole? = session.calls.last else {
      Issue.record("asked for \(session.calls)")
      return
    }
    session.finish(fixtures.credentials())
    expect(session.answer(to: get), equals: .credentials)
  }

  @Test func anotherPoolBeginsTheSessionAnew() {
    var session = SessionDriver()
    session.signIn()
    session.forgetAll()
    session.send(.profileChanged(plan, .identity))
    let machine = session.machine
    expect(machine.credentials == nil && machine.token == nil && machine.identityID == nil)
    session.ask()
    expect(session.calls, equals: [fixtures.callback()])
  }

  @Test func aLogoutHoldsAcrossAnotherPool() {
    var session = SessionDriver()
    session.signIn()
    session.send(.loggedOut)
    session.forgetAll()
    session.send(.profileChanged(plan, .identity))
    let get = session.ask(wait: .zero)
    expect(session.calls, equals: [])
    expect(session.answer(to: get), equals: .refused(.signInRequired))
  }

  @Test func aSignInThatTheNewProfileDoesNotAllowIsRefused() {
    var session = SessionDriver()
    let login = session.login(.host)
    session.send(.profileChanged(SessionPlan(backend: .none), .identity))
    expect(session.answer(to: login), equals: .refused(.signInFailed))
    expect(session.machine.nextWake, equals: .distantFuture)
  }

  @Test func aPasswordUnderCheckIsNotSentAgain() {
    var session = SessionDriver(.password)
    let login = session.login(.password(username: "alice", password: Secret("x")))
    let before = session.calls.count
    session.send(.profileChanged(SessionPlan(backend: .password), .credentials))
    expect(session.calls.count, equals: before)
    session.finish(.signedIn(BackendSession(token: Secret("s"), developerUserIdentifier: nil)))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.answer(to: login), equals: .state)
  }
}
