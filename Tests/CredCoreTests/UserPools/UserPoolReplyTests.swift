import struct SimulationKit.SeededGenerator
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
      #expect(try kind(name, parameters) == expected, "\(name)")
    }
    let choices = #","AvailableChallenges":["EMAIL_OTP","PASSWORD_SRP","NEW"]"#
    #expect(
      try kind("SELECT_CHALLENGE", "{}", more: choices)
        == .choice(["EMAIL_OTP", "PASSWORD_SRP", "NEW"]))
    #expect(try kind("SELECT_CHALLENGE", "{}") == .choice([]))
  }

  @Test func theNameThatGoesOnIsThePools() throws {
    func name(_ parameters: String) throws -> String? {
      try PoolSamples.readChallenge(PoolSamples.challenge("CUSTOM_CHALLENGE", parameters))?.username
    }
    #expect(try name(#"{"USERNAME":"a","USER_ID_FOR_SRP":"b"}"#) == "a")
    #expect(try name(#"{"USER_ID_FOR_SRP":"b"}"#) == "b")
    #expect(try name(#"{"USERNAME":""}"#) == nil)
    #expect(try name("{}") == nil)
  }

  @Test func aSessionMayBeMissingButNotWrong() throws {
    let challenge = try PoolSamples.readChallenge(PoolSamples.challenge("PASSWORD"))
    #expect(challenge?.session == Secret("a-session-of-twenty-bytes"))
    #expect(try PoolSamples.readChallenge(#"{"ChallengeName":"PASSWORD"}"#)?.session == nil)
    #expect(
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
    #expect(failure?.message.contains("(\(field) ") == true, "\(failure?.message ?? "none")")
    #expect(failure?.code == .backendUnavailable)
  }

  @Test func parametersOfManyKilobytesComeThrough() throws {
    let text = String(repeating: "p", count: 64 << 10)
    let parameters = #"{"a":"\#(text)","b":"\#(text)"}"#
    #expect(
      try kind("CUSTOM_CHALLENGE", parameters)
        == .custom([.init(name: "a", value: Secret(text)), .init(name: "b", value: Secret(text))]))
  }

  @Test func aReplyOverItsLimitIsDropped() throws {
    let client = try PoolSamples.client()
    let text = String(repeating: "p", count: Limits.UserPool.replyBytes)
    let failure = failure { () throws(UpstreamFailure) in
      _ = try client.signInReply(
        from: Samples.reply(200, PoolSamples.challenge("NEW", #"{"a":"\#(text)"}"#)), to: .signIn)
    }
    #expect(failure == .transport(.tooLarge, from: .backend("staff")))
  }

  @Test(arguments: ["", "[]", "{}", "null", "{", #"{"Session":"s"}"#, #"{"ChallengeName":7}"#])
  func aSignInIsAnsweredByTokensOrAChallenge(body: String) {
    #expect(throws: UpstreamFailure.self) { try PoolSamples.read(body) }
  }

  @Test func neverTrapsOnMutations() throws {
    var mutations = SeededGenerator(seed: 15)
    let client = try PoolSamples.client()
    let bodies = [
      PoolSamples.challenge("PASSWORD_VERIFIER", "{\(Self.srp)}"), PoolSamples.tokens(),
      PoolSamples.challenge("NEW_PASSWORD_REQUIRED", #"{"requiredAttributes":"[\"a\"]"}"#),
    ]
    for body in bodies {
      for _ in 0..<1000 {
        let reply = HTTPReply(
          status: Bool.random(using: &mutations) ? 200 : 400, body: mutations.mutate(body))
        guard case .tokens(let tokens)? = try? client.signInReply(from: reply, to: .signIn).step
        else { continue }
        #expect(!tokens.id.token.isEmpty && !tokens.access.token.isEmpty)
      }
    }
  }
}

struct PoolTokensTests {
  private func tokens(_ body: String) throws -> PoolTokens? {
    guard case .tokens(let tokens) = try PoolSamples.read(body).step else { return nil }
    return tokens
  }

  @Test func claimsAreReadAndTokensPassedOn() throws {
    let id = PoolSamples.jwt(.id, #","cognito:username":"u-1","email":"a@b.c""#)
    let access = PoolSamples.jwt(
      .access,
      #","username":"u-1","scope":"openid aws.cognito.signin.user.admin","#
        + #""device_key":"\#(PoolSamples.deviceKey)""#)
    let body = PoolSamples.tokens(
      id: id, access: access,
      more: #","RefreshToken":"eyJjdHkiOiJKV1Q","NewDeviceMetadata":{"#
        + #""DeviceKey":"\#(PoolSamples.deviceKey)","DeviceGroupKey":"-Gr0up"}"#)
    let reply = try PoolSamples.read(body, CognitoReplyTests.date)
    #expect(reply.serverTime == WallTime(milliseconds: 1_767_323_045_000))
    let tokens = try #require(try tokens(body))
    #expect(tokens.id.token == Secret(id))
    #expect(tokens.id.username == "u-1")
    #expect(tokens.id.subject == "s-1")
    #expect(!PoolToken.mayChangeAccount(tokens.id.token))
    #expect(tokens.id.expiration == WallTime(milliseconds: 1_767_326_645_000))
    #expect(tokens.id.signedIn == WallTime(milliseconds: 1_767_320_000_000))
    #expect(tokens.id.lifetime(at: nil) == .seconds(3600))
    #expect(tokens.access.token == Secret(access))
    #expect(tokens.access.username == "u-1")
    #expect(PoolToken.mayChangeAccount(tokens.access.token))
    #expect(tokens.access.deviceKey == PoolSamples.deviceKey)
    #expect(tokens.refresh == Secret("eyJjdHkiOiJKV1Q"))
    #expect(tokens.accessLifetime == .seconds(3600))
    #expect(tokens.newDevice?.key == PoolSamples.deviceKey)
    #expect(tokens.newDevice?.groupKey == "-Gr0up")
  }

  @Test func aRenewalMayBringNoRefreshToken() throws {
    let client = try PoolSamples.client()
    let tokens = try client.renewal(from: Samples.reply(200, PoolSamples.tokens()))
    #expect(tokens.refresh == nil)
    #expect(tokens.newDevice == nil)
    #expect(throws: UpstreamFailure.self) {
      try client.renewal(from: Samples.reply(200, PoolSamples.challenge("PASSWORD")))
    }
  }

  @Test func anEmulatorsTokenNeedsNoClaims() throws {
    let tokens = try #require(try tokens(PoolSamples.tokens(id: "opaque", access: "opaque2")))
    #expect(tokens.id.expiration == nil)
    #expect(tokens.id.lifetime(at: WallTime(milliseconds: 0)) == nil)
  }

  /// A trigger of the pool may remove claims.
  @Test func missingClaimsAreNotMissed() throws {
    let bare = Samples.jwt(#"{"exp":1767326645}"#)
    let tokens = try #require(try tokens(PoolSamples.tokens(id: bare, access: bare)))
    let server = WallTime(milliseconds: 1_767_326_600_000)
    #expect(tokens.id.lifetime(at: server) == .seconds(45))
    #expect(tokens.id.lifetime(at: server + .seconds(60)) == .zero)
    #expect(tokens.id.lifetime(at: nil) == nil)
  }

  @Test func aTokenOfAnotherUseClientOrPoolIsRefused() throws {
    let wrong: [(String, String)] = [
      (PoolSamples.jwt(.id, use: "access"), PoolSamples.jwt(.access)),
      (PoolSamples.jwt(.access), PoolSamples.jwt(.access)),
      (PoolSamples.jwt(.id), PoolSamples.jwt(.id)),
      (PoolSamples.jwt(.id, client: "other"), PoolSamples.jwt(.access)),
      (PoolSamples.jwt(.id), PoolSamples.jwt(.access, client: "other")),
      (PoolSamples.jwt(.id, pool: "eu-west-1_Other"), PoolSamples.jwt(.access)),
      (PoolSamples.jwt(.id, pool: "x\(PoolSamples.poolText)"), PoolSamples.jwt(.access)),
      (PoolSamples.jwt(.id), PoolSamples.jwt(.access, pool: "eu-west-1_Other")),
    ]
    for (id, access) in wrong {
      #expect(throws: UpstreamFailure.self) {
        try tokens(PoolSamples.tokens(id: id, access: access))
      }
    }
  }

  @Test(arguments: [
    #","RefreshToken":"""#, #","RefreshToken":7"#, #","RefreshToken":"a b""#,
    #","NewDeviceMetadata":{}"#, #","NewDeviceMetadata":{"DeviceKey":"x","DeviceGroupKey":"g"}"#,
    #","NewDeviceMetadata":{"DeviceKey":"eu-west-1_ab"}"#,
    #","NewDeviceMetadata":{"DeviceKey":"eu-west-1_ab","DeviceGroupKey":"a b"}"#,
  ])
  func aMalformedResultIsRefused(more: String) {
    #expect(throws: UpstreamFailure.self) { try PoolSamples.read(PoolSamples.tokens(more: more)) }
  }

  @Test(arguments: ["", "a b", "line\\nbreak"])
  func aTokenIsPrintable(token: String) {
    #expect(throws: UpstreamFailure.self) { try PoolSamples.read(PoolSamples.tokens(id: token)) }
    #expect(throws: UpstreamFailure.self) {
      try PoolSamples.read(PoolSamples.tokens(access: token))
    }
  }
}

struct UserPoolReplyTests {
  private let client: UserPoolClient

  init() throws { client = try PoolSamples.client() }

  private static let details =
    #"{"Destination":"a***@e***","DeliveryMedium":"EMAIL","AttributeName":"email"}"#

  @Test func aNewAccountSaysWhereTheCodeWent() throws {
    let body = #"{"UserConfirmed":false,"UserSub":"s","CodeDeliveryDetails":\#(Self.details)}"#
    let result = try client.signedUp(from: Samples.reply(200, body))
    #expect(!result.isConfirmed)
    #expect(result.delivery == .init(medium: "email", destination: "a***@e***"))
    let confirmed = try client.signedUp(from: Samples.reply(200, #"{"UserConfirmed":true}"#))
    #expect(confirmed == SignUpResult())
    #expect(throws: UpstreamFailure.self) { try client.signedUp(from: Samples.reply(200, "{}")) }
  }

  @Test(
    arguments: [
      (#"{"Destination":"+***1","DeliveryMedium":"SMS"}"#, "sms", "+***1"),
      (#"{"Destination":"a\r\n\u001b[2Jb","DeliveryMedium":"EMAIL"}"#, "email", "a [2Jb"),
      (
        #"{"Destination":"l***@long-name-of-company-1234567.example","DeliveryMedium":"EMAIL"}"#,
        "email", "l***@long-name-of-company-1234567.example"
      ),
      (#"{"Destination":"x","DeliveryMedium":"PIGEON"}"#, nil, nil), ("{}", nil, nil),
      ("null", nil, nil), (#"{"Destination":"","DeliveryMedium":"SMS"}"#, nil, nil),
    ] as [(String, String?, String?)])
  func whereACodeWent(details: String, medium: String?, destination: String?) throws {
    let delivery = try client.codeSent(
      from: Samples.reply(200, #"{"CodeDeliveryDetails":\#(details)}"#))
    #expect(delivery?.medium == medium)
    #expect(delivery?.destination == destination)
  }

  @Test func whatAnswersNothingMayBeEmpty() throws {
    for body in ["", "{}", #"{"Session":"s"}"#] {
      let reply = Samples.reply(200, body)
      try client.accountChanged(reply)
      try client.codeAccepted(reply)
      try client.endedSession(reply)
      #expect(try !client.deviceConfirmed(from: reply))
      #expect(try client.attributesUpdated(from: reply).isEmpty)
    }
    #expect(throws: UpstreamFailure.self) {
      try client.accountChanged(Samples.reply(200, "<html>welcome"))
    }
    #expect(throws: UpstreamFailure.self) { try client.accountChanged(Samples.reply(204, "")) }
  }

  @Test func aUserHasAttributesAndFactors() throws {
    let body =
      #"{"Username":"u-1","UserAttributes":[{"Name":"email","Value":"a@b.c"},{"Name":"n"}],"#
      + #""PreferredMfaSetting":"SMS_MFA","UserMFASettingList":["SMS_MFA","EMAIL_OTP",7]}"#
    let user = try client.user(from: Samples.reply(200, body))
    #expect(user.username == "u-1")
    #expect(
      user.attributes == [
        .init(name: "email", value: Secret("a@b.c")), .init(name: "n", value: Secret("")),
      ])
    #expect(user.preferredMFA == "SMS_MFA")
    #expect(user.enabledMFA == ["SMS_MFA", "EMAIL_OTP"])
    let bare = try client.user(from: Samples.reply(200, #"{"Username":"u"}"#))
    #expect(bare.attributes.isEmpty && bare.preferredMFA == nil && bare.enabledMFA.isEmpty)
    for body in ["{}", #"{"Username":"u","UserAttributes":{}}"#] {
      #expect(throws: UpstreamFailure.self) { try client.user(from: Samples.reply(200, body)) }
    }
  }

  @Test func everyChangedAttributeMayHaveACode() throws {
    let body = #"{"CodeDeliveryDetailsList":[\#(Self.details),{},\#(Self.details)]}"#
    #expect(try client.attributesUpdated(from: Samples.reply(200, body)).count == 2)
    let one = #"{"CodeDeliveryDetails":\#(Self.details)}"#
    #expect(
      try client.verificationCodeSent(from: Samples.reply(200, one))?.destination == "a***@e***")
  }

  private let ofUser = SoftwareTokenOwner.user(accessToken: PoolSamples.token)

  @Test func anAuthenticatorAppGetsItsSecret() throws {
    let body = #"{"SecretCode":"GEZDGNBVGY3TQOJQ====","Session":"s"}"#
    let token = try client.softwareToken(from: Samples.reply(200, body), of: ofUser)
    #expect(token.secret == Secret("GEZDGNBVGY3TQOJQ===="))
    #expect(token.session == Secret("s"))
    let uri = "otpauth://totp/My%20Pool:a%40b.c?secret=GEZDGNBVGY3TQOJQ&issuer=My%20Pool"
    #expect(token.uri(issuer: "My Pool", username: "a@b.c") == Secret(uri))
    for secret in ["", "short", "GEZDGNBVGY3TQOJQ&issuer=x", String(repeating: "A", count: 257)] {
      #expect(throws: UpstreamFailure.self) {
        try client.softwareToken(
          from: Samples.reply(200, #"{"SecretCode":"\#(secret)"}"#), of: ofUser)
      }
    }
  }

  @Test func aWrongCodeOfAnAppComesInTwoShapes() throws {
    let success = Samples.reply(200, #"{"Status":"SUCCESS","Session":"s2"}"#)
    #expect(try client.softwareTokenVerified(from: success, of: ofUser) == Secret("s2"))
    let signIn = SoftwareTokenOwner.signIn(session: Secret("s"))
    for (owner, code) in [(ofUser, ProtocolErrorCode.accountRefused), (signIn, .signInFailed)] {
      for reply in [
        Samples.reply(200, #"{"Status":"ERROR"}"#), Samples.reply(200, "{}"),
        Samples.reply(400, #"{"__type":"EnableSoftwareTokenMFAException"}"#),
      ] {
        let failure = failure { () throws(UpstreamFailure) in
          _ = try client.softwareTokenVerified(from: reply, of: owner)
        }
        #expect(failure?.code == code)
        #expect(failure?.remedy == .answerAgain)
        #expect(failure?.reason == "EnableSoftwareTokenMFAException")
      }
    }
  }

  private static let device =
    #"{"DeviceKey":"\#(PoolSamples.deviceKey)","DeviceCreateDate":1767323045.5,"#
    + #""DeviceLastAuthenticatedDate":1767323046,"DeviceAttributes":["#
    + #"{"Name":"device_name","Value":"ip-172-31-22-11.eu-west-1.internal"},"#
    + #"{"Name":"last_ip_used","Value":"192.0.2.1"}]}"#

  @Test func devicesAreListedPageByPage() throws {
    let body = #"{"Devices":[\#(Self.device),\#(Self.device)],"PaginationToken":"p"}"#
    let page = try client.devices(from: Samples.reply(200, body))
    #expect(page.devices.count == 2)
    #expect(page.next == "p")
    #expect(try client.devices(from: Samples.reply(200, "{}")).devices.isEmpty)
    let device = try client.device(from: Samples.reply(200, #"{"Device":\#(Self.device)}"#))
    #expect(device == page.devices[0])
    #expect(device.key == PoolSamples.deviceKey)
    #expect(device.name == "ip-172-31-22-11.eu-west-1.internal")
    #expect(device.lastAddress == "192.0.2.1")
    #expect(device.created == WallTime(milliseconds: 1_767_323_045_500))
    #expect(device.lastUsed == WallTime(milliseconds: 1_767_323_046_000))
    for body in ["{}", #"{"Device":{}}"#, #"{"Device":{"DeviceKey":"../x"}}"#] {
      #expect(throws: UpstreamFailure.self) { try client.device(from: Samples.reply(200, body)) }
    }
  }

  @Test func aPoolMayAskWhetherTheDeviceIsToBeRemembered() throws {
    for answer in [true, false] {
      let body = #"{"UserConfirmationNecessary":\#(answer)}"#
      #expect(try client.deviceConfirmed(from: Samples.reply(200, body)) == answer)
    }
  }
}
