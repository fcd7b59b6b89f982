import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// Public providers: sign-in, linking, guests.
struct SocialLoginTests {
  static let google = "accounts.google.com"
  static let providers = [
    google, "graph.facebook.com", "www.amazon.com",
    "cognito-idp.us-east-1.amazonaws.com/us-east-1_Sandbox",
    "arn:aws:iam::123456789012:saml-provider/sandbox",
  ]

  static func getID(_ logins: [String: String]) -> JSON {
    [
      "IdentityPoolId": .string(TestSandbox.pool),
      "Logins": .object(logins.mapValues { .string($0) }),
    ]
  }

  @Test(arguments: providers)
  func signsIn(_ provider: String) throws {
    var test = try TestSandbox()
    let token = test.social(provider, "s")
    let identity = test.cognito("GetId", Self.getID([provider: token])).json?["IdentityId"]?.text
    let id = try #require(identity)
    expect(test.credentials(id, provider, token).json?["IdentityId"]?.text, equals: id)
    let later = test.social(provider, "s")
    expect(
      test.cognito("GetId", Self.getID([provider: later])).json?["IdentityId"]?.text, equals: id)
    test.now += 3600
    expect(
      test.credentials(id, provider, token).cognitoError,
      equals: "NotAuthorizedException: Invalid login token. Token expired: 1442948883 >= 1442948883"
    )
  }

  @Test func aLoginOfAnotherIdentityDoesNotMatch() throws {
    var test = try TestSandbox()
    let alice = test.token().identity
    let token = test.social(Self.google, "stranger")
    expect(
      test.credentials(alice, Self.google, token).cognitoError,
      equals: "NotAuthorizedException: Logins don't match. Please include at least one valid login "
        + "for this identity or identity pool.")
  }

  @Test func theIssuerMustBeTheProvider() throws {
    var test = try TestSandbox()
    let token = test.social("appleid.apple.com", "s")
    expect(
      test.cognito("GetId", Self.getID([Self.google: token])).cognitoError,
      equals: "NotAuthorizedException: Invalid login token. Issuer doesn't match providerName")
  }

  @Test func aProviderMustBeConfigured() throws {
    var test = try TestSandbox()
    expect(
      test.cognito("GetId", Self.getID(["idp.example": "t"])).cognitoError,
      equals:
        "NotAuthorizedException: Token is not from a supported provider of this identity pool.")
    expect(
      test.cognito("GetId", Self.getID([TestSandbox.provider: "alice"])).cognitoError,
      equals: "InvalidParameterException: Please provide a valid public provider")
  }

  @Test func guestsOnlyWhereThePoolAllowsThem() throws {
    var test = try TestSandbox()
    let input: JSON = ["IdentityPoolId": .string(TestSandbox.pool)]
    expect(
      test.cognito("GetId", input).cognitoError,
      equals:
        "NotAuthorizedException: Unauthenticated access is not supported for this identity pool."
    )
    expect(test.send("POST", "/control/pool", ["Unauthenticated": true]).status, equals: 200)
    let guest = try #require(test.cognito("GetId", input).json?["IdentityId"])
    expect(test.cognito("GetCredentialsForIdentity", ["IdentityId": guest]).status, equals: 200)
  }

  @Test func aGuestThatSignsInBecomesTheKnownIdentity() throws {
    var test = try TestSandbox { $0.pools[0].allowsGuests = true }
    let token = test.social(Self.google, "s")
    let known = test.cognito("GetId", Self.getID([Self.google: token])).json?["IdentityId"]
    let guest = test.cognito("GetId", Self.getID([:])).json?["IdentityId"]?.text ?? ""
    expect(test.credentials(guest, Self.google, token).json?["IdentityId"], equals: known)
    expect(guest != known?.text)
  }

  @Test func aSAMLAssertionCarriesRoles() throws {
    var test = try TestSandbox()
    let provider = Self.providers[4]
    let role = "arn:aws:iam::123456789012:role/from-saml"
    let made = test.send(
      "POST", "/control/social-token",
      ["Provider": .string(provider), "Subject": "s", "Roles": [.string(role)]])
    let token = made.json?["Token"]?.text ?? ""
    let identity = test.cognito("GetId", Self.getID([provider: token])).json?["IdentityId"]
    var input: [String: JSON] = [
      "IdentityId": identity ?? .null, "Logins": .object([provider: .string(token)]),
    ]
    input["CustomRoleArn"] = .string(role)
    expect(test.cognito("GetCredentialsForIdentity", .object(input)).status, equals: 200)
    input["CustomRoleArn"] = .string(role + "2")
    expect(test.cognito("GetCredentialsForIdentity", .object(input)).status, equals: 400)
  }
}
