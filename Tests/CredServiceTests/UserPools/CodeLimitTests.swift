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
    let reset = line(#""reset-password","username":"bob","code":"3","password":"Password-2""#)
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
    for _ in 0..<8 { expect(try fixture.ask(signUp).errorCode, equals: "AccountRefused") }
    expect(try fixture.ask(signUp).errorCode == nil)
    let reset = line(#""reset-password","username":"bob","code":"3","password":"Password-2""#)
    for _ in 0..<12 { expect(try fixture.ask(reset).errorCode, equals: "AccountRefused") }
    expect(try fixture.ask(reset).errorCode == nil)
  }
}
