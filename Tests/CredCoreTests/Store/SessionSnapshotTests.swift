import TestSupport
import Testing

@testable import CredCore

/// Sessions across a restart.
struct SessionSnapshotTests {
  let fixtures = Fixtures()

  @Test(arguments: SnapshotStory.allCases)
  func sessionIsTheSameAfterARestart(_ story: SnapshotStory) throws {
    let profile = try fullProfile()
    let record = story.record(profile)
    let read = try SessionRecord(reading: record.encoded[...])
    expect(read, equals: record)
    let before = story.session
    var after = before
    after.restart()
    expect(after.machine.snapshot, equals: before.machine.snapshot)
    expect(after.machine.state, equals: before.machine.state)
    expect(after.machine.quietUntil, equals: before.machine.quietUntil)
    expect(after.wakesIn, equals: before.wakesIn)
    expect(after.machine.nextRefresh == before.machine.nextRefresh)
    // Nothing is announced.
    after.send(.timePassed)
    expect(after.actions.isEmpty)
  }

  /// There may be 100,000 of both. What few sessions have lies apart: a word each.
  @Test func aSessionAndItsSnapshotStaySmall() {
    expect(MemoryLayout<SessionMachine>.size <= 296)
    expect(MemoryLayout<SessionSnapshot>.size <= 176)
    expect(MemoryLayout<Held>.size <= 152)
  }

  @Test func heldCredentialsAreServedAndTheTokenIsUsedAgain() {
    var session = SnapshotStory.byPassword.session
    session.advance(by: 60)
    session.restart()
    let get = session.ask()
    expect(session.answer(to: get), equals: .credentials)
    session.advance(by: 1)
    session.askForAWholeHour()
    expect(session.calls, equals: [fixtures.exchange()])
  }

  @Test func unattendedRefreshesContinue() {
    var session = SnapshotStory.byHost.session
    session.restart()
    session.advance(by: 2000)
    expect(session.calls.count, equals: 1)
  }

  @Test func overdueRefreshesAreSpread() {
    var delays: Set<Int> = []
    for seed in 0..<20 as Range<UInt64> {
      var session = SessionDriver(seed: seed)
      session.signIn()
      session.advance(by: 1)
      session.useCache()
      // The host was busy with something else when it was due.
      session.sleep(2200)
      session.restart()
      let get = session.ask()
      expect(session.answer(to: get), equals: .credentials)
      delays.insert(Int(session.wakesIn.inSeconds))
    }
    expect(delays.count > 10)
    expect(delays.allSatisfy { (0...300).contains($0) })
  }

  /// Where a profile gives tokens alone, its sessions are spread as those with credentials are.
  @Test func overdueRenewalsOfTokensAreSpread() {
    var delays: Set<Int> = []
    for seed in 0..<20 as Range<UInt64> {
      var session = SessionDriver.ofTokensAlone(seed: seed)
      session.login(fixtures.poolSignIn(at: session.now))
      session.advance(by: 1)
      session.useCache()
      // The host was busy with something else when they were due.
      session.sleep(2200)
      session.restart()
      let token = session.ask(.idToken)
      expect(session.answer(to: token), equals: .token)
      expect(session.calls, equals: [], "\(seed)")
      delays.insert(Int(session.wakesIn.inSeconds))
      session.advance(by: 301)
      expect(session.calls.count, equals: 1)
    }
    expect(delays.count > 10)
    expect(delays.allSatisfy { (0...300).contains($0) })
  }

  /// What is left of them is not spent with waiting.
  @Test func overdueTokensAreRenewedBeforeTheirEnd() {
    for seed in 0..<20 as Range<UInt64> {
      var session = SessionDriver.ofTokensAlone(seed: seed)
      session.login(fixtures.poolSignIn(at: session.now))
      session.advance(by: 1)
      session.useCache()
      session.sleep(3400)
      session.restart()
      session.send(.timePassed)
      expect(session.calls, equals: [])
      session.advance(by: 70)
      expect(session.calls.count, equals: 1, "\(seed)")
    }
  }

  @Test func credentialsThatExpiredMeanwhileAreNotServed() {
    var session = SnapshotStory.byPassword.session
    session.sleep(4000)
    session.restart()
    session.send(.timePassed)
    expect(session.machine.credentials == nil)
    expect(session.actions, equals: [.credentialsChanged])
    let get = session.ask()
    expect(session.answer(to: get) == nil)
    expect(session.calls.count, equals: 1)
  }

  @Test func aLogoutHoldsAcrossARestart() {
    var session = SnapshotStory.signedOut.session
    session.restart()
    let get = session.ask(wait: .zero)
    expect(session.answer(to: get), equals: .refused(.signInRequired))
    expect(session.calls.isEmpty)
  }

  @Test func aPauseHoldsAcrossARestart() {
    var session = SnapshotStory.resting.session
    session.restart()
    let get = session.ask()
    expect(session.answer(to: get), equals: .refused(.backendUnavailable))
    expect(session.calls.isEmpty)
    expect(session.machine.failures, equals: 1)
  }

