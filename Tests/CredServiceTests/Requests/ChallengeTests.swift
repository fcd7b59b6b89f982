import CredCore
import Testing

@testable import CredService

/// Sign-ins at a user pool that asks back: the book of open challenges.
final class ChallengeTests {
  private typealias Pool = ScriptedPool

  private static let login = #"{"op":"login","username":"alice","password":"pass-word"}"#

  private func fixture(
    _ text: String = Configured.scriptedPool(), _ answers: [FakeHTTP.Answer] = []
  ) throws -> (ServiceFixture, ScriptedPool) {
    let fixture = try ServiceFixture(text)
    return (fixture, ScriptedPool(fixture, answers))
  }

  private func tokens(_ fixture: ServiceFixture) -> FakeHTTP.Answer {
    Pool.tokens(at: fixture.host.clock.wallTime)
  }

  private static func line(
    _ profile: String, user: String = "alice"
  ) -> String {
    #"{"op":"login","profile":"\#(profile)","username":"\#(user)","password":"pass-word"}"#
  }

  private static func answer(_ handle: String, _ code: String = "123456") -> String {
    #"{"op":"respond","handle":"\#(handle)","answers":{"code":"\#(code)"}}"#
  }

  // MARK: A whole sign-in

  @Test func aPasswordAloneSignsIn() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, tokens(fixture)]
    let reply = try fixture.ask(Self.login)
    #expect(reply.state == "signedIn" && reply["SignedInBy"]?.text == "userPool")
    #expect(try fixture.ask().accessKeyID != nil)
    #expect(pool.requests.allSatisfy { $0.body.exposedText()?.contains("pass-word") == false })
    #expect(fixture.service.openSignIns == 0)
  }

  @Test func aCodeIsAskedAndAnswered() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
    let asked = try fixture.ask(Self.login)
    #expect(asked.state == "signedOut" && asked.handle?.count == 32)
    #expect(asked["Challenge"]?["Step"]?.text == "code")
    #expect(asked["Challenge"]?["Parameters"]?["Destination"]?.text == "+***99")
    #expect(asked["Challenge"]?["ExpiresIn"]?.integer == 180)
    #expect(fixture.service.openSignIns == 1)
    let reply = try fixture.ask(Self.answer(asked.handle ?? ""))
    #expect(reply.state == "signedIn")
    #expect(try fixture.ask(Self.answer(asked.handle ?? "")).errorCode == "UnknownChallenge")
  }

  @Test func aGetThatWaitsGoesOnWhenTheSignInIsComplete() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
    let waiting = fixture.connect()
    waiting.send(#"{"wait":100}"#)
    let handle = try fixture.ask(Self.login).handle ?? ""
    #expect(waiting.hasReadAll)
    _ = try fixture.ask(Self.answer(handle))
    #expect(try waiting.next().accessKeyID != nil)
  }

  @Test func whoWatchesLearnsOfTheChallenge() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms]
    let watcher = fixture.connect()
    let stranger = fixture.connect(uid: 1001)
    watcher.send(#"{"op":"watch","profile":"default"}"#)
    stranger.send(#"{"op":"watch","profile":"default"}"#)
    _ = try (watcher.next(), stranger.next())
    let handle = try fixture.ask(Self.login).handle ?? "-"
    let event = try watcher.next()
    #expect(event["Event"]?.text == "challenge" && event["Step"]?.text == "code")
    #expect(!event.text.contains(handle))
    #expect(stranger.hasReadAll)
  }

  // MARK: Wrong answers

  @Test func aWrongCodeMayBeAnsweredAgainByTheSameHandle() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [
      Pool.verifier, Pool.sms, Pool.error("CodeMismatchException"), tokens(fixture),
    ]
    let handle = try fixture.ask(Self.login).handle ?? ""
    let refused = try fixture.ask(Self.answer(handle, "000000"))
    #expect(refused.errorCode == "SignInFailed")
    #expect(refused["Error"]?["Handle"]?.text == handle)
    #expect(try fixture.ask(Self.answer(handle)).state == "signedIn")
  }

  @Test func guessedCodesHaveToWaitLikeGuessedPasswords() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms]
    pool.answers += Array(repeating: Pool.error("CodeMismatchException"), count: 20)
    let handle = try fixture.ask(Self.login).handle ?? ""
    var codes: [String] = []
    for _ in 0..<12 {
      codes.append(try fixture.ask(Self.answer(handle, "000000")).errorCode ?? "")
    }
    #expect(codes.prefix(3).allSatisfy { $0 == "SignInFailed" })
    #expect(codes.dropFirst(3).allSatisfy { $0 == "TooManyRequests" })
    #expect(pool.requests.count == 5)
  }

  @Test func aWrongPasswordCountsToo() throws {
    let (fixture, pool) = try fixture()
    for _ in 0..<3 {
      pool.answers += [Pool.verifier, Pool.error("NotAuthorizedException")]
      #expect(try fixture.ask(Self.login).errorCode == "SignInFailed")
    }
    #expect(try fixture.ask(Self.login).errorCode == "TooManyRequests")
    // Other users notice nothing.
    pool.answers = [Pool.verifier, tokens(fixture)]
    #expect(try fixture.ask(Self.login, uid: 1001).state == "signedIn")
  }

  @Test func whoLeavesBeforeTheAnswerHasGuessed() throws {
    let (fixture, pool) = try fixture()
    for _ in 0..<3 {
      pool.answers = [Pool.verifier, FakeHTTP.Answer.silence]
      let client = fixture.connect()
      client.send(Self.login)
      client.leave()
      #expect(fixture.service.openSignIns == 0)
    }
    #expect(try fixture.ask(Self.login).errorCode == "TooManyRequests")
  }

  @Test func anAnswerThatDoesNotFitCostsNothing() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
    let handle = try fixture.ask(Self.login).handle ?? ""
    for _ in 0..<20 {
      let reply = try fixture.ask(
        #"{"op":"respond","handle":"\#(handle)","answers":{"answer":"1"}}"#)
      #expect(reply.errorCode == "InvalidRequest")
      #expect(reply["Error"]?["Handle"]?.text == handle)
    }
    #expect(pool.requests.count == 2)
    #expect(try fixture.ask(Self.answer(handle)).state == "signedIn")
  }

  @Test func aLostReplyEndsTheChallenge() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, .silence]
    let handle = try fixture.ask(Self.login).handle ?? ""
    let reply = try fixture.ask(Self.answer(handle))
    #expect(reply["Error"]?["Reason"]?.text == "OutcomeUnknown")
    #expect(reply["Error"]?["Handle"] == nil)
    #expect(try fixture.ask(Self.answer(handle)).errorCode == "UnknownChallenge")
    #expect(pool.requests.count == 3)
  }

  // MARK: Whose it is

  @Test func aHandleOfAnotherUserIsAnUnknownOne() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
    let handle = try fixture.ask(Self.login).handle ?? ""
    let none = String(repeating: "0", count: 32)
    for uid: UInt32 in [1001, 0] {
      for input in [#""answers":{"code":"1"}"#, #""cancel":true"#, #""wait":0"#] {
        let replies = try [handle, none, "nonsense"].map {
          try fixture.ask(#"{"op":"respond","handle":"\#($0)",\#(input)}"#, uid: uid).text
        }
        #expect(Set(replies).count == 1 && replies[0].contains("UnknownChallenge"))
      }
    }
    #expect(pool.requests.count == 2)
    #expect(try fixture.ask(Self.answer(handle)).state == "signedIn")
  }

  @Test func aChallengeOfAFormerOwnerOfTheUidIsNobodys() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms]
    let handle = try fixture.ask(Self.login).handle ?? ""
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    fixture.advance(by: .seconds(61))
    #expect(try fixture.ask(Self.answer(handle)).errorCode == "UnknownChallenge")
    #expect(pool.requests.count == 2 && fixture.service.openSignIns == 0)
  }

  // MARK: The end of a challenge

  @Test(arguments: [
    #"{"op":"logout"}"#, #"{"op":"clear","what":"identity"}"#,
    #"{"op":"respond","handle":"HANDLE","cancel":true}"#,
  ])
  func aChallengeEndsWith(_ line: String) throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms]
    let handle = try fixture.ask(Self.login).handle ?? ""
    #expect(try fixture.ask(line.replacing("HANDLE", with: handle)).state == "signedOut")
    #expect(try fixture.ask(Self.answer(handle)).errorCode == "UnknownChallenge")
    #expect(fixture.service.openSignIns == 0)
  }

  @Test func otherRequestsLeaveAChallengeAsItIs() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
    let handle = try fixture.ask(Self.login).handle ?? ""
    for line in [
      #"{"op":"release"}"#, #"{"op":"clear","what":"credentials"}"#, #"{"op":"status"}"#,
      #"{"wait":0}"#,
    ] { _ = try fixture.ask(line) }
    #expect(try fixture.ask(Self.answer(handle)).state == "signedIn")
  }

  @Test func anotherLoginTakesThePlaceOfAChallenge() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, Pool.verifier, Pool.sms]
    let first = try fixture.ask(Self.login).handle ?? ""
    let second = try fixture.ask(Self.login).handle ?? ""
    #expect(first != second)
    #expect(try fixture.ask(Self.answer(first)).errorCode == "UnknownChallenge")
    #expect(fixture.service.openSignIns == 1)
  }

  @Test func aChallengeEndsInTimeAndSaysHowMuchIsLeft() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms]
    let handle = try fixture.ask(Self.login).handle ?? ""
    fixture.advance(by: .seconds(100))
    let wait = #"{"op":"respond","handle":"\#(handle)","wait":30}"#
    let again = try fixture.ask(wait)
    #expect(again.handle == handle)
    #expect((79...80).contains(again["Challenge"]?["ExpiresIn"]?.integer ?? 0))
    fixture.advance(by: .seconds(81))
    #expect(fixture.service.openSignIns == 0)
    #expect(try fixture.ask(Self.answer(handle)).errorCode == "UnknownChallenge")
    #expect(pool.requests.count == 2)
  }

  @Test func aReloadThatChangesTheSignInEndsIt() throws {
    for (backend, ends) in [
      ("", false), ("remember_device = yes", true), ("auth_flow = password", true),
    ] {
      let (fixture, pool) = try fixture()
      pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
      let handle = try fixture.ask(Self.login).handle ?? ""
      try fixture.reload(
        Configured.scriptedPool(backend: backend, profile: "forget_after = 9d"))
      let reply = try fixture.ask(Self.answer(handle))
      #expect((reply.errorCode == "UnknownChallenge") == ends, "\(backend)")
    }
  }

  @Test func aRightThatIsWithdrawnEndsIt() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms]
    let handle = try fixture.ask(Self.login).handle ?? ""
    try fixture.reload(Configured.scriptedPool(profile: "allow_users = bob"))
    #expect(try fixture.ask(Self.answer(handle)).errorCode == "AccessDenied")
    #expect(fixture.service.openSignIns == 0)
    try fixture.reload(Configured.scriptedPool(["other"]))
    #expect(try fixture.ask(Self.answer(handle)).errorCode == "UnknownChallenge")
  }

  @Test func aRestartEndsIt() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms]
    let handle = try fixture.ask(Self.login).handle ?? ""
    try fixture.restart(Configured.scriptedPool())
    #expect(try fixture.ask(Self.answer(handle)).errorCode == "UnknownChallenge")
  }

  @Test func theEndOfTheDaemonEndsASignInThatIsUnderWay() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [.silence]
    let client = fixture.connect()
    client.send(Self.login)
    fixture.service.dismissWaiters()
    #expect(try client.next().errorCode == "ShuttingDown")
    fixture.advance(by: .seconds(10))
    #expect(client.hasReadAll && fixture.service.openSignIns == 0)
    _ = pool
  }

  // MARK: Two at once

  @Test func twoLoginsOfOneUserDoNotGuessAtOnce() throws {
    let (fixture, pool) = try fixture(Configured.scriptedPool(["one", "two"]))
    pool.answers = [.silence]
    let client = fixture.connect()
    client.send(Self.line("one"))
    #expect(try fixture.ask(Self.line("two")).errorCode == "TooManyRequests")
  }

  @Test func anAnswerThatIsUnderWayIsNotSentTwice() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [
      Pool.verifier, Pool.sms, Pool.tokens(at: fixture.host.clock.wallTime, after: .seconds(1)),
    ]
    let handle = try fixture.ask(Self.login).handle ?? ""
    let first = fixture.connect()
    first.send(Self.answer(handle))
    #expect(try fixture.ask(Self.answer(handle)).errorCode == "TooManyRequests")
    fixture.advance(by: .seconds(2))
    #expect(try first.next().state == "signedIn")
    #expect(pool.requests.count == 3)
  }

  @Test func aLogoutWhileThePoolIsAskedRefusesTheLogin() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [
      Pool.verifier, Pool.tokens(at: fixture.host.clock.wallTime, after: .seconds(1)),
    ]
    let client = fixture.connect()
    client.send(Self.login)
    #expect(try fixture.ask(#"{"op":"logout"}"#).state == "signedOut")
    #expect(try client.next().errorCode == "SignInFailed")
    fixture.advance(by: .seconds(2))
    #expect(try fixture.ask(#"{"op":"identity"}"#).state == "signedOut")
    #expect(client.hasReadAll)
  }

  // MARK: Limits

  @Test func oneUserHasEightOpenChallenges() throws {
    let names = (0..<9).map { "p\($0)" }
    let (fixture, pool) = try fixture(Configured.scriptedPool(names))
    var handles: [String] = []
    for name in names {
      pool.answers = [Pool.verifier, Pool.sms]
      handles.append(try fixture.ask(Self.line(name)).handle ?? "")
    }
    #expect(fixture.service.openSignIns == 8)
    #expect(
      try fixture.ask(#"{"op":"respond","handle":"\#(handles[0])","wait":0}"#).errorCode
        == "UnknownChallenge")
    #expect(
      try fixture.ask(#"{"op":"respond","handle":"\#(handles[1])","wait":0}"#).handle == handles[1])
  }

  @Test func theOldestOfTheUserWithTheMostGoesWhenAllAreFull() throws {
    let names = ["p0", "p1"]
    let (fixture, pool) = try fixture(Configured.scriptedPool(names))
    func open(_ profile: String, _ uid: UInt32) throws -> String {
      fixture.host.queries.users[uid] = UserEntry(uid: uid, name: "user\(uid)")
      pool.answers = [Pool.verifier, Pool.sms]
      return try fixture.ask(Self.line(profile), uid: uid).handle ?? ""
    }
    let first = try open("p0", 5000)
    let second = try open("p1", 5000)
    for uid in 5001..<UInt32(5001 + 1022) { _ = try open("p0", uid) }
    #expect(fixture.service.openSignIns == 1024)
    _ = try open("p0", 9000)
    #expect(fixture.service.openSignIns == 1024)
    func isOpen(_ handle: String) throws -> Bool {
      try fixture.ask(#"{"op":"respond","handle":"\#(handle)","wait":0}"#, uid: 5000).handle
        == handle
    }
    #expect(try !isOpen(first))
    #expect(try isOpen(second))
  }

  // MARK: What is not a user pool's

  @Test func metadataIsForTriggersThatMayHaveIt() throws {
    let with = Self.login.dropLast() + #","client_metadata":{"a":"1"}}"#
    let (fixture, pool) = try fixture()
    #expect(try fixture.ask(String(with)).errorCode == "InvalidRequest")
    let (other, its) = try self.fixture(Configured.scriptedPool(backend: "client_metadata = yes"))
    its.answers = [Pool.verifier, tokens(other)]
    #expect(try other.ask(String(with)).state == "signedIn")
    #expect(its.requests[0].json?["ClientMetadata"]?["a"]?.text == "1")
    _ = pool
  }

  @Test func aNameAloneNeedsAPasswordWhereAProofIsConfigured() throws {
    let (fixture, pool) = try fixture()
    #expect(
      try fixture.ask(#"{"op":"login","username":"alice"}"#).errorCode == "SignInRequired")
    #expect(pool.requests.isEmpty)
    let (other, its) = try self.fixture(Configured.scriptedPool(backend: "auth_flow = custom"))
    its.answers = [Pool.challenge("CUSTOM_CHALLENGE", #"{"q":"2+3?"}"#), tokens(other)]
    let asked = try other.ask(#"{"op":"login","username":"alice"}"#)
    #expect(asked["Challenge"]?["Parameters"]?["q"]?.text == "2+3?")
    let answer = #"{"op":"respond","handle":"\#(asked.handle ?? "")","answers":{"answer":"5"}}"#
    #expect(try other.ask(answer).state == "signedIn")
  }

  @Test func noSecretIsLogged() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, Pool.error("CodeMismatchException"), tokens(fixture)]
    let handle = try fixture.ask(Self.login).handle ?? ""
    _ = try fixture.ask(Self.answer(handle, "654321"))
    _ = try fixture.ask(Self.answer(handle, "123456"))
    for entry in fixture.host.log.entries {
      let text = entry.message + entry.metadata.map { "\($0)=\($1)" }.joined(separator: " ")
      for secret in ["pass-word", "654321", "123456", handle, "refresh-token"] {
        #expect(!text.contains(secret), "\(text)")
      }
    }
  }
}

extension Reply {
  fileprivate var handle: String? { self["Challenge"]?["Handle"]?.text }
}
