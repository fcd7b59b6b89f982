import TestSupport
import Testing

@testable import SandboxKit

/// Which flows a client allows, USER_AUTH, SECRET_HASH, and what unknown users look like.
struct FlowTests {
  @Test(arguments: [
    ("USER_SRP_AUTH", "USER_SRP_AUTH is not enabled for the client."),
    ("USER_PASSWORD_AUTH", "USER_PASSWORD_AUTH flow not enabled for this client"),
    ("CUSTOM_AUTH", "Initiate Auth method not supported."),
    ("USER_AUTH", "Initiate Auth method not supported."),
    ("REFRESH_TOKEN_AUTH", "REFRESH_TOKEN_AUTH flow not enabled for this client"),
    ("ADMIN_NO_SRP_AUTH", "Initiate Auth method not supported."),
  ])
  func aFlowThatTheClientLacksIsRefused(_ flow: String, _ text: String) throws {
    var pool = try TestPool(client: ["ExplicitAuthFlows": []])
    let reply = pool.start(flow, ["USERNAME": "alice", "PASSWORD": TestPool.password])
    expect(reply.cognitoError, equals: "InvalidParameterException: " + text)
  }

  @Test func anUnknownFlowParameterOrMemberIsRefused() throws {
    var pool = try TestPool()
    expect(
      pool.start("USER_PASSWORD", [:]).cognitoError.contains("at 'authFlow' failed to satisfy"))
    expect(
      pool.enter("alice", TestPool.password, ["Username": "alice"]).cognitoError,
      equals: "InvalidParameterException: The flow has no parameter Username.")
    expect(
      pool.call("InitiateAuth", ["AuthFlow": "USER_AUTH", "Authparameters": [:]]).cognitoError,
      equals: "InvalidParameterException: The operation has no member Authparameters.")
    expect(
      pool.start("USER_SRP_AUTH", [:], client: "nobody").cognitoError,
      equals: "ResourceNotFoundException: User pool client nobody does not exist.")
  }

  // MARK: Secrets

  @Test func theSecretHashIsOverTheNameOfTheRequest() throws {
    var pool = try TestPool()
    func start(_ hash: String?) -> String {
      var values = ["USERNAME": "Alice", "PASSWORD": TestPool.password]
      values["SECRET_HASH"] = hash
      let reply = pool.start("USER_PASSWORD_AUTH", values, client: TestPool.secretClient)
      return reply.status == 200 ? "" : reply.cognitoError
    }
    let (id, secret) = (TestPool.secretClient, SandboxSeed.userPoolClientSecret)
    expect(start(AppClient.hash("Alice", client: id, secret: secret)), equals: "")
    let wrong = "NotAuthorizedException: Unable to verify secret hash for client \(id)"
    expect(start(AppClient.hash("alice", client: id, secret: secret)), equals: wrong)
    expect(start(AppClient.hash("Alice", client: TestPool.client, secret: secret)), equals: wrong)
    expect(start(secret), equals: wrong)
    expect(
      start(nil),
      equals: "NotAuthorizedException: Client \(id) is configured with secret but SECRET_HASH was "
        + "not received")
    expect(
      pool.enter("alice", TestPool.password, ["SECRET_HASH": "AAAA"]).cognitoError,
      equals: "NotAuthorizedException: Unable to verify secret hash for client \(TestPool.client)")
  }

  @Test(arguments: [
    "SignUp", "ConfirmSignUp", "ResendConfirmationCode", "ForgotPassword",
    "ConfirmForgotPassword",
  ])
  func everyCallWithANameWantsTheHash(_ operation: String) throws {
    var pool = try TestPool()
    var input: [String: JSON] = [
      "ClientId": .string(TestPool.secretClient), "Username": "alice",
    ]
    if operation.hasPrefix("Confirm") { input["ConfirmationCode"] = "1" }
    if operation.hasSuffix("Password") || operation == "SignUp" { input["Password"] = "Pass-w0rd" }
    if operation == "ForgotPassword" { input["Password"] = nil }
    expect(pool.send(operation, input).cognitoError.contains("SECRET_HASH was not received"))
    input["SecretHash"] = "AAAA"
    expect(pool.send(operation, input).cognitoError.contains("Unable to verify secret hash"))
  }

  // MARK: Unknown users

  @Test func anUnknownUserLooksLikeAnyOther() throws {
    var pool = try TestPool()
    let proof = SRPClient()
    let values = ["USERNAME": "ghost", "SRP_A": proof.value.hexadecimalText]
    let (first, second) = (pool.start("USER_SRP_AUTH", values), pool.start("USER_SRP_AUTH", values))
    expect(first.challenge, equals: "PASSWORD_VERIFIER")
    expect(first.parameter("SALT"), equals: second.parameter("SALT"))
    expect(first.parameter("USER_ID_FOR_SRP"), equals: second.parameter("USER_ID_FOR_SRP"))
    expect(first.parameter("SRP_B") != second.parameter("SRP_B"))
    expect(first.parameter("USER_ID_FOR_SRP")?.count, equals: 36)
    let answer = try proof.answer(first, password: "any", at: pool.test.now)
    expect(pool.respond("PASSWORD_VERIFIER", answer).cognitoError, equals: ProofTests.refused)
    expect(pool.enter("ghost").cognitoError, equals: ProofTests.refused)
    let forgotten = pool.call("ForgotPassword", ["Username": "ghost"])
    expect(forgotten.json?["CodeDeliveryDetails"]?["Destination"] != nil)
    expect(pool.call("ForgotPassword", ["Username": "ghost"]).json, equals: forgotten.json)
    expect(pool.call("ResendConfirmationCode", ["Username": "ghost"]).status, equals: 200)
    let confirm: [String: JSON] = ["Username": "ghost", "ConfirmationCode": "123456"]
    let expired = "ExpiredCodeException: Invalid code provided, please request a code again."
    expect(pool.call("ConfirmSignUp", confirm).cognitoError, equals: expired)
    expect(
      pool.call("ConfirmForgotPassword", confirm.merging(["Password": "Pass-w0rd"]) { $1 })
        .cognitoError, equals: expired)
  }

