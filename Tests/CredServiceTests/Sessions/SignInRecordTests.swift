import CredCore
import Logging
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Each sign-in that was tried has one entry in the audit, of its end and of who asked, whatever comes
/// between.
struct SignInRecordTests: ChallengeTesting {
  private static let alice = #"{"op":"login","username":"alice","password":"alice-password"}"#
  private static let bob = #"{"op":"login","username":"bob","password":"bob-password"}"#
  private static let patient = Configured.password()
    .replacing("timeout = 2s", with: "timeout = 50s")

  private func records(_ fixture: ServiceFixture) -> [LogBook.Entry] {
    expect(fixture.service.sessions.values.allSatisfy { $0.asking.signIns.isEmpty })
    let messages = ["signed in", "sign-in refused"]
    return fixture.host.log.entries.filter { messages.contains($0.message) }
  }

  // MARK: What it is not

  @Test func aRefusedSignInIsNoFailedRefresh() throws {
    let fixture = try ServiceFixture(Configured.password())
    expect(try fixture.ask(Self.alice).state, equals: "signedIn")
    let program = fixture.connect(pid: 70)
    expect(try program.ask("{}").accessKeyID != nil)
    let before = fixture.host.log.entries.count
    let wrong = Self.alice.replacing("alice-password", with: "no")
    expect(try fixture.ask(wrong).errorCode, equals: "SignInFailed")
    expect(try program.ask("{}").accessKeyID != nil)
    // Nothing is said of the credentials, which the program had before.
    expect(fixture.host.log.entries[before...].map(\.message), equals: ["sign-in refused"])
    expect(try fixture.status()?["LastError"]?["Code"] == nil)
    expect(fixture.service.figures.refreshes.count, equals: 1)
  }

  /// Nobody was judged, and the audit has no entry.
  @Test(arguments: [503, 405])
  func aSignInThatCannotBeJudgedIsToldInItsOwnWords(status: Int) throws {
    let fixture = try ServiceFixture(Configured.password())
    fixture.host.upstreams.faults["login"] = .status(status)
    expect(try fixture.ask(Self.alice).errorCode != nil)
    let entry = fixture.host.log.entries.first { $0.message.hasPrefix("a sign-in failed") }
    expect(entry?.level, equals: status == 503 ? .info : .warning)
    expect(entry?["message_id"] == JournalEvent.signInFailed.rawValue)
    expect(fixture.service.figures.refreshes.isEmpty)
  }

  // MARK: Who asked

  /// The first one goes on after its client was told that it takes too long.
  @Test func eachSignInOfAClientHasItsOwnEntry() throws {
    let host = try LinkedHost(
      Configured.linking(
        corp: "login_url = http://127.0.0.1/login\nlogout_url = http://127.0.0.1/logout"
      ).replacing("timeout = 2s", with: "timeout = 40s"))
    let fixture = host.fixture
    expect(try fixture.ask(Self.alice).state, equals: "signedIn")
    fixture.host.upstreams.delays["login"] = .seconds(35)
    let client = fixture.connect(pid: 70)
    client.send(Self.bob)
    fixture.advance(by: .seconds(30))
    expect(try client.next().errorCode, equals: "Timeout")
    let asked = try client.ask(LinkedHost.login)
    let code = host.provider.browse(asked, code: "wrong")
    expect(
      try client.ask(asked.response("response", "\"\(code)\"")).errorCode, equals: "SignInFailed")
    fixture.advance(by: .seconds(10))
    let found = records(fixture)
    expect(found.map { $0["means"] }, equals: ["password", "browser", "password"])
    expect(found.last?["username"] == "bob" && found.last?["pid"] == "70")
  }

