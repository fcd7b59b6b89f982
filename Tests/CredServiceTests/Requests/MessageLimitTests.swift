import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Nobody makes a pool send messages without end, or tries second factors with many uids.
final class MessageLimitTests {
  private typealias Pool = ScriptedPool

  private static let email = Pool.challenge(
    "EMAIL_OTP", #"{"CODE_DELIVERY_DESTINATION":"a***@e***"}"#)

  private func fixture(_ backend: String = "") throws -> (ServiceFixture, ScriptedPool) {
    let fixture = try ServiceFixture(Configured.scriptedPool(backend: backend))
    for uid: UInt32 in 1000..<1200 {
      fixture.host.queries.users[uid] = UserEntry(uid: uid, name: "user\(uid)")
    }
    return (fixture, ScriptedPool(fixture))
  }

  private static func login(_ user: String = "alice", password: Bool = true) -> String {
    #"{"op":"login","username":"\#(user)"\#(password ? #","password":"pass-word""# : "")}"#
  }

  private static func answer(_ reply: Reply, _ answers: String) -> String {
    #"{"op":"respond","handle":"\#(reply.handle ?? "")","answers":{\#(answers)}}"#
  }

  /// How many of so many sign-ins reach a code that was sent.
  private func messages(
    _ fixture: ServiceFixture, _ pool: ScriptedPool, _ answers: [FakeHTTP.Answer],
    count: Int = 25, _ ask: () throws -> Reply
  ) throws -> Int {
    var sent = 0
    for _ in 0..<count {
      pool.answers = answers
      let reply = try ask()
      if reply["Challenge"]?["Step"]?.text == "code" {
        sent += 1
      } else {
        expect(reply.errorCode, equals: "TooManyRequests")
        expect((reply["Error"]?["RetryAfter"]?.double ?? 0) > 0)
      }
      fixture.advance(by: .milliseconds(40))
    }
    return sent
  }

  @Test func aPasswordThatIsNotNeededChangesNothingAboutTheLimit() throws {
    let (fixture, pool) = try fixture("auth_flow = choice")
    expect(
      try messages(fixture, pool, [Self.email]) { try fixture.ask(Self.login()) }, equals: 5)
    fixture.advance(by: .seconds(600))
    expect(
      try messages(fixture, pool, [Self.email]) { try fixture.ask(Self.login(password: false)) },
      equals: 5)
  }

  @Test func codesAfterARightPasswordAreLimitedToo() throws {
    let (fixture, pool) = try fixture()
    expect(
      try messages(fixture, pool, [Pool.verifier, Pool.sms]) { try fixture.ask(Self.login()) },
      equals: 5)
    // Another user of the host, and a code that an app shows.
    pool.answers = [Pool.verifier, Pool.sms]
    expect(try fixture.ask(Self.login(), uid: 1001).handle != nil)
    fixture.advance(by: .seconds(600))
    let app = [Pool.verifier, Pool.challenge("SOFTWARE_TOKEN_MFA")]
    expect(try messages(fixture, pool, app) { try fixture.ask(Self.login()) }, equals: 25)
  }

  @Test func addressesThatAClientTypesGetFewCodes() throws {
    let (fixture, pool) = try fixture()
    let setup = Pool.challenge("MFA_SETUP", #"{"MFAS_CAN_SETUP":"[\"EMAIL_OTP\"]"}"#)
    pool.answers = [Pool.verifier, setup]
    let open = try fixture.ask(Self.login(), uid: 1000)
    let sent = try messages(fixture, pool, [Pool.verifier, setup, Self.email]) {
      let asked = try fixture.ask(Self.login(), uid: 1001)
      guard asked.handle != nil else { return asked }
      return try fixture.ask(Self.answer(asked, #""answer":"b@example.com""#), uid: 1001)
    }
    expect(sent, equals: 5)
    // The question stays where the answer would send one more.
    for _ in 0..<5 {
      pool.answers = [Pool.verifier, Pool.sms]
      _ = try fixture.ask(Self.login("bob"), uid: 1000)
    }
    expect(
      try fixture.ask(Self.answer(open, #""answer":"b@example.com""#)).errorCode,
      equals: "UnknownChallenge")
  }

  @Test func anAnswerThatWouldSendOneMoreLeavesTheQuestion() throws {
    let fixture = try ServiceFixture(Configured.scriptedPool(["one", "two"]))
    let pool = ScriptedPool(fixture)
    func login(_ profile: String) throws -> Reply {
      try fixture.ask(
        #"{"op":"login","profile":"\#(profile)","username":"alice","password":"pass-word"}"#)
    }
    let choice = Pool.challenge(
      "SELECT_MFA_TYPE", #"{"MFAS_CAN_CHOOSE":"[\"SMS_MFA\",\"SOFTWARE_TOKEN_MFA\"]"}"#)
    pool.answers = [Pool.verifier, choice]
    let open = try login("one")
    for _ in 0..<5 {
      pool.answers = [Pool.verifier, Pool.sms]
      expect(try login("two").handle != nil)
    }
    let count = pool.requests.count
    let refused = try fixture.ask(Self.answer(open, #""choice":"SMS_MFA""#))
    expect(refused.errorCode, equals: "TooManyRequests")
    expect(refused["Error"]?["Handle"]?.text, equals: open.handle)
    expect(pool.requests.count, equals: count)
    pool.answers = [Pool.challenge("SOFTWARE_TOKEN_MFA")]
    expect(
      try fixture.ask(Self.answer(open, #""choice":"SOFTWARE_TOKEN_MFA""#)).handle != nil)
  }

  @Test func leavingWhileThePoolSendsCounts() throws {
    for leave in [#"{"op":"logout"}"#, nil] {
      let (fixture, pool) = try fixture()
      for _ in 0..<25 {
        pool.answers = [Pool.verifier, .silence]
        let client = fixture.connect()
        client.send(Self.login())
        if let leave { _ = try fixture.ask(leave) } else { client.leave() }
        fixture.advance(by: .seconds(2))
      }
      let sent = pool.requests.count { $0.operation == "RespondToAuthChallenge" }
      expect((1...5).contains(sent), "\(leave ?? "left")")
    }
  }

  @Test func aNameThatNoPoolHasCostsNoCode() throws {
    let (fixture, pool) = try fixture("auth_flow = custom")
    for _ in 0..<20 {
      let line = #"{"op":"login","username":"\#(String(repeating: "a", count: 129))"}"#
      expect(try fixture.ask(line).errorCode, equals: "InvalidRequest")
    }
    pool.answers = [Pool.challenge("CUSTOM_CHALLENGE")]
    expect(try fixture.ask(Self.login(password: false)).handle != nil)
  }

  // MARK: Other users

  @Test(arguments: ["auth_flow = custom", "auth_flow = choice", ""])
  func theSignInsOfSomeHoldUpNobodyElse(_ backend: String) throws {
    let (fixture, pool) = try fixture(backend)
    let isCustom = backend.contains("custom")
    let question = isCustom ? Pool.challenge("CUSTOM_CHALLENGE") : Self.email
    for uid: UInt32 in 1000..<1100 {
      pool.answers = backend.isEmpty ? [Pool.verifier, question] : [question]
      expect(try fixture.ask(Self.login(), uid: uid).handle != nil, "\(uid)")
    }
  }

  @Test func aBusyBackendGivesEachUserAShare() throws {
    let (fixture, pool) = try fixture("auth_flow = choice")
    for uid: UInt32 in 1000..<1040 {
      pool.answers = [Self.email]
      _ = try fixture.ask(Self.login(), uid: uid)
    }
    pool.answers = [Self.email]
    expect(try fixture.ask(Self.login(), uid: 1000).errorCode, equals: "TooManyRequests")
    pool.answers = [Self.email]
    expect(try fixture.ask(Self.login(), uid: 1100).handle != nil)
    fixture.advance(by: .seconds(60))
    pool.answers = [Self.email]
    expect(try fixture.ask(Self.login(), uid: 1000).handle != nil)
  }

  // MARK: Second factors

  @Test func manyUidsGuessASecondFactorNoFasterThanOne() throws {
    let (fixture, pool) = try fixture()
    var tried = 0
    for uid: UInt32 in 1000..<1100 {
      pool.answers = [Pool.verifier, Pool.sms, Pool.error("CodeMismatchException")]
      let asked = try fixture.ask(Self.login("alias\(uid)"), uid: uid)
      let reply = try fixture.ask(Self.answer(asked, #""code":"000000""#), uid: uid)
      expect(reply["Error"]?["Handle"]?.text, equals: asked.handle)
      if reply.errorCode == "SignInFailed" { tried += 1 }
    }
    // Some requests later the first pause is over.
    expect((10...12).contains(tried), "\(tried)")
    // The code of somebody else, and the sign-in itself, are not held up.
    pool.answers = [
      Pool.challenge(
        "PASSWORD_VERIFIER",
        #"{"SALT":"7d","SRP_B":"5","SECRET_BLOCK":"AAAA","USER_ID_FOR_SRP":"bob"}"#),
      Pool.sms, Pool.error("CodeMismatchException"),
    ]
    let asked = try fixture.ask(Self.login("bob"), uid: 1150)
    expect(
      try fixture.ask(Self.answer(asked, #""code":"1""#), uid: 1150).errorCode,
      equals: "SignInFailed")
    pool.answers = [Pool.verifier, Pool.tokens(at: fixture.host.clock.wallTime)]
    expect(try fixture.ask(Self.login(), uid: 1151).state, equals: "signedIn")
  }

  @Test func twoUidsTryNoSecondFactorAtOnce() throws {
    let (fixture, pool) = try fixture()
    let asked = try [1000, 1001].map { (uid: UInt32) in
      pool.answers = [Pool.verifier, Pool.sms]
      return try fixture.ask(Self.login(), uid: uid)
    }
    pool.answers = [.silence]
    let first = fixture.connect(uid: 1000)
    first.send(Self.answer(asked[0], #""code":"1""#))
    expect(
      try fixture.ask(Self.answer(asked[1], #""code":"2""#), uid: 1001).errorCode,
      equals: "TooManyRequests")
    first.leave()
    pool.answers = [Pool.tokens(at: fixture.host.clock.wallTime)]
    expect(
      try fixture.ask(Self.answer(asked[1], #""code":"2""#), uid: 1001).state, equals: "signedIn")
  }

  @Test func withoutThePasswordNobodyLocksAUserOut() throws {
    let (fixture, pool) = try fixture("auth_flow = choice")
    for uid: UInt32 in 1000..<1050 {
      pool.answers = [Self.email, Pool.error("CodeMismatchException")]
      let asked = try fixture.ask(Self.login(password: false), uid: uid)
      let reply = try fixture.ask(Self.answer(asked, #""code":"0""#), uid: uid)
      expect(reply.errorCode, equals: "SignInFailed", "\(uid)")
    }
  }

  /// A trigger may send a message with each of its questions.
  @Test func manyQuestionsOfOneSignInAreLimitedToo() throws {
    let (fixture, pool) = try fixture("auth_flow = custom")
    var number = 0
    func question() -> FakeHTTP.Answer {
      number += 1
      return Pool.challenge("CUSTOM_CHALLENGE", #"{"attempt":"\#(number)"}"#)
    }
    pool.answers = [question()]
    var reply = try fixture.ask(Self.login(password: false))
    while reply.handle != nil, number < 12 {
      pool.answers = [question()]
      reply = try fixture.ask(Self.answer(reply, #""answer":"1""#))
      fixture.advance(by: .seconds(30))
    }
    expect(reply.errorMessage?.contains("too many codes") == true, "\(reply)")
    expect(pool.requests.count { $0.operation == "RespondToAuthChallenge" }, equals: 6)
    // The question stays.
    expect(fixture.service.openSignIns, equals: 1)
  }
}
