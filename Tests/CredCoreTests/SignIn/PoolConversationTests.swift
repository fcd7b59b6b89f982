import TestSupport
import Testing

@testable import CredCore

/// Every flow and every challenge, at a pool that answers as written here.
struct PoolConversationTests {
  private typealias Talk = PoolTalk

  // MARK: Flows

  @Test func aPasswordIsProvedAndNeverSent() throws {
    let talk = try Talk(.srp, [.ok(Talk.verifier), .ok(Talk.tokens)])
    let signIn = try #require(try talk.start().signIn)
    expect(signIn.tokens.refresh, equals: Secret("refresh"))
    expect(signIn.username == "u-1" && signIn.deviceKey == nil)
    expect(talk.sent.map(\.operation), equals: ["InitiateAuth", "RespondToAuthChallenge"])
    expect(talk.sent[0]["USERNAME"], equals: "alice")
    expect(talk.sent[1]["USERNAME"], equals: "u-1")
    expect(talk.sent[1]["ChallengeName"], equals: "PASSWORD_VERIFIER")
    expect(talk.sent[1]["Session"], equals: "a-session-of-twenty-bytes")
    expect(talk.sent[1]["TIMESTAMP"]?.contains("UTC") == true)
    expect(talk.sent.allSatisfy { !$0.text.contains("pass-word") })
  }

  @Test func validationDataGoesWithTheFirstRequestAndMetadataWithAll() throws {
    let talk = try Talk(.srp, [.ok(Talk.verifier), .ok(Talk.tokens)])
    _ = try talk.start()
    expect(talk.sent.map { $0["tenant"] }, equals: ["t-1", "t-1"])
    expect(talk.sent.map { $0["check"] }, equals: ["c-1", nil])
  }

  @Test func everyFlowBeginsWithItsOwnRequest() throws {
    let rows: [(UserPoolSettings.AuthFlow, String?, String, [String])] = [
      (.srp, "p", "USER_SRP_AUTH", ["SRP_A"]), (.password, "p", "USER_PASSWORD_AUTH", ["PASSWORD"]),
      (.custom, nil, "CUSTOM_AUTH", []), (.custom, "p", "CUSTOM_AUTH", []),
      (.customSRP, "p", "CUSTOM_AUTH", ["SRP_A", "CHALLENGE_NAME"]),
      (.choice, nil, "USER_AUTH", []),
      (.choice, "p", "USER_AUTH", ["SRP_A", "PREFERRED_CHALLENGE"]),
    ]
    for (flow, password, name, keys) in rows {
      let talk = try Talk(flow, password: password, [.ok(Talk.tokens)])
      expect(try talk.start().signIn != nil, "\(flow)")
      expect(talk.sent[0]["AuthFlow"], equals: name)
      for key in ["SRP_A", "PASSWORD", "CHALLENGE_NAME", "PREFERRED_CHALLENGE"] {
        expect((talk.sent[0][key] != nil), equals: keys.contains(key), "\(flow) \(key)")
      }
    }
  }

  @Test func theTimestampIsTheServersTimeWhenTheProofBegins() throws {
    let talk = try Talk(
      .srp, [.ok(Talk.verifier, at: "Sun, 05 Nov 2023 00:30:09 GMT"), .ok(Talk.tokens)])
    _ = try talk.start()
    expect(talk.sent[1]["TIMESTAMP"], equals: "Sun Nov 5 00:30:09 UTC 2023")
  }

  @Test func withoutADateTheHostsTimeIsTaken() throws {
    let talk = try Talk(.srp, [.ok(Talk.verifier), .ok(Talk.tokens)])
    talk.proofTime = .seconds(2)
    _ = try talk.start()
    // The first proof takes two seconds before the request goes out.
    expect(talk.sent[1]["TIMESTAMP"], equals: "Fri Jan 2 03:04:07 UTC 2026")
  }

