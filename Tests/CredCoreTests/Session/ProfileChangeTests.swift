import Testing

@testable import CredCore

/// A profile whose configuration changes under its sessions.
@Suite struct ProfileChangeTests {
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
    ("auth.example.com", "auth2.example.com", ProfileChange.nothingHeld),
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
  func whatASessionKeeps(_ old: String, _ new: String, _ change: ProfileChange) throws {
    let before = try profile(Self.base)
    let after = try profile(Self.base.replacing(old, with: new, maxReplacements: 1))
    #expect(before != after)
    #expect(before.change(to: after) == change)
    #expect(after.change(to: before) == change)
    #expect(before.change(to: before) == .nothingHeld)
  }

  // MARK: What a session makes of it

  private let plan = SessionPlan(backend: .host)

  @Test func whatNothingHeldDependsOnChangesNothing() {
    var session = SessionDriver()
    session.signIn()
    let held = session.machine.credentials
    session.forget()
    #expect(session.send(.profileChanged(plan, .nothingHeld)) == [])
    #expect(session.machine.credentials == held)
  }

  @Test func aPauseEndsBecauseItsCauseMayBeMended() {
    var session = SessionDriver()
    let get = session.ask(wait: .seconds(60))
    session.finish(fixtures.failed(.permanentConfiguration, .poolMisconfigured))
    #expect(session.answer(to: get) != nil)
    session.forgetAll()
    session.send(.profileChanged(plan, .nothingHeld))
    session.ask()
    #expect(session.calls == [fixtures.callback()])
  }

  @Test func anotherRoleGivesOtherCredentialsToTheSameUser() {
    var session = SessionDriver()
    session.signIn()
    session.forgetAll()
    session.send(.profileChanged(plan, .credentials))
    #expect(session.machine.credentials == nil)
    #expect(session.machine.identityID == fixtures.identity)
    let get = session.ask()
    // The token is the user's, whatever the role.
    #expect(session.calls == [fixtures.exchange()])
    session.finish(fixtures.credentials())
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func whatWasOnItsWayForTheOldRoleIsDroppedAndAskedForAnew() {
    var session = SessionDriver()
    let get = session.ask(wait: .seconds(60))
    session.finish(fixtures.token())
    let exchange = session.openCalls.keys.max() ?? 0
    session.forgetAll()
    var basic = plan
    basic.flow = .basic
    session.send(.profileChanged(basic, .credentials))
    session.finish(call: exchange, fixtures.credentials())
    #expect(session.machine.credentials == nil)
    #expect(session.answer(to: get) == nil)
    guard case .assumeRole? = session.calls.last else {
      Issue.record("asked for \(session.calls)")
      return
    }
    session.finish(fixtures.credentials())
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func anotherPoolBeginsTheSessionAnew() {
    var session = SessionDriver()
    session.signIn()
    session.forgetAll()
    session.send(.profileChanged(plan, .identity))
    let machine = session.machine
    #expect(machine.credentials == nil && machine.token == nil && machine.identityID == nil)
    session.ask()
    #expect(session.calls == [fixtures.callback()])
  }

  @Test func whoSignedOutStaysSo() {
    var session = SessionDriver()
    session.signIn()
    session.send(.loggedOut)
    session.forgetAll()
    session.send(.profileChanged(plan, .identity))
    let get = session.ask(wait: .zero)
    #expect(session.calls == [])
    #expect(session.answer(to: get) == .refused(.signInRequired))
  }

  @Test func aSignInThatTheNewConfigurationKnowsNoWayForIsRefused() {
    var session = SessionDriver()
    let login = session.login(.host)
    session.send(.profileChanged(SessionPlan(backend: .none), .identity))
    #expect(session.answer(to: login) == .refused(.signInFailed))
    #expect(session.machine.nextWake == .distantFuture)
  }

  @Test func aPasswordThatIsBeingCheckedIsNotAskedForAgain() {
    var session = SessionDriver(.password)
    let login = session.login(.password(username: "alice", password: Secret("x")))
    let before = session.calls.count
    session.send(.profileChanged(SessionPlan(backend: .password), .credentials))
    #expect(session.calls.count == before)
    session.finish(.signedIn(BackendSession(token: Secret("s"), developerUserIdentifier: nil)))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.answer(to: login) == .state)
  }
}
