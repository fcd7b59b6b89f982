import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// SignUp, ConfirmSignUp and ResendConfirmationCode.
struct SignUpTests {
  static let wrongCode =
    "CodeMismatchException: Invalid verification code provided, please try again."
  static let expiredCode =
    "ExpiredCodeException: Invalid code provided, please request a code again."

  static func signUp(_ name: String, _ email: String, password: String = "Bobs-own-1")
    -> [String: JSON]
  {
    [
      "Username": .string(name), "Password": .string(password),
      "UserAttributes": [["Name": "email", "Value": .string(email)]],
    ]
  }

  @Test func aUserSignsUpAndIsConfirmed() throws {
    var pool = try TestPool()
    let reply = pool.call("SignUp", Self.signUp("bob", "bob@example.com"))
    expect(reply.json?["UserConfirmed"] == false)
    expect(reply.json?["CodeDeliveryDetails"]?["Destination"], equals: "b***@e***")
    expect(reply.json?["CodeDeliveryDetails"]?["DeliveryMedium"], equals: "EMAIL")
    expect(
      try pool.prove("bob", "Bobs-own-1").cognitoError,
      equals: "UserNotConfirmedException: User is not confirmed.")
    expect(try pool.prove("bob", "wrong").cognitoError, equals: ProofTests.refused)
    let first = try pool.code("bob")
    expect(pool.call("ResendConfirmationCode", ["Username": "bob"]).status, equals: 200)
    func confirm(_ code: String) -> HTTPReply {
      pool.call("ConfirmSignUp", ["Username": "bob", "ConfirmationCode": .string(code)])
    }
    let second = try pool.code("bob")
    if first != second { expect(confirm(first).cognitoError, equals: Self.wrongCode) }
    expect(confirm(second).status, equals: 200)
    expect(
      confirm(second).cognitoError,
      equals: "NotAuthorizedException: User cannot be confirmed. Current status is CONFIRMED")
    expect(
      pool.call("ResendConfirmationCode", ["Username": "bob"]).cognitoError,
      equals: "InvalidParameterException: User is already confirmed.")
    let tokens = try Tokens(pool.prove("bob", "Bobs-own-1"))
    expect(try TokenIssuer.claims(in: tokens.id)["sub"], equals: reply.json?["UserSub"])
  }

  @Test(
    arguments: [
      (signUp("alice", "b@c.de"), "UsernameExistsException: User already exists"),
      (signUp("ALICE", "b@c.de"), "UsernameExistsException: User already exists"),
      (signUp("bob", "none"), "InvalidParameterException: Invalid email address format."),
      (
        signUp("bob", "b@c.de", password: "bobs-own"),
        "InvalidPasswordException: Password did not conform with policy: Password must have "
          + "uppercase characters"
      ),
      (
        ["Username": "bob", "Password": "Bobs-own-1"],
        "InvalidParameterException: Attributes did not conform to the schema: email: The attribute "
          + "is required\n"
      ),
      (
        [
          "Username": "bob", "Password": "Bobs-own-1",
          "UserAttributes": [["Name": "email_verified", "Value": "true"]],
        ], "NotAuthorizedException: A client attempted to write unauthorized attribute"
      ),
    ] as [([String: JSON], String)])
  func aSignUpThatDoesNotFitIsRefused(_ input: [String: JSON], _ error: String) throws {
    var pool = try TestPool()
    expect(pool.call("SignUp", input).cognitoError, equals: error)
  }

  @Test func signUpCanBeClosedOrAutomatic() throws {
    var pool = try TestPool(["SignUp": false])
    expect(
      pool.call("SignUp", Self.signUp("bob", "b@c.de")).cognitoError,
      equals: "NotAuthorizedException: SignUp is not permitted for this user pool")
    try pool.control("", ["SignUp": true, "ConfirmSignUp": true])
    let reply = pool.call("SignUp", Self.signUp("bob", "b@c.de"))
    expect(reply.json?["UserConfirmed"] == true)
    expect(reply.json?["CodeDeliveryDetails"] == nil)
    expect(try pool.prove("bob", "Bobs-own-1").status, equals: 200)
  }