  @Test func everyRequestHasTheHashOfItsOwnName() throws {
    let talk = try Talk(.srp, secret: "9example87654321", [.ok(Talk.verifier), .ok(Talk.tokens)])
    _ = try talk.start()
    // The known answer of alice and this client, of user-pools.json.
    expect(talk.sent[0]["SECRET_HASH"], equals: "bFbBJ8E/2GdsuTNwSDHF6sZskNuxWe/Tc9RA/8U8j9k=")
    expect(talk.sent[1]["SECRET_HASH"] != nil)
    expect(talk.sent[1]["SECRET_HASH"] != talk.sent[0]["SECRET_HASH"])
  }

  // MARK: Codes

  @Test func everyCodeIsAskedWhereItWent() throws {
    let rows: [(String, PoolChallenge.Medium, String?)] = [
      ("SMS_MFA", .sms, "+***99"), ("SMS_OTP", .sms, "+***99"), ("EMAIL_OTP", .email, "+***99"),
      ("SOFTWARE_TOKEN_MFA", .app, nil),
    ]
    for (name, medium, destination) in rows {
      let asked = PoolSamples.challenge(name, #"{"CODE_DELIVERY_DESTINATION":"+***99"}"#)
      let talk = try Talk(.srp, [.ok(Talk.verifier), .ok(asked), .ok(Talk.tokens)])
      let challenge = try #require(try talk.start().challenge)
      expect(
        challenge, equals: SignInChallenge(.code(medium, destination: destination), name: name))
      expect(talk.conversation.deadline, equals: talk.now + .seconds(180))
      expect(try talk.answer(("code", " 123 456 ")).signIn != nil)
      // The name stays the one that the pool gave, though the challenge has none.
      expect(talk.sent[2]["USERNAME"], equals: "u-1")
      expect(talk.sent[2]["\(name)_CODE"], equals: "123456")
    }
  }

  @Test func aWrongCodeIsAskedAgainWithTheSameSession() throws {
    let talk = try Talk(
      .srp,
      [
        .ok(Talk.verifier), .ok(Talk.smsCode), .error("CodeMismatchException", "Invalid code"),
        .error("ExpiredCodeException"), .ok(Talk.tokens),
      ])
    _ = try talk.start()
    let first = try talk.answer(("code", "000000"))
    expect(first.again?.code == .signInFailed && first.isRefusal == true)
    expect(talk.conversation.challenge?.name, equals: "SMS_MFA")
    expect(try talk.answer(("code", "000001")).isRefusal == true)
    expect(try talk.answer(("code", "123456")).signIn != nil)
    expect(Set(talk.sent[2...].map { $0["Session"] }).count, equals: 1)
  }

  @Test func theTenthWrongAnswerEndsIt() throws {
    let wrong = [PoolTalk.Answer](repeating: .error("CodeMismatchException"), count: 20)
    let talk = try Talk(.srp, [.ok(Talk.verifier), .ok(Talk.smsCode)] + wrong)
    _ = try talk.start()
    for _ in 1..<10 { expect(try talk.answer(("code", "1")).again != nil) }
    let last = try talk.answer(("code", "1"))
    expect(last.failure?.code == .signInFailed && last.isRefusal == true)
    expect(talk.conversation.challenge == nil)
  }

  // MARK: Answers that do not fit

  @Test func anAnswerThatDoesNotFitIsNotSent() throws {
    let talk = try Talk(.srp, [.ok(Talk.verifier), .ok(Talk.smsCode)])
    _ = try talk.start()
    expect(try talk.answer(("answer", "1")).refusal?.message.contains("\"code\"") == true)
    expect(try talk.answer().refusal?.message.contains("\"code\"") == true)
    expect(try talk.answer(("code", "  ")).refusal?.code, equals: .invalidRequest)
    expect(try talk.answer(("code", "1"), ("name", "x")).refusal != nil)
    expect(try talk.answer(("code", "1"), attributes: [:]).refusal != nil)
    expect(talk.sent.count, equals: 2)
    expect(talk.conversation.challenge?.step.name, equals: "code")
  }

  @Test func aNameOrPasswordThatNoPoolTakesIsRefusedAtOnce() throws {
    #expect(throws: ProtocolError.self) { try Talk(username: String(repeating: "x", count: 129)) }
    #expect(throws: ProtocolError.self) { try Talk(username: "a\nb") }
    #expect(throws: ProtocolError.self) { try Talk(password: String(repeating: "ü", count: 257)) }
    #expect(throws: Never.self) { try Talk(password: String(repeating: "ü", count: 256)) }
  }

  // MARK: Known answers

  @Test func everyKnownExchangeSignsIn() throws {
    let vectors = try UserPoolVectors.read()
    for exchange in vectors.srp {
      let (pool, userID) = (
        try #require(exchange.pool), try #require(exchange.userIdForSrp)
      )
      let body =
        #"{"SALT":"\#(exchange.salt)","SRP_B":"\#(exchange.B)","#
        + #""SECRET_BLOCK":"\#(exchange.secretBlock)","USER_ID_FOR_SRP":"\#(userID)"}"#
      let talk = try Talk(
        .srp, password: exchange.password, username: "typed", pool: pool,
        [.ok(PoolSamples.challenge("PASSWORD_VERIFIER", body)), .ok(Talk.tokens)])
      talk.crypto = SRPTests.KnownPowers(exchange: exchange)
      talk.privateValue = SRPPrivateValue(known: SRPTests.number(exchange.a))
      talk.wallTime = WallTime(milliseconds: exchange.epoch * 1000)
      expect(try talk.start().signIn != nil, "\(exchange)")
      expect(talk.sent[0]["SRP_A"], equals: exchange.A, "\(exchange)")
      expect(talk.sent[1]["PASSWORD_CLAIM_SIGNATURE"], equals: exchange.signature, "\(exchange)")
      expect(talk.sent[1]["TIMESTAMP"], equals: exchange.timestamp, "\(exchange)")
    }
  }

  @Test func everyKnownExchangeOfADeviceSignsIn() throws {
    for exchange in try UserPoolVectors.read().deviceSrp {
      let device = DeviceSecret(
        key: try #require(exchange.deviceKey), groupKey: try #require(exchange.deviceGroupKey),
        password: Secret(exchange.password))
      let body =
        #"{"SALT":"\#(exchange.salt)","SRP_B":"\#(exchange.B)","#
        + #""SECRET_BLOCK":"\#(exchange.secretBlock)"}"#
      let talk = try Talk(
        .password, username: "u-1", device: device,
        [
          .ok(PoolSamples.challenge("DEVICE_SRP_AUTH")),
          .ok(PoolSamples.challenge("DEVICE_PASSWORD_VERIFIER", body)), .ok(Talk.tokens),
        ])
      talk.crypto = SRPTests.KnownPowers(exchange: exchange)
      talk.privateValue = SRPPrivateValue(known: SRPTests.number(exchange.a))
      talk.wallTime = WallTime(milliseconds: exchange.epoch * 1000)
      expect(try talk.start().signIn?.deviceKey, equals: exchange.deviceKey, "\(exchange)")
      expect(talk.sent[2]["PASSWORD_CLAIM_SIGNATURE"], equals: exchange.signature, "\(exchange)")
      expect(talk.sent[2]["USERNAME"], equals: "u-1")
    }
  }

  @Test func aServersValueThatLetsItKnowTheSecretEndsIt() throws {
    struct Zero: SRPArithmetic, Digests {
      func power(_ exponent: Secret) -> Secret { PoolTalk.Hashes().power(exponent) }
      func sharedSecret(_ terms: SRPTerms) -> Secret? { nil }
      func sha256(_ bytes: [UInt8]) -> [UInt8] { TestCrypto().sha256(bytes) }
      func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] { key }
    }
    let talk = try Talk(.srp, [.ok(Talk.verifier)])
    talk.crypto = Zero()
    expect(try talk.start().failure != nil)
    expect(talk.sent.count, equals: 1)
    let zero = Talk.verifier.replacing(#""SRP_B":"5""#, with: #""SRP_B":"0""#)
    let other = try Talk(.srp, [.ok(zero)])
    expect(try other.start().failure != nil && other.sent.count == 1)
  }
}
