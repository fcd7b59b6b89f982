import TestSupport
import Testing

@testable import CredCore

/// WEB_AUTHN, which only a browser can answer, beside other ways and by itself.
struct PasskeyTests {
  private typealias Talk = PoolTalk

  private static func choices(_ names: String) -> String {
    PoolSamples.challenge("SELECT_CHALLENGE", more: #","AvailableChallenges":[\#(names)]"#)
  }

  private static func factors(_ names: String) -> String {
    PoolSamples.challenge("SELECT_MFA_TYPE", #"{"MFAS_CAN_CHOOSE":"[\#(names)]"}"#)
  }

  @Test func aPasskeyIsNotOfferedAsSecondFactor() throws {
    let select = Self.factors(#"\"WEB_AUTHN\",\"SMS_MFA\",\"NEW_FACTOR\""#)
    let talk = try Talk(
      .srp, [.ok(Talk.verifier), .ok(select), .ok(Talk.smsCode), .ok(Talk.tokens)])
    expect(try talk.start().challenge?.step, equals: .select(["SMS_MFA", "NEW_FACTOR"]))
    expect(try talk.answer(("choice", "WEB_AUTHN")).refusal != nil)
    expect(try talk.answer(("choice", "SMS_MFA")).challenge?.name, equals: "SMS_MFA")
  }

  @Test(arguments: [
    PoolSamples.challenge("WEB_AUTHN"), Self.choices(#""WEB_AUTHN""#),
    Self.factors(#"\"WEB_AUTHN\""#),
    PoolSamples.challenge("MFA_SETUP", #"{"MFAS_CAN_SETUP":"[\"WEB_AUTHN\"]"}"#),
  ])
  func whereNothingElseIsLeftTheErrorSaysSo(challenge: String) throws {
    let talk = try Talk(.srp, [.ok(Talk.verifier), .ok(challenge)])
    let failure = try #require(try talk.start().failure)
    expect(failure.code, equals: .signInFailed)
    expect(
      failure.message.contains("needs a passkey (WEB_AUTHN), which only a browser can do"),
      "\(failure.message)")
  }

  /// The configuration leaves the password out: that is not the passkey's doing.
  @Test func whatTheConfigurationLeavesOutIsTheOperatorsBusiness() throws {
    let talk = try Talk(.srp, [.ok(Talk.verifier), .ok(Self.choices(#""WEB_AUTHN","PASSWORD""#))])
    expect(try talk.start().failure?.code, equals: .poolMisconfigured)
  }

  /// AvailableChallenges of RespondToAuthChallenge: a choice that comes after the first answer.
  @Test func aChoiceMayComeAfterTheFirstAnswer() throws {
    let talk = try Talk(
      .srp,
      [
        .ok(Talk.verifier), .ok(Self.choices(#""WEB_AUTHN","EMAIL_OTP","SMS_OTP""#)),
        .ok(PoolSamples.challenge("EMAIL_OTP")), .ok(Talk.tokens),
      ])
    expect(try talk.start().challenge?.step, equals: .select(["EMAIL_OTP", "SMS_OTP"]))
    _ = try talk.answer(("choice", "EMAIL_OTP"))
    expect(talk.sent.last?["ANSWER"], equals: "EMAIL_OTP")
    expect(try talk.answer(("code", "123456")).signIn != nil)
  }

  /// The model's longest.
  @Test func aLongSessionGoesBackAsItCame() throws {
    let session = String(repeating: "S", count: 4096)
    let talk = try Talk(
      .srp,
      [
        .ok(Talk.verifier), .ok(PoolSamples.challenge("SMS_MFA", session: session)),
        .ok(Talk.tokens),
      ]
    )
    _ = try talk.start()
    expect(try talk.answer(("code", "123456")).signIn != nil)
    expect(talk.sent.last?["Session"], equals: session)
  }
}
