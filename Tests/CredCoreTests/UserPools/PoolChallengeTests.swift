import TestSupport
import Testing

@testable import CredCore

struct PoolChallengeTests {
  private static let srp =
    #""SALT":"7d","SRP_B":"5","SECRET_BLOCK":"AAAA","USER_ID_FOR_SRP":"u-1","USERNAME":"u-1""#

  private func kind(_ name: String, _ parameters: String, more: String = "") throws
    -> PoolChallenge.Kind?
  {
    try PoolSamples.readChallenge(PoolSamples.challenge(name, parameters, more: more))?.kind
  }

  @Test func everyChallengeIsKnown() throws {
    let srp = try SRPChallenge(
      salt: Secret("7d"), serverValue: Secret("5"), secretBlock: Secret("AAAA"))
    let sent = #"{"CODE_DELIVERY_DELIVERY_MEDIUM":"X","CODE_DELIVERY_DESTINATION":"+***99"}"#
    let rows: [(String, String, PoolChallenge.Kind)] = [
      ("PASSWORD_VERIFIER", "{\(Self.srp)}", .passwordVerifier(srp, userID: "u-1")),
      ("DEVICE_SRP_AUTH", "{}", .deviceSRP),
      ("DEVICE_PASSWORD_VERIFIER", "{\(Self.srp)}", .devicePasswordVerifier(srp)),
      ("SMS_MFA", sent, .code(.sms, destination: "+***99")),
      ("SMS_OTP", sent, .code(.sms, destination: "+***99")),
      ("EMAIL_OTP", sent, .code(.email, destination: "+***99")),
      ("SOFTWARE_TOKEN_MFA", #"{"FRIENDLY_DEVICE_NAME":"p"}"#, .code(.app, destination: nil)),
      (
        "SELECT_MFA_TYPE", #"{"MFAS_CAN_CHOOSE":"[\"SMS_MFA\",\"SOFTWARE_TOKEN_MFA\"]"}"#,
        .mfaType(["SMS_MFA", "SOFTWARE_TOKEN_MFA"])
      ),
      (
        "MFA_SETUP", #"{"MFAS_CAN_SETUP":"[\"SOFTWARE_TOKEN_MFA\"]"}"#,
        .mfaSetup(["SOFTWARE_TOKEN_MFA"])
      ),
      ("MFA_SETUP", "{}", .mfaSetup([])),
      (
        "NEW_PASSWORD_REQUIRED",
        #"{"requiredAttributes":"[\"userAttributes.given_name\",\"custom:x\"]","#
          + #""userAttributes":"{\"email\":\"a@b.c\",\"email_verified\":\"true\",\"n\":7}"}"#,
        .newPassword(
          required: ["given_name", "custom:x"],
          attributes: [
            .init(name: "email", value: Secret("a@b.c")),
            .init(name: "email_verified", value: Secret("true")),
          ])
      ),
      ("NEW_PASSWORD_REQUIRED", "{}", .newPassword(required: [], attributes: [])),
      ("PASSWORD", "{}", .password), ("PASSWORD_SRP", "null", .passwordSRP),
      ("WEB_AUTHN", "{}", .unsupported), ("ADMIN_NO_SRP_AUTH", "{}", .unsupported),
      (
        "CUSTOM_CHALLENGE", #"{"question":"2+3?","gone":null}"#,
        .custom([.init(name: "question", value: Secret("2+3?"))])
      ),
      ("SOMETHING_NEW", #"{"a":""}"#, .custom([.init(name: "a", value: Secret(""))])),
    ]
    for (name, parameters, expected) in rows {
      expect(try kind(name, parameters), equals: expected, "\(name)")
    }
    let choices = #","AvailableChallenges":["EMAIL_OTP","PASSWORD_SRP","NEW"]"#
    expect(
      try kind("SELECT_CHALLENGE", "{}", more: choices),
      equals: .choice(["EMAIL_OTP", "PASSWORD_SRP", "NEW"]))
    expect(try kind("SELECT_CHALLENGE", "{}"), equals: .choice([]))
  }

  @Test func theNameThatGoesOnIsThePools() throws {
    func name(_ parameters: String) throws -> String? {
      try PoolSamples.readChallenge(PoolSamples.challenge("CUSTOM_CHALLENGE", parameters))?.username
    }
    expect(try name(#"{"USERNAME":"a","USER_ID_FOR_SRP":"b"}"#), equals: "a")
    expect(try name(#"{"USER_ID_FOR_SRP":"b"}"#), equals: "b")
    expect(try name(#"{"USERNAME":""}"#) == nil)
    expect(try name("{}") == nil)
  }

  @Test func aSessionMayBeMissingButNotWrong() throws {
    let challenge = try PoolSamples.readChallenge(PoolSamples.challenge("PASSWORD"))
    expect(challenge?.session, equals: Secret("a-session-of-twenty-bytes"))
    expect(try PoolSamples.readChallenge(#"{"ChallengeName":"PASSWORD"}"#)?.session == nil)
    expect(
      try PoolSamples.readChallenge(#"{"ChallengeName":"PASSWORD","Session":null}"#)?.session == nil
    )
    for session in [#""""#, "7", "\"\(String(repeating: "s", count: 16_385))\""] {
      #expect(throws: UpstreamFailure.self) {
        try PoolSamples.read(#"{"ChallengeName":"PASSWORD","Session":\#(session)}"#)
      }
    }
  }

  @Test(arguments: [
    ("PASSWORD_VERIFIER", #"{"SALT":"7d","SRP_B":"5","SECRET_BLOCK":"AAAA"}"#, "USER_ID_FOR_SRP"),
    ("PASSWORD_VERIFIER", #"{"USER_ID_FOR_SRP":"u"}"#, "SALT"),
    ("DEVICE_PASSWORD_VERIFIER", #"{"SALT":"7d","SRP_B":"0","SECRET_BLOCK":"AAAA"}"#, "SRP_B"),
    ("DEVICE_PASSWORD_VERIFIER", #"{"SALT":"7d","SRP_B":"x","SECRET_BLOCK":"AAAA"}"#, "SRP_B"),
    ("DEVICE_PASSWORD_VERIFIER", #"{"SALT":"7d","SRP_B":"5","SECRET_BLOCK":"*"}"#, "SECRET_BLOCK"),
    ("SELECT_MFA_TYPE", #"{"MFAS_CAN_CHOOSE":"["}"#, "MFAS_CAN_CHOOSE"),
    ("SELECT_MFA_TYPE", #"{"MFAS_CAN_CHOOSE":"{}"}"#, "MFAS_CAN_CHOOSE"),
    ("SELECT_MFA_TYPE", #"{"MFAS_CAN_CHOOSE":"[7]"}"#, "MFAS_CAN_CHOOSE"),
    ("MFA_SETUP", #"{"MFAS_CAN_SETUP":"[\"a b\"]"}"#, "MFAS_CAN_SETUP"),
    ("NEW_PASSWORD_REQUIRED", #"{"userAttributes":"[]"}"#, "userAttributes"),
    ("CUSTOM_CHALLENGE", #"{"a":["b"]}"#, "ChallengeParameters"),
    ("CUSTOM_CHALLENGE", "[]", "ChallengeParameters"), ("", "{}", "ChallengeName"),
    ("A B", "{}", "ChallengeName"),
  ])
  func whatIsMalformedIsNamed(name: String, parameters: String, field: String) throws {
    let client = try PoolSamples.client()
    let failure = failure { () throws(UpstreamFailure) in
      _ = try client.signInReply(
        from: Samples.reply(200, PoolSamples.challenge(name, parameters)), to: .signIn)
    }
    expect(failure?.message.contains("(\(field) ") == true, "\(failure?.message ?? "none")")
    expect(failure?.code, equals: .backendUnavailable)
  }

  @Test func parametersOfManyKilobytesComeThrough() throws {
    let text = String(repeating: "p", count: 64 << 10)
    let parameters = #"{"a":"\#(text)","b":"\#(text)"}"#
    expect(
      try kind("CUSTOM_CHALLENGE", parameters),
      equals: .custom([
        .init(name: "a", value: Secret(text)), .init(name: "b", value: Secret(text)),
      ]))
  }

  @Test func aReplyOverItsLimitIsDropped() throws {
    let client = try PoolSamples.client()
    let text = String(repeating: "p", count: Limits.UserPool.replyBytes)
    let failure = failure { () throws(UpstreamFailure) in
      _ = try client.signInReply(
        from: Samples.reply(200, PoolSamples.challenge("NEW", #"{"a":"\#(text)"}"#)), to: .signIn)
    }
    expect(failure, equals: .transport(.tooLarge, from: .backend("staff")))
  }

  @Test(arguments: ["", "[]", "{}", "null", "{", #"{"Session":"s"}"#, #"{"ChallengeName":7}"#])
  func aSignInIsAnsweredByTokensOrAChallenge(body: String) {
    #expect(throws: UpstreamFailure.self) { try PoolSamples.read(body) }
  }
}
