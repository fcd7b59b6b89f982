import TestSupport
import Testing

@testable import CredCore

/// The bytes of every request.
struct UserPoolRequestTests {
  private let client: UserPoolClient
  private let user: PoolUsername
  /// With a client secret.
  private let confidential: UserPoolClient
  private let hashed: PoolUsername

  private static let hash = "bFbBJ8E/2GdsuTNwSDHF6sZskNuxWe/Tc9RA/8U8j9k="
  private static let id = #""ClientId":"1example23456789""#
  private static let device = PoolSamples.deviceKey
  private static let metadata = #""ClientMetadata":{"k":"v"}"#

  init() throws {
    client = try PoolSamples.client()
    user = try PoolSamples.user(client)
    confidential = try PoolSamples.client(secret: "9example87654321")
    hashed = try PoolSamples.user(confidential)
  }

  private func expectRequest(
    _ request: HTTPRequest, _ operation: String, _ members: String,
    at place: SourceLocation = #_sourceLocation
  ) {
    expect(request.method, equals: .post, sourceLocation: place)
    expect(
      request.url, equals: "https://cognito-idp.eu-west-1.amazonaws.com/", sourceLocation: place)
    let target = "AWSCognitoIdentityProviderService.\(operation)"
    expect(Samples.header(request, "X-Amz-Target"), equals: target, sourceLocation: place)
    expect(
      Samples.header(request, "Content-Type"), equals: "application/x-amz-json-1.1",
      sourceLocation: place)
    expect(request.headers.count, equals: 2, "it is not signed", sourceLocation: place)
    expect(Samples.body(request), equals: "{\(members)}", sourceLocation: place)
  }

  @Test func everyKnownSecretHash() throws {
    let hashes = try #require(SRPTests.vectors?.secretHash)
    expect(hashes.count, equals: 16)
    for entry in hashes {
      let hash = UserPoolClient.secretHash(
        of: entry.username, client: entry.clientId, secret: Secret(entry.clientSecret),
        digests: TestCrypto())
      expect(hash, equals: Secret(entry.secretHash))
    }
  }

  // MARK: Sign-in

