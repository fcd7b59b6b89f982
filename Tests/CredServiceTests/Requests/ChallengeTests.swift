import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Sign-ins at a user pool that asks back: questions and answers.
final class ChallengeTests: ChallengeTesting {
  // MARK: A whole sign-in

  @Test func aPasswordAloneSignsIn() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, tokens(fixture)]
    let reply = try fixture.ask(Self.login)
    expect(reply.state == "signedIn" && reply["SignedInBy"]?.text == "userPool")
    expect(try fixture.ask().accessKeyID != nil)
    expect(pool.requests.allSatisfy { $0.body.exposedText()?.contains("pass-word") == false })
    expect(fixture.service.openSignIns, equals: 0)
  }

  @Test func aCodeIsAskedAndAnswered() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
    let asked = try fixture.ask(Self.login)
    expect(asked.state == "signedOut" && asked.handle?.count == 32)
    expect(asked["Challenge"]?["Step"]?.text, equals: "code")
    expect(asked["Challenge"]?["Parameters"]?["Destination"]?.text, equals: "+***99")
    expect(asked["Challenge"]?["ExpiresIn"]?.integer, equals: 180)
    expect(fixture.service.openSignIns, equals: 1)
    let reply = try fixture.ask(Self.answer(asked.handle ?? ""))
    expect(reply.state, equals: "signedIn")
    expect(try fixture.ask(Self.answer(asked.handle ?? "")).errorCode, equals: "UnknownChallenge")
  }

  @Test func aSessionWithAnOpenQuestionIsNotForgotten() throws {
    let (fixture, pool) = try fixture(
      Configured.scriptedPool(profile: "forget_after = 20s"))
    pool.answers = [Pool.verifier, Pool.sms]
    let handle = try fixture.ask(Self.login).handle ?? ""
    fixture.advance(by: .seconds(100))
    pool.answers = [tokens(fixture)]
    expect(try fixture.ask(Self.answer(handle)).state, equals: "signedIn")
    // Without a question it is forgotten as before.
    fixture.advance(by: .seconds(100))
    expect(fixture.service.sessions.isEmpty)
  }

  @Test func whoSignsInWhileTheAccountIsDeletedLearnsWhy() throws {
    let (fixture, pool) = try fixture(
      Configured.scriptedPool(backend: "account_actions = delete"))
    pool.answers = [Pool.verifier, tokens(fixture)]
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    pool.answers = [
      tokens(fixture), Pool.ok("", after: .seconds(1)),
      Pool.challenge("SMS_MFA", after: .milliseconds(1900)),
    ]
    let deleting = fixture.connect()
    deleting.send(#"{"op":"account","action":"delete"}"#)
    let signingIn = fixture.connect()
    signingIn.send(Self.login)
    fixture.advance(by: .seconds(3))
    expect(try deleting.next().errorCode == nil)
    let reply = try signingIn.next()
    expect(reply.errorCode, equals: "SignInFailed")
    expect(reply.errorMessage?.contains("the account was deleted") == true, "\(reply)")
  }

  @Test func aGetThatWaitsGoesOnWhenTheSignInIsComplete() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
    let waiting = fixture.connect()
    waiting.send(#"{"wait":100}"#)
    let handle = try fixture.ask(Self.login).handle ?? ""
    expect(waiting.hasReadAll)
    _ = try fixture.ask(Self.answer(handle))
    expect(try waiting.next().accessKeyID != nil)
  }

  @Test func aWatcherLearnsOfTheChallenge() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms]
    let watcher = fixture.connect()
    let stranger = fixture.connect(uid: 1001)
    watcher.send(#"{"op":"watch","profile":"default"}"#)
    stranger.send(#"{"op":"watch","profile":"default"}"#)
    _ = try (watcher.next(), stranger.next())
    let handle = try fixture.ask(Self.login).handle ?? "-"
    let event = try watcher.next()
    expect(event["Event"]?.text == "challenge" && event["Step"]?.text == "code")
    expect(!event.text.contains(handle))
    expect(stranger.hasReadAll)
  }

  // MARK: Wrong answers

  @Test func aWrongCodeMayBeAnsweredAgainByTheSameHandle() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [
      Pool.verifier, Pool.sms, Pool.error("CodeMismatchException"), tokens(fixture),
    ]
    let handle = try fixture.ask(Self.login).handle ?? ""
    let refused = try fixture.ask(Self.answer(handle, "000000"))
    expect(refused.errorCode, equals: "SignInFailed")
    expect(refused["Error"]?["Handle"]?.text, equals: handle)
    expect(try fixture.ask(Self.answer(handle)).state, equals: "signedIn")
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
    expect(codes.prefix(3).allSatisfy { $0 == "SignInFailed" })
    expect(codes.dropFirst(3).allSatisfy { $0 == "TooManyRequests" })
    expect(pool.requests.count, equals: 5)
  }

  @Test func theJournalSaysWhoseAnswerWasRefused() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms]
    pool.answers += Array(repeating: Pool.error("CodeMismatchException"), count: 3)
    let handle = try fixture.ask(Self.login).handle ?? ""
    for _ in 0..<4 { _ = try fixture.ask(Self.answer(handle, "000000")) }
    let refused = fixture.host.log.entries.filter {
      $0["message_id"] == JournalEvent.signInRefused.rawValue
    }
    expect(refused.count == 4 && refused.allSatisfy { $0["username"] == "alice" })
    expect(refused.last?["code"], equals: "TooManyRequests")
    fixture.advance(by: .seconds(2))
    pool.answers = [tokens(fixture)]
    expect(try fixture.ask(Self.answer(handle)).state, equals: "signedIn")
    let signedIn = fixture.host.log.entries.last {
      $0["message_id"] == JournalEvent.signedIn.rawValue
    }
    expect(signedIn?["username"], equals: "alice")
  }

  @Test func aConfirmationThatNobodyAskedForIsNamed() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms]
    let handle = try fixture.ask(Self.login).handle ?? ""
    let reply = try fixture.ask(
      #"{"op":"respond","handle":"\#(handle)","answers":{"confirm":true}}"#)
    expect(reply.errorCode, equals: "InvalidRequest")
    expect(
      reply.errorMessage,
      equals: #"answer "confirm" does not belong to the step "code", which takes "code""#)
  }

  @Test func aWrongPasswordCountsToo() throws {
    let (fixture, pool) = try fixture()
    for _ in 0..<3 {
      pool.answers += [Pool.verifier, Pool.error("NotAuthorizedException")]
      expect(try fixture.ask(Self.login).errorCode, equals: "SignInFailed")
    }
    expect(try fixture.ask(Self.login).errorCode, equals: "TooManyRequests")
    // Other users notice nothing.
    pool.answers = [Pool.verifier, tokens(fixture)]
    expect(try fixture.ask(Self.login, uid: 1001).state, equals: "signedIn")
  }

  @Test func leavingBeforeTheAnswerCountsAsAGuess() throws {
    let (fixture, pool) = try fixture()
    for _ in 0..<3 {
      pool.answers = [Pool.verifier, FakeHTTP.Answer.silence]
      let client = fixture.connect()
      client.send(Self.login)
      client.leave()
      expect(fixture.service.openSignIns, equals: 0)
    }
    expect(try fixture.ask(Self.login).errorCode, equals: "TooManyRequests")
  }

  @Test func anAnswerThatDoesNotFitCostsNothing() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
    let handle = try fixture.ask(Self.login).handle ?? ""
    for _ in 0..<20 {
      let reply = try fixture.ask(
        #"{"op":"respond","handle":"\#(handle)","answers":{"answer":"1"}}"#)
      expect(reply.errorCode, equals: "InvalidRequest")
      expect(reply["Error"]?["Handle"]?.text, equals: handle)
    }
    expect(pool.requests.count, equals: 2)
    expect(try fixture.ask(Self.answer(handle)).state, equals: "signedIn")
  }

  @Test func aLostReplyEndsTheChallenge() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, .silence]
    let handle = try fixture.ask(Self.login).handle ?? ""
    let reply = try fixture.ask(Self.answer(handle))
    expect(reply["Error"]?["Reason"]?.text, equals: "OutcomeUnknown")
    expect(reply["Error"]?["Handle"] == nil)
    expect(try fixture.ask(Self.answer(handle)).errorCode, equals: "UnknownChallenge")
    expect(pool.requests.count, equals: 3)
  }

  // MARK: What is not a user pool's

  @Test func metadataIsForTriggersThatMayHaveIt() throws {
    let with = Self.login.dropLast() + #","client_metadata":{"a":"1"}}"#
    let (fixture, pool) = try fixture()
    expect(try fixture.ask(String(with)).errorCode, equals: "InvalidRequest")
    let (other, its) = try self.fixture(Configured.scriptedPool(backend: "client_metadata = yes"))
    its.answers = [Pool.verifier, tokens(other)]
    expect(try other.ask(String(with)).state, equals: "signedIn")
    expect(its.requests[0].json?["ClientMetadata"]?["a"]?.text, equals: "1")
    _ = pool
  }

  @Test func aNameAloneNeedsAPasswordWhereAProofIsConfigured() throws {
    let (fixture, pool) = try fixture()
    expect(
      try fixture.ask(#"{"op":"login","username":"alice"}"#).errorCode, equals: "SignInRequired")
    expect(pool.requests.isEmpty)
    let (other, its) = try self.fixture(Configured.scriptedPool(backend: "auth_flow = custom"))
    its.answers = [Pool.challenge("CUSTOM_CHALLENGE", #"{"q":"2+3?"}"#), tokens(other)]
    let asked = try other.ask(#"{"op":"login","username":"alice"}"#)
    expect(asked["Challenge"]?["Parameters"]?["q"]?.text, equals: "2+3?")
    let answer = #"{"op":"respond","handle":"\#(asked.handle ?? "")","answers":{"answer":"5"}}"#
    expect(try other.ask(answer).state, equals: "signedIn")
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
        expect(!text.contains(secret), "\(text)")
      }
    }
  }
}
