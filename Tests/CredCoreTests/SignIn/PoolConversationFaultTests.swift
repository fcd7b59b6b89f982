import SeededRandom
import TestSupport
import Testing

@testable import CredCore

/// Devices, failures, and pools that answer anything.
struct PoolConversationFaultTests {
  private typealias Talk = PoolTalk

  // MARK: Devices

  @Test func aNewDeviceIsConfirmedAtOnce() throws {
    let confirmed = #"{"UserConfirmationNecessary":true}"#
    for (policy, isKept, calls) in [
      (UserPoolSettings.DeviceMemory.no, false, 3), (.yes, true, 4),
    ] {
      let talk = try Talk(
        remember: policy,
        [
          .ok(Talk.verifier), .ok(PoolSamples.tokens(more: Talk.newDevice)), .ok(confirmed),
          .ok("{}"),
        ])
      let result = try #require(try talk.start().result)
      expect(result.signIn.deviceKey, equals: PoolSamples.deviceKey)
      expect((result.newDevice?.key == PoolSamples.deviceKey), equals: isKept)
      expect(talk.sent.count, equals: calls)
      expect(talk.sent[2].operation, equals: "ConfirmDevice")
      expect(talk.sent[2]["DeviceName"], equals: "host.example")
      if calls == 4 { expect(talk.sent[3]["DeviceRememberedStatus"], equals: "remembered") }
      // The device's own secret stays here.
      let secret = result.newDevice?.password.exposedText() ?? "no device is kept"
      expect(talk.sent.allSatisfy { !$0.text.contains(secret) })
    }
  }