  @Test func everyFlowBeginsAsTheReferenceSays() throws {
    let A = SRPInteger([0x0F, 0xFF])
    let rows: [(PoolSignInStart, String, String)] = [
      (.srp(A), "USER_SRP_AUTH", #","SRP_A":"fff""#),
      (.password(Secret("pass word")), "USER_PASSWORD_AUTH", #","PASSWORD":"pass word""#),
      (.choice(nil), "USER_AUTH", ""),
      (
        .choice(.password(Secret("p"))), "USER_AUTH",
        #","PREFERRED_CHALLENGE":"PASSWORD","PASSWORD":"p""#
      ),
      (
        .choice(.passwordSRP(A)), "USER_AUTH",
        #","PREFERRED_CHALLENGE":"PASSWORD_SRP","SRP_A":"fff""#
      ),
      (.choice(.code("EMAIL_OTP")), "USER_AUTH", #","PREFERRED_CHALLENGE":"EMAIL_OTP""#),
      (.custom, "CUSTOM_AUTH", ""),
      (.customAfterSRP(A), "CUSTOM_AUTH", #","CHALLENGE_NAME":"SRP_A","SRP_A":"fff""#),
    ]
    for (start, flow, parameters) in rows {
      expectRequest(
        try client.initiateAuth(start, as: user), "InitiateAuth",
        #"\#(Self.id),"AuthFlow":"\#(flow)","AuthParameters":{"USERNAME":"alice"\#(parameters)}"#)
    }
  }

  @Test func aSignInSendsHashDeviceAndMetadata() throws {
    expectRequest(
      try confidential.initiateAuth(
        .custom, as: hashed, device: Self.device, metadata: ClientMetadata([("k", Secret("v"))])),
      "InitiateAuth",
      #"\#(Self.id),"AuthFlow":"CUSTOM_AUTH","AuthParameters":{"USERNAME":"alice","#
        + #""SECRET_HASH":"\#(Self.hash)","DEVICE_KEY":"\#(Self.device)"},\#(Self.metadata)"#)
  }

  @Test func everyChallengeIsAnsweredAsTheReferenceSays() throws {
    let A = SRPInteger([2])
    let claim =
      #""PASSWORD_CLAIM_SECRET_BLOCK":"AAAA","PASSWORD_CLAIM_SIGNATURE":"c2lnbmF0dXJl","#
      + #""TIMESTAMP":"Sun Nov 5 00:30:09 UTC 2023""#
    let rows: [(PoolAnswer, String, String)] = [
      (.passwordVerifier(PoolSamples.claim), "PASSWORD_VERIFIER", claim),
      (.deviceSRP(A), "DEVICE_SRP_AUTH", #""SRP_A":"2""#),
      (.devicePasswordVerifier(PoolSamples.claim), "DEVICE_PASSWORD_VERIFIER", claim),
      (.code(Secret("123 456"), to: "SMS_MFA"), "SMS_MFA", #""SMS_MFA_CODE":"123456""#),
      (.code(Secret("12345678"), to: "EMAIL_OTP"), "EMAIL_OTP", #""EMAIL_OTP_CODE":"12345678""#),
      (.code(Secret(" 1\n"), to: "SMS_OTP"), "SMS_OTP", #""SMS_OTP_CODE":"1""#),
      (
        .code(Secret("000000"), to: "SOFTWARE_TOKEN_MFA"), "SOFTWARE_TOKEN_MFA",
        #""SOFTWARE_TOKEN_MFA_CODE":"000000""#
      ),
      (.mfaType("SMS_MFA"), "SELECT_MFA_TYPE", #""ANSWER":"SMS_MFA""#),
      (.mfaEmail(Secret("a@b.c")), "MFA_SETUP", #""EMAIL":"a@b.c""#),
      (
        .newPassword(
          Secret("n\"w"), attributes: [.init(name: "given_name", value: Secret("Ann"))]),
        "NEW_PASSWORD_REQUIRED", #""NEW_PASSWORD":"n\"w","userAttributes.given_name":"Ann""#
      ),
      (
        .choice(.password(Secret("p"))), "SELECT_CHALLENGE", #""ANSWER":"PASSWORD","PASSWORD":"p""#
      ),
      (.choice(.passwordSRP(A)), "SELECT_CHALLENGE", #""ANSWER":"PASSWORD_SRP","SRP_A":"2""#),
      (.choice(.code("SMS_OTP")), "SELECT_CHALLENGE", #""ANSWER":"SMS_OTP""#),
      (.password(Secret("p")), "PASSWORD", #""PASSWORD":"p""#),
      (.passwordSRP(A), "PASSWORD_SRP", #""SRP_A":"2""#),
      (.custom(Secret("5"), to: "CUSTOM_CHALLENGE"), "CUSTOM_CHALLENGE", #""ANSWER":"5""#),
      (.custom(Secret("x"), to: "NEW_KIND"), "NEW_KIND", #""ANSWER":"x""#),
    ]
    for (answer, name, responses) in rows {
      expect(answer.challenge, equals: name)
      expectRequest(
        try client.respond(answer, as: user, session: Secret("s")), "RespondToAuthChallenge",
        #"\#(Self.id),"ChallengeName":"\#(name)","ChallengeResponses":{"USERNAME":"alice","#
          + #"\#(responses)},"Session":"s""#)
    }
  }

  @Test func anAnswerSendsHashDeviceSessionAndMetadata() throws {
    expectRequest(
      try confidential.respond(
        .mfaIsSetUp, as: hashed, session: Secret("s"), device: Self.device,
        metadata: ClientMetadata([("k", Secret("v"))])),
      "RespondToAuthChallenge",
      #"\#(Self.id),"ChallengeName":"MFA_SETUP","ChallengeResponses":{"USERNAME":"alice","#
        + #""SECRET_HASH":"\#(Self.hash)","DEVICE_KEY":"\#(Self.device)"},"Session":"s","#
        + Self.metadata)
    let without = try client.respond(.mfaIsSetUp, as: user, session: nil)
    expect(!Samples.body(without).contains("Session"))
  }

  // MARK: Tokens

  @Test func tokensAreRenewedAndRevokedWithTheSecretItself() throws {
    let token = Secret("refresh")
    expectRequest(
      confidential.getTokens(refreshToken: token, device: Self.device), "GetTokensFromRefreshToken",
      #"\#(Self.id),"RefreshToken":"refresh","ClientSecret":"9example87654321","#
        + #""DeviceKey":"\#(Self.device)""#)
    expectRequest(
      client.getTokens(refreshToken: token), "GetTokensFromRefreshToken",
      #"\#(Self.id),"RefreshToken":"refresh""#)
    expectRequest(
      confidential.initiateAuth(refreshToken: token, of: hashed, device: Self.device),
      "InitiateAuth",
      #"\#(Self.id),"AuthFlow":"REFRESH_TOKEN_AUTH","AuthParameters":{"REFRESH_TOKEN":"refresh","#
        + #""SECRET_HASH":"\#(Self.hash)","DEVICE_KEY":"\#(Self.device)"}"#)
    expectRequest(
      confidential.revoke(refreshToken: token), "RevokeToken",
      #"\#(Self.id),"Token":"refresh","ClientSecret":"9example87654321""#)
    expectRequest(
      client.signOutGlobally(accessToken: PoolSamples.token), "GlobalSignOut",
      #""AccessToken":"access.token""#)
  }

  // MARK: Accounts

  @Test func accountsBeforeASignIn() throws {
    let signUp = SignUp(
      username: "alice", password: Secret("p"),
      attributes: [.init(name: "email", value: Secret("a@b.c"))])
    expectRequest(
      try confidential.signUp(signUp, as: hashed), "SignUp",
      #"\#(Self.id),"Username":"alice","SecretHash":"\#(Self.hash)","Password":"p","#
        + #""UserAttributes":[{"Name":"email","Value":"a@b.c"}]"#)
    expectRequest(
      try client.confirmSignUp(user, code: Secret("1 2")), "ConfirmSignUp",
      #"\#(Self.id),"Username":"alice","ConfirmationCode":"12""#)
    expectRequest(
      confidential.resendConfirmationCode(hashed), "ResendConfirmationCode",
      #"\#(Self.id),"Username":"alice","SecretHash":"\#(Self.hash)""#)
    expectRequest(
      client.forgotPassword(user), "ForgotPassword", #"\#(Self.id),"Username":"alice""#)
    expectRequest(
      try confidential.confirmForgotPassword(hashed, code: Secret("12"), password: Secret("p")),
      "ConfirmForgotPassword",
      #"\#(Self.id),"Username":"alice","SecretHash":"\#(Self.hash)","ConfirmationCode":"12","#
        + #""Password":"p""#)
  }

  @Test func textsForTriggersStandWhereCognitoTakesThem() throws {
    let metadata = try ClientMetadata([("k", Secret("v"))])
    expectRequest(
      try client.signUp(
        SignUp(username: "alice", password: Secret("p")), as: user, metadata: metadata,
        validationData: ClientMetadata([("b", Secret("2"))])), "SignUp",
      #"\#(Self.id),"Username":"alice","Password":"p","#
        + #""ValidationData":[{"Name":"b","Value":"2"}],\#(Self.metadata)"#)
    let requests: [HTTPRequest] = [
      try client.confirmSignUp(user, code: Secret("1"), metadata: metadata),
      client.resendConfirmationCode(user, metadata: metadata),
      client.forgotPassword(user, metadata: metadata),
      try client.confirmForgotPassword(
        user, code: Secret("1"), password: Secret("p"), metadata: metadata),
      try client.updateAttributes(
        accessToken: PoolSamples.token, [NamedSecret(name: "email", value: Secret("e"))],
        metadata: metadata),
      try client.getVerificationCode(
        accessToken: PoolSamples.token, of: "email", metadata: metadata),
    ]
    for request in requests {
      let text = request.body.exposedText() ?? ""
      expect(text.contains(Self.metadata), "\(text)")
    }
  }

  @Test func theOwnAccount() throws {
    let token = PoolSamples.token
    let access = #""AccessToken":"access.token""#
    expectRequest(client.getUser(accessToken: token), "GetUser", access)
    expectRequest(client.deleteUser(accessToken: token), "DeleteUser", access)
    expectRequest(
      try client.changePassword(accessToken: token, from: Secret("o"), to: Secret("n")),
      "ChangePassword", #"\#(access),"PreviousPassword":"o","ProposedPassword":"n""#)
    expectRequest(
      try client.updateAttributes(
        accessToken: token, [.init(name: "custom:team", value: Secret(""))]),
      "UpdateUserAttributes", #"\#(access),"UserAttributes":[{"Name":"custom:team","Value":""}]"#)
    expectRequest(
      try client.deleteAttributes(accessToken: token, ["nickname", "zoneinfo"]),
      "DeleteUserAttributes", #"\#(access),"UserAttributeNames":["nickname","zoneinfo"]"#)
    expectRequest(
      try client.getVerificationCode(accessToken: token, of: "email"),
      "GetUserAttributeVerificationCode", #"\#(access),"AttributeName":"email""#)
    expectRequest(
      try client.verifyAttribute(accessToken: token, "email", code: Secret("7")),
      "VerifyUserAttribute", #"\#(access),"AttributeName":"email","Code":"7""#)
    expectRequest(
      client.setMFAPreference(
        accessToken: token,
        try MFAPreference(enabled: [.app: true, .sms: false], preferred: .app)),
      "SetUserMFAPreference",
      #"\#(access),"SMSMfaSettings":{"Enabled":false,"PreferredMfa":false},"#
        + #""SoftwareTokenMfaSettings":{"Enabled":true,"PreferredMfa":true}"#)
  }

  @Test func anAuthenticatorAppOfAUserOrOfASignIn() throws {
    let user = SoftwareTokenOwner.user(accessToken: PoolSamples.token)
    let signIn = SoftwareTokenOwner.signIn(session: Secret("s"))
    expectRequest(
      client.associateSoftwareToken(of: user), "AssociateSoftwareToken",
      #""AccessToken":"access.token""#)
    expectRequest(
      client.associateSoftwareToken(of: signIn), "AssociateSoftwareToken", #""Session":"s""#)
    expectRequest(
      try client.verifySoftwareToken(of: signIn, code: Secret("123 456"), name: "phone"),
      "VerifySoftwareToken",
      #""Session":"s","UserCode":"123456","FriendlyDeviceName":"phone""#)
  }

  @Test func devices() throws {
    let token = PoolSamples.token
    let start = #""AccessToken":"access.token","DeviceKey":"\#(Self.device)""#
    let verifier = DeviceVerifier(salt: Secret("c2FsdA=="), passwordVerifier: Secret("dg=="))
    expectRequest(
      try client.confirmDevice(accessToken: token, key: Self.device, verifier, name: "host"),
      "ConfirmDevice",
      #"\#(start),"DeviceSecretVerifierConfig":{"PasswordVerifier":"dg==","Salt":"c2FsdA=="},"#
        + #""DeviceName":"host""#)
    for (isRemembered, word) in [(true, "remembered"), (false, "not_remembered")] {
      expectRequest(
        try client.updateDevice(accessToken: token, key: Self.device, isRemembered: isRemembered),
        "UpdateDeviceStatus", #"\#(start),"DeviceRememberedStatus":"\#(word)""#)
    }
    expectRequest(
      try client.forgetDevice(accessToken: token, key: Self.device), "ForgetDevice", start)
    expectRequest(
      client.listDevices(accessToken: token, after: "p"), "ListDevices",
      #""AccessToken":"access.token","Limit":60,"PaginationToken":"p""#)
  }
}