  @Test func anOldClientSaysWhoDoesNotExist() throws {
    var pool = try TestPool(client: ["PreventUserExistenceErrors": false])
    let unknown = "UserNotFoundException: User does not exist."
    expect(pool.enter("ghost").cognitoError, equals: unknown)
    expect(
      pool.start("USER_SRP_AUTH", ["USERNAME": "ghost", "SRP_A": "02"]).cognitoError,
      equals: unknown)
    expect(pool.call("ForgotPassword", ["Username": "ghost"]).cognitoError, equals: unknown)
    expect(pool.call("ResendConfirmationCode", ["Username": "ghost"]).cognitoError, equals: unknown)
    expect(
      pool.call("ConfirmSignUp", ["Username": "ghost", "ConfirmationCode": "1"]).cognitoError,
      equals: unknown)
  }

  // MARK: USER_AUTH

  @Test func aUserChoosesAFirstFactor() throws {
    var pool = try TestPool()
    let reply = pool.start("USER_AUTH", ["USERNAME": "alice"])
    expect(reply.challenge, equals: "SELECT_CHALLENGE")
    expect(reply.json?["AvailableChallenges"], equals: ["EMAIL_OTP", "PASSWORD_SRP", "PASSWORD"])
    let other = ["USERNAME": "alice", "ANSWER": "SMS_OTP"]
    expect(pool.respond("SELECT_CHALLENGE", other, session: reply.session).status, equals: 400)
    let answer = ["USERNAME": "alice", "ANSWER": "PASSWORD", "PASSWORD": TestPool.password]
    _ = try Tokens(pool.respond("SELECT_CHALLENGE", answer, session: reply.session))
  }

  @Test(arguments: ["PASSWORD", "PASSWORD_SRP", "EMAIL_OTP", "SMS_OTP"])
  func aPreferenceIsTaken(_ preference: String) throws {
    var pool = try TestPool()
    let proof = SRPClient()
    let reply = pool.start(
      "USER_AUTH", ["USERNAME": "alice", "PREFERRED_CHALLENGE": preference])
    switch preference {
    case "PASSWORD":
      expect(reply.challenge, equals: "PASSWORD")
      let answer = ["USERNAME": "alice", "PASSWORD": TestPool.password]
      _ = try Tokens(pool.respond("PASSWORD", answer, session: reply.session))
    case "PASSWORD_SRP":
      expect(reply.challenge, equals: "PASSWORD_SRP")
      let value = ["USERNAME": "alice", "SRP_A": proof.value.hexadecimalText]
      let next = pool.respond("PASSWORD_SRP", value, session: reply.session)
      let answer = try proof.answer(next, password: TestPool.password, at: pool.test.now)
      _ = try Tokens(pool.respond("PASSWORD_VERIFIER", answer, session: next.session))
    case "EMAIL_OTP":
      expect(reply.challenge, equals: "EMAIL_OTP")
      let code = try pool.code()
      expect(code.count, equals: 8)
      let answer = ["USERNAME": "alice", "EMAIL_OTP_CODE": code]
      _ = try Tokens(pool.respond("EMAIL_OTP", answer, session: reply.session))
    default: expect(reply.challenge, equals: "SELECT_CHALLENGE")
    }
  }

  @Test func aPreferenceWithItsAnswerTakesOneCall() throws {
    var pool = try TestPool()
    let password = [
      "USERNAME": "alice", "PREFERRED_CHALLENGE": "PASSWORD", "PASSWORD": TestPool.password,
    ]
    _ = try Tokens(pool.start("USER_AUTH", password))
    let proof = SRPClient()
    let values = [
      "USERNAME": "alice", "PREFERRED_CHALLENGE": "PASSWORD_SRP",
      "SRP_A": proof.value.hexadecimalText,
    ]
    let reply = pool.start("USER_AUTH", values)
    let answer = try proof.answer(reply, password: TestPool.password, at: pool.test.now)
    _ = try Tokens(pool.respond("PASSWORD_VERIFIER", answer, session: reply.session))
  }

  @Test func codesAsTheOnlyFactorExcludeASecondOne() throws {
    var pool = try ChallengeTests.withFactors(["SMS_MFA"])
    let reply = pool.start("USER_AUTH", ["USERNAME": "alice"])
    expect(reply.json?["AvailableChallenges"], equals: ["PASSWORD_SRP", "PASSWORD"])
    try pool.set("dora", ["Password": "Invited-1", "Attributes": ["email": "d@e.fr"]])
    expect(
      pool.start("USER_AUTH", ["USERNAME": "dora"]).json?["AvailableChallenges"],
      equals: ["PASSWORD_SRP", "PASSWORD"])
  }
}
