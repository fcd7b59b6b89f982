import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// `flow = direct` through the real programs: STS takes the ID tokens of a provider and of a user pool.
@Suite(.onStage)
struct DirectFlowTests {
  private static let role = "arn:aws:iam::123456789012:role/credd-direct"

  @Test func aUserPoolsTokenIsEnough() throws {
    let host = try TestHost { sandbox in
      """
      [backend staff]
      type = user-pool
      user_pool_id = us-east-1_Sandbox
      client_id = \(UserPoolHost.client)
      user_pool_endpoint = \(sandbox.url)
      timeout = 60s
      [profile default]
      backend = staff
      flow = direct
      region = us-east-1
      role_arn = \(Self.role)
      role_session_name = {claim.email}
      duration = 2h
      sts_endpoint = \(sandbox.url)

      """
    }
    expect(try host.get().status, equals: 77)
    let login = try host.credctl(
      input: UserPoolHost.password, "login", "--username", "alice", "--password-stdin")
    expect(login.status == 0, "\(login)")
    let credentials = try host.credentials()
    expect(credentials["AccountId"]?.text, equals: "123456789012")
    let issued = try host.issued(credentials)
    expect(issued["RoleArn"]?.text, equals: Self.role)
    expect(issued["RoleSessionName"]?.text, equals: "alice@example.com")
    expect(issued["IdentityId"]?.text, equals: "")
    // The ID token is new.
    let renewed = try host.credentials(refresh: true)
    expect(renewed["AccessKeyId"]?.text != credentials["AccessKeyId"]?.text)
    expect(try host.sandbox.calls("cognito.GetId"), equals: 0)
    let identity = try host.credctl("identity")
    expect(
      identity.status == 0 && identity.output.contains("role credd-direct of 123456789012"),
      "\(identity)")
    let check = try host.credctl("check")
    expect(check.status == 0 && check.output.contains("sts"), "\(check)")
    expect(try host.credctl("logout").status, equals: 0)
    expect(try host.get().status, equals: 77)
  }

  @Test func aBrowserSignsInWithoutAnIdentityPool() throws {
    let host = try ProviderHost(direct: "role_session_name = {user}@{claim.sub}", role: Self.role)
    let sandbox = host.host.sandbox
    try host.trust("sandbox|bob", with: Self.role)
    // The name has a character that STS does not take.
    let refused = try host.signIn()
    expect(refused.errorCode, equals: "AccessDenied", "\(refused)")
    expect(try sandbox.calls("sts.AssumeRoleWithWebIdentity"), equals: 0)
    let path = host.host.configurationPath
    let text = try String(contentsOfFile: path, encoding: .utf8)
    try host.host.configure { _ in text.replacing("{claim.sub}", with: "{claim.email}") }
    try host.host.reload()
    // The role trusts another user.
    let denied = try host.signIn()
    expect(denied.errorCode, equals: "PoolMisconfigured", "\(denied)")
    expect("\(denied)".contains("trust policy"), "\(denied)")
    try host.trust("sandbox|alice", with: Self.role)
    expect(try host.signIn().state, equals: "signedIn")
    let issued = try host.host.issued(try host.host.credentials())
    expect(issued["RoleSessionName"]?.text?.hasSuffix("@alice@example.com") ?? false, "\(issued)")
    expect(
      issued["Logins"]?["127.0.0.1:\(sandbox.port)/oidc"],
      equals: .array([.string("sandbox|alice")]), "\(issued)")
  }
}
