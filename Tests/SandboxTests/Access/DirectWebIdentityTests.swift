import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// AssumeRoleWithWebIdentity for ID tokens of providers that IAM knows.
struct DirectWebIdentityTests {
  private static let pools = "arn:aws:iam::123456789012:role/credd-direct"
  private static let own = "arn:aws:iam::123456789012:role/own"
  private static let policy =
    #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}}"#

  private static func call(_ role: String, _ token: String, _ more: [String: String] = [:])
    -> [String: String]
  {
    STSTests.parameters(token, ["RoleArn": role].merging(more) { $1 })
  }

  /// A provider that IAM knows, and a role that trusts one user of it for two hours.
  private func provider() throws -> TestProvider {
    var provider = try TestProvider()
    for (path, body) in [
      (
        "openid-provider",
        ["Url": "http://127.0.0.1:4599/oidc", "ClientIDList": ["sandbox-public"]] as JSON
      ),
      (
        "role",
        [
          "Arn": .string(Self.own), "MaximumSessionDuration": 7200,
          "OpenIDConnect": [
            [
              "Provider": "127.0.0.1:4599/oidc", "Audiences": ["sandbox-public"],
              "Subjects": ["sandbox|al*"],
            ]
          ],
        ]
      ),
    ] {
      let reply = provider.sandbox.send("POST", "/control/" + path, body)
      expect(reply.status, equals: 200, "\(reply.text)")
    }
    return provider
  }

  private func idToken(_ provider: inout TestProvider) throws -> String {
    try #require(try provider.signIn().reply.json?["id_token"]?.text)
  }

  @Test func aUserOfTheProviderGetsTheRole() throws {
    var provider = try provider()
    let token = try idToken(&provider)
    let reply = provider.sandbox.sts(
      Self.call(Self.own, token, ["DurationSeconds": "7200", "Policy": Self.policy]))
    expect(reply.status, equals: 200, "\(reply.text)")
    for part in [
      "<Arn>arn:aws:sts::123456789012:assumed-role/own/alice</Arn>",
      "<Provider>arn:aws:iam::123456789012:oidc-provider/127.0.0.1:4599/oidc</Provider>",
      "<Audience>sandbox-public</Audience>",
      "<SubjectFromWebIdentityToken>sandbox|alice</SubjectFromWebIdentityToken>",
      "<Expiration>2015-09-22T20:08:03Z</Expiration>",
    ] {
      expect(reply.text.contains(part), "\(part)")
    }
    let issued = provider.sandbox.send("GET", "/control/issued?AccessKeyId=\(reply.key.id)").json
    expect(issued?["RoleSessionName"]?.text, equals: "alice")
    expect(issued?["Logins"]?["127.0.0.1:4599/oidc"], equals: ["sandbox|alice"])
    expect(provider.sandbox.may("s3:GetObject", "arn:aws:s3:::b/k", by: reply.key), equals: true)
    expect(provider.sandbox.may("s3:PutObject", "arn:aws:s3:::b/k", by: reply.key), equals: false)
  }

  @Test(arguments: [
    (["RoleArn": pools], "AccessDenied"),
    (["RoleArn": TestSandbox.role], "AccessDenied"),
    (["RoleArn": "arn:aws:iam::210987654321:role/own"], "No OpenIDConnect provider found"),
    (["DurationSeconds": "7201"], "exceeds the MaxSessionDuration"),
    (["DurationSeconds": "899"], "ValidationError"),
    (["RoleSessionName": "a b"], "ValidationError"),
    (["Policy": "nope"], "MalformedPolicyDocument"),
    (["ProviderId": "graph.facebook.com"], "ValidationError"),
  ])
  func theRestIsRefused(_ changes: [String: String], _ said: String) throws {
    var provider = try provider()
    let reply = provider.sandbox.sts(Self.call(Self.own, try idToken(&provider), changes))
    expect(reply.status >= 400 && reply.text.contains(said), "\(reply.text)")
  }

  @Test func theTrustsUsersAloneMayComeIn() throws {
    var provider = try provider()
    provider.control("", ["SignedInAs": "bob"])
    let reply = provider.sandbox.sts(Self.call(Self.own, try idToken(&provider)))
    expect(reply.status, equals: 403)
    expect(reply.text.contains("Not authorized to perform sts:AssumeRoleWithWebIdentity"))
  }

  @Test(arguments: [
    ("Audience", "Incorrect token audience"), ("AuthorizedParty", "Incorrect token audience"),
    ("Issuer", "No OpenIDConnect provider found in your account for https://evil.example/"),
    ("Expired", "ExpiredTokenException"), ("Unsigned", "InvalidIdentityToken"),
    ("Symmetric", "Couldn't verify signed token"),
  ])
  func aTokenThatLiesIsRefused(_ lie: String, _ said: String) throws {
    var provider = try provider()
    provider.control("", .object([lie: 1]))
    let reply = provider.sandbox.sts(Self.call(Self.own, try idToken(&provider)))
    expect(reply.text.contains(said), "\(lie): \(reply.text)")
  }

  @Test func theUserPoolIsAProviderToo() throws {
    var pool = try TestPool()
    let tokens = try pool.tokens()
    let reply = pool.test.sts(Self.call(Self.pools, tokens.id))
    expect(reply.status, equals: 200, "\(reply.text)")
    expect(
      pool.test.sts(Self.call(Self.pools, tokens.access)).text.contains(
        "Missing a required claim: aud"))
    pool.test.now += 3600
    expect(pool.test.sts(Self.call(Self.pools, tokens.id)).text.contains("ExpiredTokenException"))
    // IAM knows the pool by one issuer.
    try pool.control("", ["IssuerConfiguration": ["Type": "UPDATED"]])
    let updated = try pool.tokens().id
    expect(
      pool.test.sts(Self.call(Self.pools, updated)).text.contains(
        "No OpenIDConnect provider found in your account for https://issuer-cognito-idp."))
  }

  @Test(
    arguments: [
      ["Url": "ftp://x", "ClientIDList": ["c"]], ["Url": "http://x", "ClientIDList": ["c"]],
      ["Url": "https://x"], ["Url": "https://x", "ClientIDList": ["c"], "Else": 1],
    ] as [JSON])
  func aProviderNeedsAURLAndAClient(_ body: JSON) throws {
    var test = try TestSandbox()
    expect(test.send("POST", "/control/openid-provider", body).status, equals: 400)
  }

  @Test func aSeedHasProvidersAndTheirRoles() throws {
    let seed = try SandboxSeed(
      json: Array(
        #"""
        {"OpenIDConnectProviders":[{"Url":"https://example.okta.com/","ClientIDList":["c"],
         "Account":"210987654321"}],
         "Roles":[{"Arn":"arn:aws:iam::210987654321:role/r","OpenIDConnect":[
          {"Provider":"example.okta.com","Audiences":["c"]}]}]}
        """#.utf8))
    let known = { seed.openIDProviders.provider(ofIssuer: $0, in: $1)?.name }
    expect(known("https://example.okta.com", "210987654321"), equals: "example.okta.com")
    expect(known("https://example.okta.com", "123456789012"), equals: nil)
    expect(seed.roles.first?.trust.openID.first?.audiences, equals: ["c"])
  }
}
