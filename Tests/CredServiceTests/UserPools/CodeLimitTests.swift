import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Codes that people type before a sign-in: they mistype them, and nobody guesses them.
struct CodeLimitTests: PoolAccountTesting {
  private static let wrong = FakePool.refusal("CodeMismatchException", "Invalid code")

  private func fixtureThatSays(
    _ answers: [String: [FakeHTTP.Answer]]
  ) throws -> (ServiceFixture, FakePool) {
    let (fixture, pool) = try fixture()
    pool.faults = answers
    return (fixture, pool)
  }

  private func confirm(_ code: String = "1", _ user: String = "bob") -> String {
    line(#""confirm","username":"\#(user)","code":"\#(code)""#)
  }

  private func asking(_ action: String) -> String { line(#""\#(action)","username":"bob""#) }

  private static let signedUp = FakeHTTP.Answer.reply(200, #"{"UserConfirmed":false}"#)

  private var signUp: String {
    line(#""sign-up","username":"bob","password":"Password-1""#)
  }

  private var reset: String {
    line(#""reset-password","username":"bob","code":"3","password":"Password-2""#)
  }

  /// The order of the seeds: one account, three messages, and a typing error.
  @Test func anAccountIsMadeAndItsPasswordForgottenWithinAnHour() throws {
    let (fixture, _) = try fixtureThatSays([
      "SignUp": [Self.signedUp], "ResendConfirmationCode": [Self.ok],
      "ConfirmSignUp": [Self.wrong, Self.ok], "ForgotPassword": [Self.ok],
      "ConfirmForgotPassword": [Self.ok],
    ])
    expect(try fixture.ask(signUp).errorCode == nil)
    expect(try fixture.ask(asking("resend")).errorCode == nil)
    expect(try fixture.ask(confirm()).errorCode, equals: "AccountRefused")
    expect(try fixture.ask(confirm("2")).errorCode == nil)
    expect(try fixture.ask(asking("forgot-password")).errorCode == nil)
    expect(try fixture.ask(reset).errorCode == nil)
    // What sends a message stays limited.
    expect(try fixture.ask(asking("forgot-password")).errorCode, equals: "TooManyRequests")
  }

  @Test func aCodeHasFiveTriesAndTheNextOneAsManyAgain() throws {
    let (fixture, pool) = try fixtureThatSays([
      "ConfirmSignUp": Array(repeating: Self.wrong, count: 20), "ResendConfirmationCode": [Self.ok],
    ])
    for _ in 0..<5 { expect(try fixture.ask(confirm()).errorCode, equals: "AccountRefused") }
    let refused = try fixture.ask(confirm())
    expect(refused.errorCode, equals: "TooManyRequests")
    expect(refused.errorMessage?.contains("have another one sent") == true)
    expect(pool.operations.count, equals: 5)
    expect(try fixture.ask(asking("resend")).errorCode == nil)
    expect(try fixture.ask(confirm()).errorCode, equals: "AccountRefused")
  }

  @Test func manyNamesHaveNoMoreTries() throws {
    let (fixture, pool) = try fixtureThatSays([
      "ConfirmSignUp": Array(repeating: Self.wrong, count: 40)
    ])
    for user in 0..<10 {
      expect(try fixture.ask(confirm("1", "u\(user)")).errorCode, equals: "AccountRefused")
    }
    expect(try fixture.ask(confirm("1", "v")).errorCode, equals: "TooManyRequests")
    expect(pool.operations.count, equals: 10)
    fixture.advance(by: .seconds(601))
    expect(try fixture.ask(confirm("1", "v")).errorCode, equals: "AccountRefused")
  }

  @Test(arguments: ["InvalidPasswordException", "PasswordHistoryPolicyViolationException"])
  func aPasswordThatThePolicyRefusesCountsAsNothing(_ name: String) throws {
    let refusal = FakePool.refusal(name, "too short")
    let (fixture, _) = try fixtureThatSays([
      "SignUp": Array(repeating: refusal, count: 8) + [Self.signedUp],
      "ConfirmForgotPassword": Array(repeating: refusal, count: 12) + [Self.ok],
    ])
    // A person takes a moment to think of another one.
    func refused(_ line: String) throws {
      expect(try fixture.ask(line).errorCode, equals: "AccountRefused")
      fixture.advance(by: .seconds(121))
    }
    for _ in 0..<8 { try refused(signUp) }
    expect(try fixture.ask(signUp).errorCode == nil)
    for _ in 0..<12 { try refused(reset) }
    expect(try fixture.ask(reset).errorCode == nil)
  }

  /// Each was a call, and a program can bring them without end.
  @Test func passwordsThatThePolicyRefusesStayCountedForTheUser() throws {
    let refusal = FakePool.refusal("InvalidPasswordException", "too short")
    let (fixture, pool) = try fixtureThatSays([
      "SignUp": Array(repeating: refusal, count: 9),
      "ConfirmForgotPassword": Array(repeating: refusal, count: 19),
    ])
    for line in [signUp, reset] {
      var calls = 0
      while calls < 19, try fixture.ask(line).errorCode == "AccountRefused" { calls += 1 }
      expect(calls, equals: line == reset ? 10 : 5)
    }
    expect(pool.operations.count, equals: 15)
  }

  /// A new code of one kind is none of the other.
  @Test(arguments: [("resend", "reset"), ("forgot-password", "confirm")])
  func anotherKindOfCodeGivesNoTries(_ sent: String, _ tried: String) throws {
    let (fixture, _) = try fixtureThatSays([
      "ConfirmSignUp": Array(repeating: Self.wrong, count: 9), "ResendConfirmationCode": [Self.ok],
      "ConfirmForgotPassword": Array(repeating: Self.wrong, count: 9), "ForgotPassword": [Self.ok],
    ])
    let line = tried == "reset" ? reset : confirm()
    for _ in 0..<5 { expect(try fixture.ask(line).errorCode, equals: "AccountRefused") }
    expect(try fixture.ask(asking(sent)).errorCode == nil)
    expect(try fixture.ask(line).errorCode, equals: "TooManyRequests")
    // The other kind has tries of its own.
    expect(
      try fixture.ask(tried == "reset" ? confirm() : reset).errorCode, equals: "AccountRefused")
  }

  /// No code was sent, so the tries are still about the former one.
  @Test func aRequestThatFailsGivesNoTries() throws {
    let (fixture, _) = try fixtureThatSays([
      "ConfirmSignUp": Array(repeating: Self.wrong, count: 9),
      "SignUp": [FakePool.refusal("UsernameExistsException", "taken")],
    ])
    for _ in 0..<5 { _ = try fixture.ask(confirm()) }
    expect(try fixture.ask(signUp).errorCode, equals: "AccountRefused")
    expect(try fixture.ask(confirm()).errorCode, equals: "TooManyRequests")
  }

  /// The tries that are left would say who has an account.
  @Test(arguments: [nil, "UserNotFoundException", "InvalidParameterException"])
  func aRequestCountsAlikeWhetherOrNotACodeWasSent(_ refusal: String?) throws {
    let (fixture, _) = try fixtureThatSays([
      "ConfirmSignUp": Array(repeating: Self.wrong, count: 9),
      "ResendConfirmationCode": [refusal.map { FakePool.refusal($0, "no") } ?? Self.ok],
    ])
    for _ in 0..<5 { _ = try fixture.ask(confirm()) }
    expect(try fixture.ask(confirm()).errorCode, equals: "TooManyRequests")
    expect(try fixture.ask(asking("resend")).errorCode == nil)
    for _ in 0..<5 { expect(try fixture.ask(confirm()).errorCode, equals: "AccountRefused") }
  }

  /// A pool takes `BOB` for `bob`, so that spelling has no tries and no messages of its own.
  @Test func anotherSpellingHasNoTriesOfItsOwn() throws {
    let (fixture, _) = try fixtureThatSays([
      "ConfirmSignUp": Array(repeating: Self.wrong, count: 9),
      "ResendConfirmationCode": Array(repeating: Self.ok, count: 9),
    ])
    for user in ["bob", "BOB", "Bob", "boB", "bOb"] {
      expect(try fixture.ask(confirm("1", user)).errorCode, equals: "AccountRefused")
    }
    expect(try fixture.ask(confirm("1", "BOb")).errorCode, equals: "TooManyRequests")
    for user in ["bob", "BOB", "Bob"] {
      expect(try fixture.ask(line(#""resend","username":"\#(user)""#)).errorCode == nil)
    }
    expect(
      try fixture.ask(line(#""resend","username":"boB""#)).errorCode, equals: "TooManyRequests")
  }

  /// The first five, and five for each of the three messages of an hour.
  @Test func anHourHasTwentyTries() throws {
    let (fixture, pool) = try fixtureThatSays([
      "ConfirmSignUp": Array(repeating: Self.wrong, count: 99),
      "ResendConfirmationCode": Array(repeating: Self.ok, count: 9),
    ])
    for _ in 0..<6 {
      for _ in 0..<9 { _ = try fixture.ask(confirm()) }
      _ = try fixture.ask(asking("resend"))
      fixture.advance(by: .seconds(599))
    }
    expect(pool.operations.count { $0 == "ConfirmSignUp" }, equals: 20)
  }
}