  @Test func twoLoginsThatOutlastTheirClientAreTwoEntries() throws {
    let fixture = try ServiceFixture(Self.patient)
    fixture.host.upstreams.delays["login"] = .seconds(45)
    let client = fixture.connect(pid: 70)
    for line in [Self.alice, Self.bob] {
      client.send(line)
      fixture.advance(by: .seconds(31))
      expect(try client.next().errorCode, equals: "Timeout")
    }
    fixture.advance(by: .seconds(31))
    expect(records(fixture).map { $0["username"] }, equals: ["alice", "bob"])
    expect(records(fixture).map(\.message), equals: ["sign-in refused", "signed in"])
    // One that takes long is counted once, too.
    let metrics = try fixture.ask(#"{"op":"metrics"}"#, uid: 0)["Metrics"]?.text ?? ""
    expect(!metrics.contains(#"result="Timeout""#))
  }

  /// Another program than the one that began may answer.
  @Test func whoAnswersAQuestionIsNamed() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, .silence]
    let first = fixture.connect(pid: 60)
    first.systemdUnit = "first.service"
    let handle = try first.ask(Self.login).handle ?? ""
    let client = fixture.connect(pid: 70)
    client.systemdUnit = "second.service"
    client.send(Self.answer(handle))
    client.leave()
    fixture.advance(by: .seconds(5))
    let found = records(fixture)
    expect(found.count == 1 && found.first?["username"] == "alice")
    expect(found.first?["pid"] == "70" && found.first?["unit"] == "second.service")
  }

  /// It has signed in, and its credentials are still on their way.
  @Test(arguments: [true, false])
  func aSignInThatIsCutShortAfterItsAnswerIsNamed(_ leaves: Bool) throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
    let handle = try fixture.ask(Self.login).handle ?? ""
    fixture.host.upstreams.delays["GetCredentialsForIdentity"] = .seconds(1)
    let client = fixture.connect(pid: 70)
    client.send(Self.answer(handle))
    expect(client.isWaiting && fixture.service.openSignIns == 0)
    if leaves { client.leave() } else { _ = try fixture.ask(#"{"op":"logout"}"#) }
    fixture.advance(by: .seconds(5))
    let found = records(fixture)
    expect(found.map(\.message), equals: ["signed in"])
    expect(found.first?["username"] == "alice" && found.first?["means"] == "userPool")
  }

  @Test func whoIsLinkedIsNamed() throws {
    let host = try LinkedHost()
    _ = try host.ask()
    try host.link()
    let found = records(host.fixture)
    expect(found.map { $0["means"] } == ["browser"] && found.first?["username"] == "alice")
  }

  @Test func theFormerUsersIdentityIsInNoEntryOfTheNext() throws {
    let fixture = try ServiceFixture(Configured.password())
    expect(try fixture.ask(Self.alice).state, equals: "signedIn")
    let former = fixture.host.upstreams.identity(of: "alice")
    fixture.host.upstreams.delays["login"] = .milliseconds(500)
    fixture.host.upstreams.faults["token"] = .status(503)
    let client = fixture.connect(pid: 70)
    client.send(Self.bob)
    client.leave()
    fixture.advance(by: .seconds(10))
    let found = records(fixture).filter { $0["pid"] == "70" }
    expect(found.count == 1 && found.first?["username"] == "bob")
    expect(found.first?["identity"] != former)
  }

  @Test func whoWaitsBesideAnAnswerMakesNoEntry() throws {
    let (fixture, pool) = try fixture()
    let later = Pool.tokens(at: fixture.host.clock.wallTime, after: .seconds(1))
    pool.answers = [Pool.verifier, Pool.sms, later]
    let handle = try fixture.ask(Self.login).handle ?? ""
    let (answering, waiting) = (fixture.connect(pid: 70), fixture.connect(pid: 71))
    answering.send(Self.answer(handle))
    waiting.send(#"{"op":"respond","handle":"\#(handle)","wait":10}"#)
    fixture.advance(by: .seconds(3))
    expect(try waiting.next().state, equals: "signedIn")
    expect(records(fixture).map { $0["pid"] }, equals: ["70"])
  }

  // MARK: What comes between

  @Test func loginsThatTakeEachOthersPlaceAreAllRecorded() throws {
    let fixture = try ServiceFixture(Configured.password())
    fixture.host.upstreams.delays["login"] = .milliseconds(1500)
    for pid in 70..<74 as Range<Int32> {
      let client = fixture.connect(pid: pid)
      client.send(pid.isMultiple(of: 2) ? Self.alice : Self.bob)
      client.leave()
      fixture.advance(by: .milliseconds(700))
    }
    fixture.advance(by: .seconds(10))
    let found = records(fixture)
    expect(found.map { $0["pid"] }, equals: ["70", "71", "72", "73"])
    expect(found.map { $0["code"] }, equals: ["SignInFailed", "SignInFailed", "SignInFailed", nil])
  }

  /// What is signed in outlives the daemon.
  @Test(arguments: ["login", "token"])
  func aStopLosesNoEntry(_ slow: String) throws {
    let fixture = try ServiceFixture(Configured.password())
    fixture.host.upstreams.delays[slow] = .milliseconds(500)
    let client = fixture.connect(pid: 70)
    client.send(Self.alice)
    fixture.advance(by: .milliseconds(100))
    fixture.service.stop()
    fixture.service.dismissWaiters()
    expect(try client.next().errorCode, equals: "ShuttingDown")
    fixture.advance(by: .seconds(2))
    fixture.service.dismissWaiters()
    expect(fixture.service.sessions.values.first?.machine.state.reported, equals: .signedIn)
    expect(records(fixture).map(\.message), equals: ["signed in"])
  }

  @Test(arguments: [("login", false), ("login", true), ("token", false)])
  func aReloadThatRemovesTheProfileLosesNoEntry(_ slow: String, _ leaves: Bool) throws {
    let fixture = try ServiceFixture(Configured.password())
    fixture.host.upstreams.delays[slow] = .milliseconds(500)
    let client = fixture.connect(pid: 70)
    client.send(Self.alice)
    if leaves { client.leave() }
    try fixture.reload(Configured.password().replacing("profile default", with: "profile other"))
    fixture.advance(by: .seconds(3))
    let found = records(fixture)
    expect(found.map(\.message), equals: [slow == "token" ? "signed in" : "sign-in refused"])
    expect(found.first?["pid"], equals: "70")
  }

  @Test func aReloadThatShutsTheUserOutLosesNoEntry() throws {
    let fixture = try ServiceFixture(Configured.password())
    fixture.host.upstreams.delays["login"] = .milliseconds(1500)
    let client = fixture.connect(pid: 70)
    client.send(Self.alice)
    try fixture.reload(Configured.password(profile: "allow_users = root"))
    fixture.advance(by: .milliseconds(100))
    expect(try client.next().errorCode, equals: "AccessDenied")
    fixture.advance(by: .seconds(10))
    expect(records(fixture).map { $0["pid"] }, equals: ["70"])
  }

  /// The user is signed in, though a later step has failed for good.
  @Test(arguments: [true, false])
  func whoIsSignedInWithoutCredentialsIsRecordedAsSignedIn(_ leaves: Bool) throws {
    let fixture = try ServiceFixture(Configured.password())
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
      400, #"{"__type":"InvalidIdentityPoolConfigurationException","message":"x"}"#)
    fixture.host.upstreams.delays["login"] = .milliseconds(500)
    let client = fixture.connect(pid: 70)
    client.send(Self.alice)
    if leaves { client.leave() }
    fixture.advance(by: .seconds(10))
    expect(fixture.service.sessions.values.first?.machine.state.reported, equals: .signedIn)
    expect(records(fixture).map(\.message), equals: ["signed in"])
  }

  @Test func aLoginBeyondTheCallLimitIsRecorded() throws {
    let fixture = try ServiceFixture(Configured.password())
    let client = fixture.connect(pid: 70)
    let isLimited = try (0..<200).contains { _ in
      client.send(#"{"op":"clear","what":"credentials"}"#)
      client.send(#"{"refresh":true,"wait":0}"#)
      fixture.host.settle()
      return try client.ask(Self.alice).errorMessage?.contains("too many upstream calls") ?? false
    }
    expect(isLimited)
    expect(records(fixture).contains { $0["code"] == "TooManyRequests" })
  }
}
