import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// `respond` with `wait` while another client's answer is at the user pool.
final class StepWaitTests: ChallengeTesting {
  private static func wait(_ handle: String, _ seconds: Int = 10) -> String {
    #"{"op":"respond","handle":"\#(handle)","wait":\#(seconds)}"#
  }

  /// One client answers, another one waits, and the pool answers after a second.
  private func step(
    _ answer: (ServiceFixture) -> FakeHTTP.Answer
  ) throws -> (ServiceFixture, answering: TestClient, waiting: TestClient, handle: String) {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, answer(fixture)]
    let handle = try fixture.ask(Self.login).handle ?? ""
    let (answering, waiting) = (fixture.connect(), fixture.connect())
    answering.send(Self.answer(handle))
    waiting.send(Self.wait(handle))
    expect(answering.hasReadAll && waiting.hasReadAll)
    return (fixture, answering, waiting, handle)
  }

  @Test func theOneWhoWaitsLearnsThatTheUserIsSignedIn() throws {
    let (fixture, answering, waiting, _) = try step {
      Pool.tokens(at: $0.host.clock.wallTime, after: .seconds(1))
    }
    fixture.advance(by: .seconds(2))
    expect(try answering.next().state, equals: "signedIn")
    expect(try waiting.next().state, equals: "signedIn")
  }

  @Test func theNextQuestionIsForBoth() throws {
    let (fixture, answering, waiting, handle) = try step { _ in
      Pool.challenge("SOFTWARE_TOKEN_MFA", after: .seconds(1))
    }
    fixture.advance(by: .seconds(2))
    let (one, other) = try (answering.next(), waiting.next())
    expect(one["Challenge"]?["Name"]?.text, equals: "SOFTWARE_TOKEN_MFA")
    expect(one.handle == other.handle && one.handle != handle && one.handle != nil)
  }

  @Test func aWrongAnswerLeavesTheQuestion() throws {
    let (fixture, answering, waiting, handle) = try step { _ in
      .reply(400, #"{"__type":"CodeMismatchException"}"#, after: .seconds(1))
    }
    fixture.advance(by: .seconds(2))
    expect(try answering.next().errorCode, equals: "SignInFailed")
    expect(try waiting.next().handle, equals: handle)
  }

  @Test func aSignInThatEndsEndsTheWait() throws {
    let (fixture, answering, waiting, handle) = try step { _ in .silence }
    _ = try fixture.ask(#"{"op":"respond","handle":"\#(handle)","cancel":true}"#)
    expect(try answering.next().errorCode, equals: "SignInFailed")
    expect(try waiting.next().errorCode, equals: "UnknownChallenge")
    expect(fixture.service.openSignIns, equals: 0)
  }

  @Test func aWaitEndsInItsTime() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, .silence]
    let handle = try fixture.ask(Self.login).handle ?? ""
    let (answering, waiting) = (fixture.connect(), fixture.connect())
    answering.send(Self.answer(handle))
    waiting.send(Self.wait(handle, 1))
    fixture.advance(by: .milliseconds(1100))
    expect(try waiting.next().errorCode, equals: "TooManyRequests")
    expect(answering.hasReadAll)
    // Without a wait there is none.
    expect(try fixture.ask(Self.wait(handle, 0)).errorCode, equals: "TooManyRequests")
  }

  @Test func aWaiterThatLeavesGetsNothingLater() throws {
    let (fixture, answering, waiting, _) = try step {
      Pool.tokens(at: $0.host.clock.wallTime, after: .seconds(1))
    }
    waiting.leave()
    fixture.advance(by: .seconds(2))
    expect(try answering.next().state, equals: "signedIn")
    expect(waiting.hasReadAll)
  }

  @Test func anotherUserDoesNotWait() throws {
    let (fixture, _, _, handle) = try step { _ in .silence }
    expect(try fixture.ask(Self.wait(handle), uid: 1001).errorCode, equals: "UnknownChallenge")
  }
}
