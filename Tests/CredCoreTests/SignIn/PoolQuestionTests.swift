import TestSupport
import Testing

@testable import CredCore

/// The questions that a pool leaves to its user, and what is made of the answers.
struct PoolQuestionTests {
  private typealias Talk = PoolTalk

  // MARK: New password

  private static let newPassword = PoolSamples.challenge(
    "NEW_PASSWORD_REQUIRED",
    #"{"requiredAttributes":"[\"userAttributes.given_name\",\"userAttributes.email\"]","#
      + #""userAttributes":"{\"email\":\"a@b.c\"}"}"#)

  @Test func aNewPasswordTakesTheAttributesThatAreMissing() throws {
    let talk = try Talk(.srp, [.ok(Talk.verifier), .ok(Self.newPassword), .ok(Talk.tokens)])
    guard case .newPassword(["given_name"], let known)? = try talk.start().challenge?.step else {
      Issue.record("another step")
      return
    }
    expect(known, equals: [.init(name: "email", value: Secret("a@b.c"))])
    expect(try talk.answer(("password", "new")).refusal?.message.contains("given_name") == true)
    let both = ["given_name": "A", "email": "x@y.z"]
    expect(
      try talk.answer(("password", "new"), attributes: both).refusal?.message.contains("email")
        == true)
    expect(talk.sent.count, equals: 2)
    expect(
      try talk.answer(("password", "new"), attributes: ["given_name": "A"]).signIn != nil)
    expect(talk.sent[2]["NEW_PASSWORD"], equals: "new")
    expect(talk.sent[2]["userAttributes.given_name"], equals: "A")
    expect(talk.sent[2]["userAttributes.email"] == nil)
  }

  @Test func aPasswordThatThePoolDoesNotTakeMayBeAnother() throws {
    let talk = try Talk(
      .srp,
      [
        .ok(Talk.verifier), .ok(Self.newPassword),
        .error("InvalidPasswordException", "Password not long enough"), .ok(Talk.tokens),
      ])
    _ = try talk.start()
    let refused = try talk.answer(("password", "new"), attributes: ["given_name": "A"])
    expect(refused.again?.message.contains("not long enough") == true)
    expect(
      try talk.answer(("password", "newer"), attributes: ["given_name": "A"]).signIn != nil)
  }

  // MARK: Second factors

  @Test func aSecondFactorIsChosen() throws {
    let select = PoolSamples.challenge(
      "SELECT_MFA_TYPE", #"{"MFAS_CAN_CHOOSE":"[\"SMS_MFA\",\"SOFTWARE_TOKEN_MFA\"]"}"#)
    let talk = try Talk(
      .srp, [.ok(Talk.verifier), .ok(select), .ok(Talk.smsCode), .ok(Talk.tokens)])
    expect(try talk.start().challenge?.step, equals: .select(["SMS_MFA", "SOFTWARE_TOKEN_MFA"]))
    expect(try talk.answer(("choice", "EMAIL_OTP")).refusal != nil)
    expect(try talk.answer(("choice", "SMS_MFA")).challenge?.name, equals: "SMS_MFA")
    expect(talk.sent[2]["ANSWER"], equals: "SMS_MFA")
  }

  private static func setup(_ factors: String) -> String {
    PoolSamples.challenge(
      "MFA_SETUP", #"{"MFAS_CAN_SETUP":"[\#(factors)]"}"#, session: "one-session-of-twenty")
  }

  private static let secret =
    #"{"SecretCode":"JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP","Session":"two-session-of-twenty"}"#

  @Test func anAuthenticatorAppIsSetUpWithEachNewSession() throws {
    let talk = try Talk(
      .srp,
      [
        .ok(Talk.verifier), .ok(Self.setup(#"\"SOFTWARE_TOKEN_MFA\",\"SMS_MFA\""#)),
        .ok(Self.secret), .error("EnableSoftwareTokenMFAException"),
        .ok(#"{"Status":"SUCCESS","Session":"three-session-of-twenty"}"#), .ok(Talk.tokens),
      ])
    guard case .totpSetup(let secret, let uri)? = try talk.start().challenge?.step else {
      Issue.record("another step")
      return
    }
    expect(secret, equals: Secret("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"))
    expect(uri.exposedText()?.hasPrefix("otpauth://totp/staff:u-1?secret=JBSWY") == true)
    expect(try talk.answer(("code", "1")).isRefusal == true)
    expect(try talk.answer(("code", "123456"), ("name", "my phone")).signIn != nil)
    expect(
      talk.sent.map { $0["Session"] },
      equals: [
        nil, "a-session-of-twenty-bytes", "one-session-of-twenty", "two-session-of-twenty",
        "two-session-of-twenty", "three-session-of-twenty",
      ])
    expect(talk.sent[4]["FriendlyDeviceName"], equals: "my phone")
    expect(talk.sent[5]["ChallengeName"], equals: "MFA_SETUP")
  }

  /// The pool has taken the code, and could not be asked to go on.
  @Test func aCodeThatThePoolHasTakenIsNotSentAgain() throws {
    let talk = try Talk(
      .srp,
      [
        .ok(Talk.verifier), .ok(Self.setup(#"\"SOFTWARE_TOKEN_MFA\""#)), .ok(Self.secret),
        .ok(#"{"Status":"SUCCESS","Session":"three-session-of-twenty"}"#),
        .reply(Samples.reply(429, "")), .ok(Talk.tokens),
      ])
    expect(try talk.start().challenge?.step.name, equals: "totpSetup")
    expect(try talk.answer(("code", "123456")).isRefusal == false)
    expect(try talk.answer(("code", "654321")).signIn != nil)
    expect(talk.sent.suffix(2).map { $0["ChallengeName"] }, equals: ["MFA_SETUP", "MFA_SETUP"])
    expect(talk.sent.suffix(2).allSatisfy { $0["Session"] == "three-session-of-twenty" })
  }

  @Test func anAddressForCodesIsSetUpToo() throws {
    let talk = try Talk(
      .srp,
      [
        .ok(Talk.verifier), .ok(Self.setup(#"\"SOFTWARE_TOKEN_MFA\",\"EMAIL_OTP\""#)),
        .ok(PoolSamples.challenge("EMAIL_OTP")), .ok(Talk.tokens),
      ])
    expect(try talk.start().challenge?.step, equals: .select(["SOFTWARE_TOKEN_MFA", "EMAIL_OTP"]))
    expect(try talk.answer(("choice", "EMAIL_OTP")).challenge?.step.name, equals: "custom")
    expect(try talk.answer(("answer", "a@b.c")).challenge?.name, equals: "EMAIL_OTP")
    expect(talk.sent[2]["EMAIL"], equals: "a@b.c")
    expect(try talk.answer(("code", "12345678")).signIn != nil)
  }

  @Test func aFactorThatNeedsATelephoneFirstIsNamed() throws {
    let talk = try Talk(.srp, [.ok(Talk.verifier), .ok(Self.setup(#"\"SMS_MFA\""#))])
    let failure = try #require(try talk.start().failure)
    expect(failure.code == .poolMisconfigured && failure.message.contains("SMS_MFA"))
  }

  // MARK: Choice

  private static func choices(_ names: String) -> String {
    PoolSamples.challenge("SELECT_CHALLENGE", more: #","AvailableChallenges":[\#(names)]"#)
  }

  @Test func withoutAPasswordTheUserChooses() throws {
    let talk = try Talk(
      .choice, password: nil,
      [
        .ok(Self.choices(#""WEB_AUTHN","EMAIL_OTP","PASSWORD_SRP""#)), .ok(Talk.verifier),
        .ok(Talk.tokens),
      ])
    expect(try talk.start().challenge?.step, equals: .select(["EMAIL_OTP", "PASSWORD_SRP"]))
    expect(try talk.answer(("choice", "PASSWORD_SRP")).challenge?.step, equals: .password)
    expect(talk.sent.count, equals: 1)
    expect(try talk.answer(("password", "pass-word")).signIn != nil)
    expect(talk.sent[1]["ANSWER"] == "PASSWORD_SRP" && talk.sent[1]["SRP_A"] != nil)
    expect(talk.sent.allSatisfy { !$0.text.contains("pass-word") })
  }

  @Test func aChosenCodeIsAsked() throws {
    let talk = try Talk(
      .choice, password: nil,
      [
        .ok(Self.choices(#""EMAIL_OTP","PASSWORD""#)), .ok(PoolSamples.challenge("EMAIL_OTP")),
        .ok(Talk.tokens),
      ])
    _ = try talk.start()
    expect(try talk.answer(("choice", "EMAIL_OTP")).challenge?.step.name, equals: "code")
    expect(try talk.answer(("code", "12345678")).signIn != nil)
  }

  @Test func withAPasswordTheProofIsChosenByItself() throws {
    for (choices, answer) in [
      (#""PASSWORD","PASSWORD_SRP""#, "PASSWORD_SRP"), (#""EMAIL_OTP","PASSWORD""#, "PASSWORD"),
    ] {
      let talk = try Talk(
        .choice,
        [.ok(Self.choices(choices))]
          + (answer == "PASSWORD" ? [] : [.ok(Talk.verifier)]) + [.ok(Talk.tokens)])
      expect(try talk.start().signIn != nil)
      expect(talk.sent[1]["ANSWER"], equals: answer)
    }
  }

  @Test func aPoolMayAskForThePasswordByAChallengeOfItsOwn() throws {
    for name in ["PASSWORD", "PASSWORD_SRP"] {
      let rest = name == "PASSWORD" ? [] : [PoolTalk.Answer.ok(Talk.verifier)]
      let talk = try Talk(
        .choice, password: nil,
        [.ok(PoolSamples.challenge(name))] + rest + [.ok(Talk.tokens)])
      expect(try talk.start().challenge, equals: SignInChallenge(.password, name: name))
      expect(try talk.answer(("password", "pass-word")).signIn != nil)
      expect(talk.sent[1]["ChallengeName"], equals: name)
      expect((talk.sent[1]["PASSWORD"] != nil), equals: (name == "PASSWORD"))
    }
  }

  @Test func aPoolThatWantsThePasswordItselfDoesNotGetItWhereAProofIsConfigured() throws {
    for flow in [UserPoolSettings.AuthFlow.srp, .custom, .customSRP] {
      for body in [PoolSamples.challenge("PASSWORD"), Self.choices(#""PASSWORD""#)] {
        let talk = try Talk(flow, [.ok(body)])
        expect(try talk.start().failure?.code, equals: .poolMisconfigured, "\(flow)")
        expect(talk.sent.allSatisfy { !$0.text.contains("pass-word") })
      }
    }
  }

  // MARK: Custom and unknown

  @Test func aTriggersQuestionComesThroughWhole() throws {
    let long = String(repeating: "x", count: 64 << 10)
    let asked = PoolSamples.challenge(
      "CUSTOM_CHALLENGE", #"{"USERNAME":"u-1","question":"2+3?","image":"\#(long)"}"#)
    let talk = try Talk(.custom, password: nil, [.ok(asked), .ok(Talk.tokens)])
    expect(
      try talk.start().challenge,
      equals: SignInChallenge(
        .custom([
          .init(name: "question", value: Secret("2+3?")),
          .init(name: "image", value: Secret(long)),
        ]), name: "CUSTOM_CHALLENGE"))
    expect(try talk.answer(("answer", " 5 ")).signIn != nil)
    // Only codes lose their blanks.
    expect(talk.sent[1]["ANSWER"], equals: " 5 ")
  }

  @Test func anUnknownChallengeIsAskedByItsName() throws {
    let asked = PoolSamples.challenge("SOMETHING_NEW", #"{"hint":"blue"}"#)
    let talk = try Talk(.srp, [.ok(Talk.verifier), .ok(asked), .ok(Talk.tokens)])
    expect(
      try talk.start().challenge,
      equals: SignInChallenge(
        .custom([.init(name: "hint", value: Secret("blue"))]), name: "SOMETHING_NEW"))
    _ = try talk.answer(("answer", "sky"))
    expect(talk.sent[2]["ChallengeName"] == "SOMETHING_NEW" && talk.sent[2]["ANSWER"] == "sky")
  }

  @Test func aKeyThatOnlyABrowserHasIsRefusedByName() throws {
    let talk = try Talk(.srp, [.ok(PoolSamples.challenge("WEB_AUTHN"))])
    expect(try talk.start().failure?.message.contains("WEB_AUTHN") == true)
  }

  @Test func theSameQuestionOnceMoreIsAWrongAnswer() throws {
    let one = PoolSamples.challenge("CUSTOM_CHALLENGE", #"{"question":"1"}"#)
    let two = PoolSamples.challenge(
      "CUSTOM_CHALLENGE", #"{"question":"2"}"#, session: "new-session-of-twenty")
    let talk = try Talk(.custom, password: nil, [.ok(one), .ok(one), .ok(two)])
    _ = try talk.start()
    expect(try talk.answer(("answer", "?")).isRefusal == true)
    expect(try talk.answer(("answer", "1")).isRefusal == false)
    _ = try talk.answer(("answer", "2"))
    expect(talk.sent.last?["Session"], equals: "new-session-of-twenty")
  }

  /// Whatever is new in each.
  @Test func questionsThatFollowEachOtherForEverEnd() throws {
    let talk = try Talk(
      .custom, password: nil,
      (0..<30).map {
        .ok(PoolSamples.challenge("CUSTOM_CHALLENGE", #"{"question":"\#($0)"}"#))
      })
    _ = try talk.start()
    var refusals: [Bool?] = []
    var last: PoolConversation.Action?
    while last?.failure == nil, refusals.count < 30 {
      let action = try talk.answer(("answer", "?"))
      refusals.append(action.isRefusal)
      last = action
    }
    expect(refusals.count, equals: 12)
    expect(
      refusals.prefix(2) == [false, false] && refusals.dropFirst(2).allSatisfy { $0 == true })
    expect(talk.conversation.unjudgedAnswers, equals: 2)
  }

  @Test func aQuestionThatIsRepeatedForEverEnds() throws {
    let one = PoolTalk.Answer.ok(PoolSamples.challenge("CUSTOM_CHALLENGE", #"{"question":"1"}"#))
    let talk = try Talk(.custom, password: nil, [PoolTalk.Answer](repeating: one, count: 20))
    _ = try talk.start()
    for _ in 1..<10 { expect(try talk.answer(("answer", "?")).challenge != nil) }
    expect(try talk.answer(("answer", "?")).failure?.code, equals: .signInFailed)
  }
}