  @Test func theUserIsAskedWhetherTheDeviceIsRemembered() throws {
    // A pool that remembers by itself is told of a no.
    for (answer, needsConsent, calls) in [
      ("yes", true, 4), ("yes", false, 3), ("no", true, 3), ("no", false, 4),
    ] {
      let talk = try Talk(
        remember: .ask,
        [
          .ok(Talk.verifier), .ok(PoolSamples.tokens(more: Talk.newDevice)),
          .ok(#"{"UserConfirmationNecessary":\#(needsConsent)}"#), .ok("{}"),
        ])
      expect(
        try talk.start().challenge, equals: SignInChallenge(.select(["yes", "no"]), name: "DEVICE"))
      // Whoever goes away here leaves no device at the pool.
      expect(talk.sent.count, equals: 2)
      let result = try #require(try talk.answer(("choice", answer)).result)
      expect((result.newDevice != nil), equals: (answer == "yes"))
      expect((result.unusedDevice != nil), equals: (answer == "no"))
      if calls == 4 {
        expect(
          talk.sent[3]["DeviceRememberedStatus"],
          equals: answer == "yes" ? "remembered" : "not_remembered")
      }
      expect(result.signIn.deviceKey == PoolSamples.deviceKey && talk.sent.count == calls)
    }
  }

  @Test func aDeviceThatCannotBeConfirmedDoesNotEndTheSignIn() throws {
    let talk = try Talk(
      remember: .yes,
      [
        .ok(Talk.verifier), .ok(PoolSamples.tokens(more: Talk.newDevice)),
        .error("InternalErrorException", status: 500), .error("NotAuthorizedException", "no"),
      ])
    let result = try #require(try talk.start().result)
    expect(result.signIn.deviceKey == nil && result.newDevice == nil)
    // A fault is worth one more request.
    expect(talk.sent.count, equals: 4)
  }

  /// It may have been confirmed: without its key no renewal would succeed.
  @Test func aDeviceOfWhichThePoolSaysNothingIsNamedInRenewals() throws {
    let talk = try Talk(
      remember: .yes,
      [.ok(Talk.verifier), .ok(PoolSamples.tokens(more: Talk.newDevice))]
        + Array(repeating: .lost(.timeout), count: 9))
    var action = try talk.start()
    var pauses: [Duration] = []
    while case .sendLater(let request, let pause) = action {
      pauses.append(pause)
      action = try talk.send(request)
    }
    let result = try #require(action.result)
    expect(result.signIn.deviceKey == PoolSamples.deviceKey && result.newDevice == nil)
    expect(talk.sent.count == 6 && pauses.count == 2)
    expect(pauses.allSatisfy { $0 > .zero && $0 <= .seconds(5) })
  }

  @Test func aRememberedDeviceProvesItself() throws {
    let talk = try Talk(
      device: Talk.device,
      [
        .ok(Talk.verifier), .ok(PoolSamples.challenge("DEVICE_SRP_AUTH")),
        .ok(Talk.deviceVerifier), .ok(Talk.tokens),
      ])
    let result = try #require(try talk.start().result)
    expect(result.signIn.deviceKey == Talk.device.key && result.newDevice == nil)
    // It is found once the pool has said who the user is: `alice` is an alias.
    expect(
      talk.sent.map { $0["DEVICE_KEY"] },
      equals: [nil] + Array(repeating: Talk.device.key, count: 3))
    expect(talk.sent[1]["SRP_A"] == nil && talk.sent[2]["SRP_A"] != talk.sent[0]["SRP_A"])
    expect(talk.sent.allSatisfy { !$0.text.contains("device-password") })
  }

  @Test func aDeviceThatThePoolHasForgottenIsDroppedOnce() throws {
    let gone = PoolTalk.Answer.error("ResourceNotFoundException", "Device does not exist.")
    for answers: [PoolTalk.Answer] in [
      [gone], [.ok(Talk.verifier), gone],
      [.ok(Talk.verifier), .ok(PoolSamples.challenge("DEVICE_SRP_AUTH")), gone],
      [
        .ok(Talk.verifier), .ok(PoolSamples.challenge("DEVICE_SRP_AUTH")),
        .ok(Talk.deviceVerifier),
        .error("NotAuthorizedException", "Incorrect username or password."),
      ],
    ] {
      let talk = try Talk(
        username: "u-1", device: Talk.device,
        answers + [.ok(Talk.verifier), .ok(Talk.tokens)])
      let result = try #require(try talk.start().result)
      expect(result.droppedDevice == Talk.device.key && result.signIn.deviceKey == nil)
      expect(talk.sent.suffix(2).allSatisfy { $0["DEVICE_KEY"] == nil })
      expect(talk.sent.suffix(2).first?.operation, equals: "InitiateAuth")
    }
    let twice = try Talk(username: "u-1", device: Talk.device, [gone, gone])
    let failure = try #require(try twice.start().failure)
    expect(failure.remedy == .withoutDevice && failure.reason == "ResourceNotFoundException")
    expect(twice.sent.count, equals: 2)
  }

  @Test func aChallengeOfADeviceThatNobodyNamedIsNoProof() throws {
    for body in [PoolSamples.challenge("DEVICE_SRP_AUTH"), Talk.deviceVerifier] {
      let talk = try Talk(.srp, [.ok(body)])
      expect(try talk.start().failure?.code, equals: .backendUnavailable)
      expect(talk.sent.count, equals: 1)
    }
  }

  // MARK: Failures

  @Test func aWrongPasswordIsARefusalAndAnUnconfirmedUserIsNone() throws {
    let rows: [(String, ProtocolErrorCode, Bool)] = [
      ("NotAuthorizedException", .signInFailed, true),
      ("UserNotFoundException", .signInFailed, true),
      ("UserNotConfirmedException", .confirmationRequired, false),
      ("PasswordResetRequiredException", .passwordResetRequired, false),
      ("TooManyRequestsException", .throttled, false),
      ("InternalErrorException", .backendUnavailable, false),
    ]
    for (name, code, isRefusal) in rows {
      let talk = try Talk(.srp, [.ok(Talk.verifier), .error(name)])
      let action = try talk.start()
      expect(action.failure?.code == code && action.isRefusal == isRefusal, "\(name)")
    }
  }

  @Test func aLostReplyToAnAnswerEndsItWithoutAnotherRequest() throws {
    for answer: PoolTalk.Answer in [
      .lost(.timeout), .lost(.reset), .error("InternalErrorException", status: 500),
      .ok("{}"), .ok("<html>"),
    ] {
      let talk = try Talk(.srp, [.ok(Talk.verifier), .ok(Talk.smsCode), answer])
      _ = try talk.start()
      let action = try talk.answer(("code", "123456"))
      expect(action.failure?.reason == "OutcomeUnknown" && action.isRefusal == false)
      expect(action.failure?.protocolError.kind, equals: .signIn)
      expect(talk.sent.count, equals: 3)
    }
  }

  @Test func anAnswerThatDidNotReachThePoolMayBeSentAgain() throws {
    for answer: PoolTalk.Answer in [
      .lost(.connect), .lost(.nameResolution), .error("TooManyRequestsException"),
      .reply(Samples.reply(429, "")),
    ] {
      let talk = try Talk(.srp, [.ok(Talk.verifier), .ok(Talk.smsCode), answer, .ok(Talk.tokens)])
      _ = try talk.start()
      let action = try talk.answer(("code", "123456"))
      expect(action.again?.failureClass.isTransient == true && action.isRefusal == false)
      expect(try talk.answer(("code", "123456")).signIn != nil)
    }
  }

  @Test func aSessionThatHasEndedEndsTheSignIn() throws {
    let talk = try Talk(
      .srp,
      [
        .ok(Talk.verifier), .ok(Talk.smsCode),
        .error("NotAuthorizedException", "Invalid session for the user, session is expired."),
      ])
    _ = try talk.start()
    let failure = try #require(try talk.answer(("code", "123456")).failure)
    expect(failure.code == .signInFailed && failure.message.contains("begin it again"))
  }

  @Test func tokensOfTwoUsersAreRefused() throws {
    let body = PoolSamples.tokens(
      id: PoolSamples.jwt(.id, #","cognito:username":"u-1""#),
      access: PoolSamples.jwt(.access, #","username":"u-2""#))
    let talk = try Talk(.srp, [.ok(Talk.verifier), .ok(body)])
    expect(try talk.start().failure?.code, equals: .backendUnavailable)
  }

  @Test func aProofThatNobodyBeganIsNotMade() throws {
    let talk = try Talk(.password, [.ok(Talk.verifier)])
    let twice = try Talk(.srp, [.ok(Talk.verifier), .ok(Talk.verifier)])
    for talk in [talk, twice] {
      let failure = try #require(try talk.start().failure)
      expect(failure.code, equals: .backendUnavailable)
      expect(failure.message.contains("PASSWORD_VERIFIER comes without a proof that was begun"))
    }
    expect(talk.sent.count == 1 && twice.sent.count == 2)
  }

  // MARK: Any pool

  /// A pool that answers anything to a user who answers anything: it ends, nothing traps, and the
  /// password is sent in no form that a proof was to replace.
  @Test func anyPoolIsTalkedToWithoutHarm() throws {
    for seed in 0..<UInt64(TestRounds.of(400)) {
      var random = SeededGenerator(seed: seed)
      let flow = try #require(UserPoolSettings.AuthFlow.allCases.randomElement(using: &random))
      let policy = try #require(
        UserPoolSettings.DeviceMemory.allCases.randomElement(using: &random))
      let talk = try Talk(
        flow, password: Bool.random(using: &random) ? "pass-word" : nil, remember: policy,
        device: Bool.random(using: &random) ? Talk.device : nil, seed: seed)
      talk.answers = (0..<400).compactMap { _ in Self.anything.randomElement(using: &random) }
      var action = try sent(talk.start(), talk)
      var steps = 0
      while talk.conversation.challenge != nil, steps < 200 {
        steps += 1
        action = try sent(answer(talk, &random), talk)
      }
      let hasEnded = action.signIn != nil || action.failure != nil
      expect(
        hasEnded != (talk.conversation.challenge != nil),
        "seed \(seed), \(steps) steps, \(talk.answers.count) answers left")
      expect(
        talk.sent.count <= Limits.Challenge.requestsPerAnswer * (steps + 1) + 4, "seed \(seed)")
      if [.srp, .customSRP, .custom].contains(flow) {
        expect(talk.sent.allSatisfy { !$0.text.contains("pass-word") }, "seed \(seed)")
      }
    }
  }

  /// A new device is confirmed once more after a pause.
  private func sent(
    _ action: PoolConversation.Action, _ talk: PoolTalk
  ) throws -> PoolConversation.Action {
    var action = action
    while case .sendLater(let request, _) = action { action = try talk.send(request) }
    return action
  }

  private func answer(
    _ talk: PoolTalk, _ random: inout SeededGenerator
  ) throws -> PoolConversation.Action {
    guard let step = talk.conversation.challenge?.step, Int.random(in: 0..<8, using: &random) > 0
    else { return try talk.answer(("nothing", "x")) }
    switch step {
    case .select(let choices):
      return try talk.answer(("choice", choices.randomElement(using: &random) ?? ""))
    case .newPassword(let required, _):
      let values = Dictionary(required.map { ($0, "v") }) { one, _ in one }
      return try talk.answer(("password", "new-one"), attributes: values)
    case .password: return try talk.answer(("password", "pass-word"))
    case .code, .totpSetup: return try talk.answer(("code", "123456"))
    case .custom, .browser, .device, .confirm: return try talk.answer(("answer", "5"))
    }
  }

  private static let anything: [PoolTalk.Answer] =
    [
      Talk.verifier, Talk.deviceVerifier, Talk.smsCode, Talk.tokens,
      PoolSamples.tokens(more: Talk.newDevice), PoolSamples.challenge("DEVICE_SRP_AUTH"),
      PoolSamples.challenge("EMAIL_OTP"), PoolSamples.challenge("PASSWORD"),
      PoolSamples.challenge("PASSWORD_SRP"), PoolSamples.challenge("MFA_SETUP"),
      PoolSamples.challenge(
        "MFA_SETUP", #"{"MFAS_CAN_SETUP":"[\"EMAIL_OTP\",\"SOFTWARE_TOKEN_MFA\"]"}"#),
      PoolSamples.challenge("SELECT_MFA_TYPE", #"{"MFAS_CAN_CHOOSE":"[\"SMS_MFA\"]"}"#),
      PoolSamples.challenge(
        "SELECT_CHALLENGE", more: #","AvailableChallenges":["PASSWORD_SRP","EMAIL_OTP","PASSWORD"]"#
      ),
      PoolSamples.challenge(
        "NEW_PASSWORD_REQUIRED", #"{"requiredAttributes":"[\"userAttributes.a\"]"}"#),
      PoolSamples.challenge("CUSTOM_CHALLENGE", #"{"q":"1"}"#), PoolSamples.challenge("NEW_NAME"),
      PoolSamples.challenge("WEB_AUTHN"),
      #"{"SecretCode":"JBSWY3DPEHPK3PXP","Session":"two-session-of-twenty"}"#,
      #"{"Status":"SUCCESS","Session":"three-session-of-twenty"}"#, #"{"Status":"ERROR"}"#,
      #"{"UserConfirmationNecessary":true}"#, "{}", "", "<html>", #"{"ChallengeName":7}"#,
    ].map { .ok($0) }
    + FailureTable.userPool(.signIn).map { .error($0.name, $0.saying) }
    + TransportFailure.allCases.map { .lost($0) }
}
