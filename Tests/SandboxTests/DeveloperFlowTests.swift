import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// The enhanced flow with developer tokens, and what Cognito says when it goes wrong.
struct DeveloperFlowTests {
  @Test func credentialsForADeveloperToken() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    let reply = test.credentials(identity, TestSandbox.cognito, token)
    let credentials = reply.json?["Credentials"]
    expect(reply.status, equals: 200)
    expect(reply.header("Content-Type"), equals: "application/x-amz-json-1.1")
    expect(reply.json?["IdentityId"]?.text, equals: identity)
    expect(credentials?["AccessKeyId"]?.text?.hasPrefix("ASIA") == true)
    expect(credentials?["AccessKeyId"]?.text?.utf8.count, equals: 20)
    expect(credentials?["SecretKey"]?.text?.utf8.count, equals: 40)
    expect(credentials?["SessionToken"]?.text?.utf8.count, equals: 896)
    expect(credentials?["Expiration"]?.number, equals: 1_442_948_883)
    expect(reply.text.contains("\"Expiration\":1.442948883E9"))
    let again = test.credentials(identity, TestSandbox.cognito, token).json?["Credentials"]
    expect(again?["AccessKeyId"] != credentials?["AccessKeyId"])
  }

  @Test func theIdentityOfAUserIsStable() throws {
    var test = try TestSandbox()
    expect(test.token("alice").identity, equals: test.token("alice").identity)
    expect(test.token("alice").identity != test.token("bob").identity)
  }

  @Test func anIdentityIsDescribedToDevelopersAlone() throws {
    var test = try TestSandbox()
    let identity: JSON = ["IdentityId": .string(test.token().identity)]
    let developer = SignatureV4.Signer(accessKeyID: "AKIA", region: "us-east-1")
    let input = try CognitoInput(identity.bytes)
    let output = try test.sandbox.state.describeIdentity(input, signed: developer)
    expect(output["Logins"], equals: ["login.example.app"])
    expect(
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
    expect(claims["sub"]?.text, equals: identity)
    expect(claims["aud"]?.text, equals: TestSandbox.pool)
    expect(claims["iss"]?.text, equals: "https://cognito-identity.amazonaws.com")
    expect(claims["exp"]?.integer, equals: 1_442_945_283 + 900)
    expect(
      claims["amr"],
      equals: [
        "authenticated", "login.example.app",
        "login.example.app:\(TestSandbox.pool):alice",
      ])
  }

  @Test func anExpiredTokenIsRefusedToTheSecond() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    test.now += 899
    expect(test.credentials(identity, TestSandbox.cognito, token).status, equals: 200)
    test.now += 1
    let reply = test.credentials(identity, TestSandbox.cognito, token)
    expect(reply.status, equals: 400)
    expect(reply.header("x-amzn-ErrorType"), equals: "NotAuthorizedException:")
    expect(
      reply.cognitoError,
      equals: "NotAuthorizedException: Invalid login token. Token expired: 1442946183 >= 1442946183"
    )
  }

  @Test func anotherUsersTokenIsForbidden() throws {
    var test = try TestSandbox()
    let alice = test.token("alice")
    let bob = test.token("bob")
    expect(
      test.credentials(alice.identity, TestSandbox.cognito, bob.token).cognitoError,
      equals: "NotAuthorizedException: Access to Identity '\(alice.identity)' is forbidden.")
  }

  @Test func noLoginsForASignedInIdentityIsForbidden() throws {
    var test = try TestSandbox { $0.pools[0].allowsGuests = true }
    let identity = test.token().identity
    expect(
      test.cognito("GetCredentialsForIdentity", ["IdentityId": .string(identity)]).cognitoError,
      equals: "NotAuthorizedException: Access to Identity '\(identity)' is forbidden.")
  }

  @Test func aForgedTokenIsRefused() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    let forged = token.dropLast(8) + "AAAAAAAA"
    expect(
      test.credentials(identity, TestSandbox.cognito, String(forged)).cognitoError,
      equals: "NotAuthorizedException: Invalid login token. Couldn't verify signed token.")
    expect(
      test.credentials(identity, TestSandbox.cognito, "word").cognitoError,
      equals: "NotAuthorizedException: Invalid login token. Not a Cognito token.")
  }

  @Test func aRevokedTokenIsRefusedAndALaterOneIsNot() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    expect(
      test.send("POST", "/control/revoke", ["IdentityId": .string(identity)]).status, equals: 200)
    expect(
      test.credentials(identity, TestSandbox.cognito, token).cognitoError,
      equals: "NotAuthorizedException: Invalid login token. Couldn't verify signed token.")
    let later = test.token().token
    expect(test.credentials(identity, TestSandbox.cognito, later).status, equals: 200)
  }

  @Test func getIDTakesNoCognitoToken() throws {
    var test = try TestSandbox()
    let token = test.token().token
    let input: JSON = [
      "IdentityPoolId": .string(TestSandbox.pool),
      "Logins": .object([TestSandbox.cognito: .string(token)]),
    ]
    expect(
      test.cognito("GetId", input).cognitoError,
      equals: "NotAuthorizedException: Invalid login token. Can't pass in a Cognito token.")
  }

  @Test func aPoolWithoutARoleIsMisconfigured() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    expect(test.send("POST", "/control/pool", ["RemoveRoles": true]).status, equals: 200)
    expect(
      test.credentials(identity, TestSandbox.cognito, token).cognitoError,
      equals: "InvalidIdentityPoolConfigurationException: Invalid identity pool configuration. "
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
    expect(issued?["RoleArn"]?.text, equals: allowed)
    expect(issued?["IdentityId"]?.text, equals: identity)
    expect(
      test.cognito("GetCredentialsForIdentity", input(TestSandbox.role)).cognitoError,
      equals: "NotAuthorizedException: Access to Role '\(TestSandbox.role)' is forbidden.")
  }

  @Test func aDeletedIdentityIsNotFound() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    expect(test.send("DELETE", "/control/identity?IdentityId=" + identity).status, equals: 200)
    expect(
      test.credentials(identity, TestSandbox.cognito, token).cognitoError,
      equals: "ResourceNotFoundException: Identity '\(identity)' not found.")
    expect(test.token().identity != identity)
  }
}