  @Test func aSignUpCodeAgesAndIsTriedFiveTimes() throws {
    var pool = try TestPool()
    _ = pool.call("SignUp", Self.signUp("bob", "b@c.de"))
    let code = try pool.code("bob")
    func confirm(_ code: String) -> String {
      pool.call("ConfirmSignUp", ["Username": "bob", "ConfirmationCode": .string(code)])
        .cognitoError
    }
    for _ in 0..<5 { expect(confirm("x"), equals: Self.wrongCode) }
    expect(
      confirm(code),
      equals: "TooManyFailedAttemptsException: Attempt limit exceeded, please try after some time.")
    pool.test.now += 86_400
    expect(confirm(code), equals: Self.expiredCode)
  }

  @Test func addressesAsUserNamesHaveAUUIDBehindThem() throws {
    var pool = try TestPool(["UsernameAttributes": ["email"]])
    let reply = pool.call("SignUp", Self.signUp("Bob@Example.com", "Bob@Example.com"))
    let sub = try #require(reply.json?["UserSub"]?.text)
    let code = try pool.code(sub)
    let confirm: [String: JSON] = [
      "Username": "bob@example.com", "ConfirmationCode": .string(code),
    ]
    expect(pool.call("ConfirmSignUp", confirm).status, equals: 200)
    let tokens = try Tokens(pool.prove("BOB@example.com", "Bobs-own-1"))
    let claims = try TokenIssuer.claims(in: tokens.id)
    expect(claims["cognito:username"]?.text == sub && claims["sub"]?.text == sub)
    expect(
      pool.call("SignUp", Self.signUp("bob@example.com", "bob@example.com")).cognitoError,
      equals: "UsernameExistsException: User already exists")
    expect(
      pool.call("SignUp", Self.signUp("bob", "c@d.ef")).cognitoError,
      equals: "InvalidParameterException: Username should be an email.")
  }

  @Test func anAliasBelongsToOneUser() throws {
    var pool = try TestPool(["AliasAttributes": ["email"]])
    expect(try pool.prove("Alice@example.com").status, equals: 200)
    _ = pool.call("SignUp", Self.signUp("bob", "alice@example.com"))
    var confirm: [String: JSON] = [
      "Username": "bob", "ConfirmationCode": .string(try pool.code("bob")),
    ]
    expect(
      pool.call("ConfirmSignUp", confirm).cognitoError,
      equals: "AliasExistsException: An account with the email already exists.")
    expect(pool.call("ResendConfirmationCode", ["Username": "bob"]).status, equals: 200)
    confirm["ConfirmationCode"] = .string(try pool.code("bob"))
    confirm["ForceAliasCreation"] = true
    expect(pool.call("ConfirmSignUp", confirm).status, equals: 200)
    expect(try pool.prove("alice@example.com").cognitoError, equals: ProofTests.refused)
    expect(try pool.prove("alice@example.com", "Bobs-own-1").status, equals: 200)
    expect(
      pool.call("SignUp", Self.signUp("x@y.zz", "x@y.zz")).cognitoError.contains(
        "cannot be of email format"))
  }

  @Test func aConfirmedSignUpGoesOnToASignIn() throws {
    var pool = try TestPool()
    let signed = pool.call("SignUp", Self.signUp("bob", "b@c.de"))
    var input: [String: JSON] = [
      "Username": "bob", "ConfirmationCode": .string(try pool.code("bob")),
    ]
    input["Session"] = signed.json?["Session"]
    let confirmed = pool.call("ConfirmSignUp", input)
    let values = ["USERNAME": "bob"]
    expect(
      pool.start("USER_AUTH", values, session: signed.session).cognitoError,
      equals: ChallengeTests.used)
    expect(
      pool.start("USER_AUTH", ["USERNAME": "alice"], session: confirmed.session).cognitoError,
      equals: ChallengeTests.foreign)
    _ = try Tokens(pool.start("USER_AUTH", values, session: confirmed.session))
    expect(
      pool.start("USER_AUTH", values, session: confirmed.session).cognitoError,
      equals: ChallengeTests.used)
  }
}