  @Test func aRestartInTheMiddleOfARetryKeepsTheCountOfFailures() {
    var session = SnapshotStory.byHost.session
    session.advance(by: 2000)
    session.finish(fixtures.failed())
    session.advance(by: 300)
    expect(session.awaitedCall != nil)
    expect(session.machine.failures, equals: 1)
    session.restart()
    expect(session.machine.failures, equals: 1)
    // The retry that was interrupted is made again, though not at once with all others.
    expect(session.awaitedCall == nil)
    session.advance(by: 301)
    expect(session.awaitedCall != nil)
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    expect(session.machine.failures, equals: 0)
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func aRetryThatARestartInterruptedStartsBeforeTheCredentialsExpire(_ seed: UInt64) {
    var session = SessionDriver(seed: seed)
    session.signIn()
    session.advance(by: 1)
    session.useCache()
    session.advance(by: 2000)
    session.finish(fixtures.failed())
    session.advance(by: 1300)
    expect(session.awaitedCall != nil)
    session.restart()
    let left = session.machine.credentials.map { $0.servableUntil - session.now }
    expect(left.map { session.wakesIn <= $0 * 0.5 } == true)
  }

  @Test func aWarningIsNotRepeatedAfterARestart() {
    var session = SnapshotStory.byLogins.session
    session.restart()
    session.send(.timePassed)
    expect(session.announcements.isEmpty)
    session.advance(by: 200)
    session.ask(refresh: true)
    expect(session.machine.logins.logins.map(\.provider), equals: [Fixtures.facebook])
  }

  @Test func aPendingSignInIsNotStored() {
    var session = SnapshotStory.byPassword.session
    let before = session.machine.snapshot
    session.login(fixtures.password("bob"))
    expect(session.machine.snapshot, equals: before)
    session.finish(fixtures.accepted("bob"))
    let after = session.machine.snapshot
    expect(after.held.username, equals: "bob")
    expect(after.held.credentials == nil)
    expect(after.identityID == nil)
  }

  @Test func aClientsTokenIsStoredOnceCognitoHasAcceptedIt() {
    var session = SessionDriver(.none)
    session.login(fixtures.clientToken())
    expect(!session.machine.snapshot.isWorthKeeping)
    session.finish(fixtures.credentials())
    expect(session.machine.snapshot.held.token?.token, equals: fixtures.developerToken)
  }

  @Test func useAloneIsStoredOnceARefresh() {
    var session = SessionDriver()
    session.signIn()
    session.advance(by: 1)
    let unused = session.machine.snapshot
    session.useCache()
    let used = session.machine.snapshot
    expect(!used.isDurablyEqual(to: unused))
    session.advance(by: 1)
    session.useCache()
    expect(session.machine.snapshot.isDurablyEqual(to: used))
    expect(session.machine.snapshot != used)
  }

  // MARK: A configuration that changed meanwhile

  private let corp = "[backend corp]\ntype = http\nurl = https://auth.example.com/token\n"
  private var corpWithLogin: String { corp + "login_url = https://auth.example.com/login\n" }
  private let use = "backend = corp\ndeveloper_provider = login.example.app\n"

  @Test(arguments: [
    "guest = yes\n", "developer_provider = other\n", "user_identifier = {uid}\n",
    "web_identity_token_file = /run/t\nweb_identity_provider = oidc.example.com\n",
  ])
  func aSessionOfAnotherIdentityIsNotRestored(_ change: String) throws {
    let now = SnapshotStory.byHost.session.now
    let record = SnapshotStory.byHost.record(try fullProfile(use, backend: corp))
    let lines = change.hasPrefix("developer") ? "backend = corp\n" : use
    let changed = try fullProfile(lines + change, backend: corp)
    expect(
      try record.snapshot(for: fullProfile(use, backend: corp), now: now), equals: record.snapshot)
    expect(try record.snapshot(for: changed, now: now) == nil)
  }

  @Test(arguments: [
    "role_arn = arn:aws:iam::123456789012:role/other\n",
    "flow = basic\nrole_arn = arn:aws:iam::123456789012:role/other\nduration = 2h\n",
  ])
  func otherCredentialsAreFetchedForTheSameSignIn(_ change: String) throws {
    let story = SnapshotStory.byPassword
    let record = story.record(try fullProfile(use, backend: corpWithLogin))
    let now = story.session.now
    let changed = try fullProfile(use + change, backend: corpWithLogin)
    let kept = try #require(try record.snapshot(for: changed, now: now))
    expect(kept.held.credentials == nil)
    expect(kept.held.token == nil)
    expect(kept.held.state, equals: record.snapshot.held.state)
    expect(kept.identityID, equals: fixtures.identity)
    expect(kept.held.username, equals: "alice")
  }

  @Test func otherChangesKeepTheSession() throws {
    let record = SnapshotStory.byPassword.record(try fullProfile(use, backend: corpWithLogin))
    let changed = try fullProfile(use + "fips = yes\nallow_users = alice\n", backend: corpWithLogin)
    let now = SnapshotStory.byPassword.session.now
    expect(try record.snapshot(for: changed, now: now), equals: record.snapshot)
  }

  @Test func aLogoutHoldsAcrossAnyChangeOfTheConfiguration() throws {
    let record = SnapshotStory.signedOut.record(try fullProfile())
    let now = SnapshotStory.signedOut.session.now
    let kept = try record.snapshot(for: try fullProfile(use, backend: corp), now: now)
    expect(kept?.held.state, equals: .signedOut(byUser: true))
  }

  @Test func aClientsTokenSurvivesAChangeOfTheRole() throws {
    let record = SnapshotStory.byToken.record(try fullProfile())
    let now = SnapshotStory.byToken.session.now
    let kept = try record.snapshot(for: try fullProfile("role_arn = \(Fixtures.role)\n"), now: now)
    expect(kept?.held.token?.token, equals: fixtures.developerToken)
    expect(kept?.held.credentials == nil)
  }

  @Test func snapshotOfAnotherBootIsDropped() throws {
    let profile = try fullProfile()
    let record = SnapshotStory.byPassword.record(profile)
    expect(try record.snapshot(for: profile, now: .seconds(1)) == nil)
  }
}
