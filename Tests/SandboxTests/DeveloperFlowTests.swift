import FoundationEssentials
import Testing

@testable import SandboxKit

/// The enhanced flow with developer tokens, and what Cognito says when it goes wrong.
struct DeveloperFlowTests {
  @Test func credentialsForADeveloperToken() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    let reply = test.credentials(identity, TestSandbox.cognito, token)
    let credentials = reply.json?["Credentials"]
    #expect(reply.status == 200)
    #expect(reply.header("Content-Type") == "application/x-amz-json-1.1")
    #expect(reply.json?["IdentityId"]?.text == identity)
    #expect(credentials?["AccessKeyId"]?.text?.hasPrefix("ASIA") == true)
    #expect(credentials?["AccessKeyId"]?.text?.utf8.count == 20)
    #expect(credentials?["SecretKey"]?.text?.utf8.count == 40)
    #expect(credentials?["SessionToken"]?.text?.utf8.count == 896)
    #expect(credentials?["Expiration"]?.number == 1_442_948_883)
    #expect(reply.text.contains("\"Expiration\":1.442948883E9"))
    let again = test.credentials(identity, TestSandbox.cognito, token).json?["Credentials"]
    #expect(again?["AccessKeyId"] != credentials?["AccessKeyId"])
  }

  @Test func theIdentityOfAUserIsStable() throws {
    var test = try TestSandbox()
    #expect(test.token("alice").identity == test.token("alice").identity)
    #expect(test.token("alice").identity != test.token("bob").identity)
  }

  @Test func anIdentityIsDescribedToDevelopersAlone() throws {
    var test = try TestSandbox()
    let identity: JSON = ["IdentityId": .string(test.token().identity)]
    let developer = SignatureV4.Signer(accessKeyID: "AKIA", region: "us-east-1")
    let input = try CognitoInput(identity.bytes)
    let output = try test.sandbox.state.describeIdentity(input, signed: developer)
    #expect(output["Logins"] == ["login.example.app"])
    #expect(
      test.cognito("DescribeIdentity", identity).cognitoError.hasPrefix(
        "MissingAuthenticationTokenException"))
    let unknown: JSON = ["IdentityId": "us-east-1:00"]
    #expect(throws: ServiceError.self) {
      try test.sandbox.state.describeIdentity(CognitoInput(unknown.bytes), signed: developer)
    }
    let elsewhere = SignatureV4.Signer(accessKeyID: "AKIA", region: "eu-west-1")
    #expect(throws: ServiceError.self) {
      try test.sandbox.state.describeIdentity(input, signed: elsewhere)
    }
  }

  @Test func tokenClaims() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    let claims = try TokenIssuer.claims(in: token)
    #expect(claims["sub"]?.text == identity)
    #expect(claims["aud"]?.text == TestSandbox.pool)
    #expect(claims["iss"]?.text == "https://cognito-identity.amazonaws.com")
    #expect(claims["exp"]?.integer == 1_442_945_283 + 900)
    #expect(
      claims["amr"] == [
        "authenticated", "login.example.app",
        "login.example.app:\(TestSandbox.pool):alice",
      ])
  }

  @Test func anExpiredTokenIsRefusedToTheSecond() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    test.now += 899
    #expect(test.credentials(identity, TestSandbox.cognito, token).status == 200)
    test.now += 1
    let reply = test.credentials(identity, TestSandbox.cognito, token)
    #expect(reply.status == 400)
    #expect(reply.header("x-amzn-ErrorType") == "NotAuthorizedException:")
    #expect(
      reply.cognitoError
        == "NotAuthorizedException: Invalid login token. Token expired: 1442946183 >= 1442946183")
  }

  @Test func anotherUsersTokenIsForbidden() throws {
    var test = try TestSandbox()
    let alice = test.token("alice")
    let bob = test.token("bob")
    #expect(
      test.credentials(alice.identity, TestSandbox.cognito, bob.token).cognitoError
        == "NotAuthorizedException: Access to Identity '\(alice.identity)' is forbidden.")
  }

  @Test func noLoginsForASignedInIdentityIsForbidden() throws {
    var test = try TestSandbox { $0.pools[0].allowsGuests = true }
    let identity = test.token().identity
    #expect(
      test.cognito("GetCredentialsForIdentity", ["IdentityId": .string(identity)]).cognitoError
        == "NotAuthorizedException: Access to Identity '\(identity)' is forbidden.")
  }

  @Test func aForgedTokenIsRefused() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    let forged = token.dropLast(8) + "AAAAAAAA"
    #expect(
      test.credentials(identity, TestSandbox.cognito, String(forged)).cognitoError
        == "NotAuthorizedException: Invalid login token. Couldn't verify signed token.")
    #expect(
      test.credentials(identity, TestSandbox.cognito, "word").cognitoError
        == "NotAuthorizedException: Invalid login token. Not a Cognito token.")
  }

  @Test func aRevokedTokenIsRefusedAndALaterOneIsNot() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    #expect(test.send("POST", "/control/revoke", ["IdentityId": .string(identity)]).status == 200)
    #expect(
      test.credentials(identity, TestSandbox.cognito, token).cognitoError
        == "NotAuthorizedException: Invalid login token. Couldn't verify signed token.")
    let later = test.token().token
    #expect(test.credentials(identity, TestSandbox.cognito, later).status == 200)
  }

  @Test func getIDTakesNoCognitoToken() throws {
    var test = try TestSandbox()
    let token = test.token().token
    let input: JSON = [
      "IdentityPoolId": .string(TestSandbox.pool),
      "Logins": .object([TestSandbox.cognito: .string(token)]),
    ]
    #expect(
      test.cognito("GetId", input).cognitoError
        == "NotAuthorizedException: Invalid login token. Can't pass in a Cognito token.")
  }

  @Test func aPoolWithoutARoleIsMisconfigured() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    #expect(test.send("POST", "/control/pool", ["RemoveRoles": true]).status == 200)
    #expect(
      test.credentials(identity, TestSandbox.cognito, token).cognitoError
        == "InvalidIdentityPoolConfigurationException: Invalid identity pool configuration. "
        + "Check assigned IAM roles for this pool.")
  }

  @Test func anotherRoleMustBeAllowed() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    func input(_ role: String) -> JSON {
      [
        "IdentityId": .string(identity), "CustomRoleArn": .string(role),
        "Logins": .object([TestSandbox.cognito: .string(token)]),
      ]
    }
    let allowed = "arn:aws:iam::123456789012:role/credd-custom"
    let reply = test.cognito("GetCredentialsForIdentity", input(allowed))
    let key = reply.json?["Credentials"]?["AccessKeyId"]?.text ?? ""
    let issued = test.send("GET", "/control/issued?AccessKeyId=" + key).json
    #expect(issued?["RoleArn"]?.text == allowed)
    #expect(issued?["IdentityId"]?.text == identity)
    #expect(
      test.cognito("GetCredentialsForIdentity", input(TestSandbox.role)).cognitoError
        == "NotAuthorizedException: Access to Role '\(TestSandbox.role)' is forbidden.")
  }

  @Test func aDeletedIdentityIsNotFound() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    #expect(test.send("DELETE", "/control/identity?IdentityId=" + identity).status == 200)
    #expect(
      test.credentials(identity, TestSandbox.cognito, token).cognitoError
        == "ResourceNotFoundException: Identity '\(identity)' not found.")
    #expect(test.token().identity != identity)
  }
}
