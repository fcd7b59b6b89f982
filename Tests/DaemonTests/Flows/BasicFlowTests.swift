import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// `flow = basic`: STS's AssumeRoleWithWebIdentity.
@Suite(.onStage)
struct BasicFlowTests {
  private static func keys(_ sandbox: Sandbox, role: String = "authenticated") -> String {
    """
    flow = basic
    sts_endpoint = \(sandbox.url)
    role_arn = \(Configuration.role(role))

    """
  }

  private func host(_ keys: String) throws -> TestHost {
    try TestHost { Configuration.usual($0, profile: Self.keys($0) + keys) }
  }

  @Test
  func basicFlowAssumesTheRoleAsConfigured() throws {
    let policy = #"{"Version":"2012-10-17","Statement":[]}"#
    let file = try Stage.current().newFile("policy.json")
    try Data(policy.utf8).write(to: URL(filePath: file))
    let arns = ["ReadOnlyAccess", "AmazonS3ReadOnlyAccess"].map { "arn:aws:iam::aws:policy/" + $0 }
    let host = try host(
      """
      role_session_name = credd-{uid}
      duration = 2h
      policy_file = \(file)
      policy_arns = \(arns.joined(separator: " "))
      """)
    let credentials = try host.credentials()
    expect(credentials["AccountId"]?.text, equals: Configuration.account)
    let lifetime = try #require(credentials["Expiration"]?.text?.timeFromNow)
    expect((7100...7201).contains(lifetime))
    // What STS says of the end user.
    expect(!host.log.contains("sandbox-end-user") && !"\(credentials)".contains("sandbox-end-user"))
    let form = try host.sandbox.lastForm("AssumeRoleWithWebIdentity")
    expect(form["RoleArn"], equals: Configuration.role("authenticated"))
    expect(form["RoleSessionName"], equals: "credd-\(getuid())")
    expect(form["DurationSeconds"], equals: "7200")
    expect(form["Policy"], equals: policy)
    expect(form["PolicyArns.member.1.arn"], equals: arns[0])
    expect(form["PolicyArns.member.2.arn"], equals: arns[1])
    let token = try host.ask(#"{"op":"token"}"#)
    expect(form["WebIdentityToken"], equals: token["Token"]?.text)
    let issued = try host.issued(credentials)
    expect(issued["IdentityId"], equals: token["IdentityId"])
    expect(issued["RoleArn"]?.text, equals: Configuration.role("authenticated"))
    expect(try host.sandbox.callbacks, equals: 1)
    expect(try host.sandbox.exchanges, equals: 0)
  }

  @Test(arguments: [("15m", 900), ("12h", 43_200)])
  func longestAndShortestDurationAreGranted(_ written: String, _ seconds: Int) throws {
    let host = try host("duration = \(written)")
    let lifetime = try #require(host.credentials()["Expiration"]?.text?.timeFromNow)
    expect((Double(seconds) - 60...Double(seconds) + 1).contains(lifetime))
  }

  @Test
  func durationThatTheRoleForbidsIsForTheOperator() throws {
    let host = try TestHost {
      Configuration.direct(
        $0, "default", "guest = yes\n" + Self.keys($0, role: "guest") + "duration = 2h")
    }
    try host.sandbox.control("POST", "pool", #"{"Unauthenticated":true}"#)
    let refused = try host.ask()
    expect(refused.errorCode, equals: "PoolMisconfigured")
    expect(refused.errorMessage?.contains("duration") == true)
  }

  @Test
  func guestsAndSocialLoginsGoByGetOpenIdToken() throws {
    let host = try TestHost(sandbox: ["--unauthenticated"]) {
      Configuration.direct($0, "visitor", "guest = yes\n" + Self.keys($0, role: "guest"))
        + Configuration.direct($0, "social", Self.keys($0))
    }
    let google = try host.sandbox.token(of: "accounts.google.com", "g1")
    expect(try host.logIn(["accounts.google.com": google], profile: "social")["Error"] == nil)
    for (profile, role) in [("visitor", "guest"), ("social", "authenticated")] {
      let credentials = try host.credentials(profile)
      expect(credentials["AccountId"]?.text, equals: Configuration.account)
      let issued = try host.issued(credentials)
      expect(issued["RoleArn"]?.text, equals: Configuration.role(role))
      expect(issued["IdentityId"]?.text, equals: try host.identity(profile))
    }
    for operation in ["cognito.GetId", "cognito.GetOpenIdToken", "sts.AssumeRoleWithWebIdentity"] {
      expect(try host.sandbox.calls(operation), equals: 2)
    }
    expect(try host.sandbox.exchanges, equals: 0)
  }

  @Test
  func tokenThatSTSRefusesIsReplacedOnce() throws {
    let host = try host("")
    try host.sandbox.plan(#"{"Service":"sts","Kind":"expiredToken"}"#)
    expect(try host.credentials()["AccountId"] != nil)
    expect(try host.sandbox.callbacks, equals: 2)
  }

  // MARK: A custom role in the enhanced flow

  @Test
  func roleOfTheProfileIsTheCustomRole() throws {
    let host = try TestHost {
      Configuration.usual($0, profile: "role_arn = \(Configuration.role("custom"))")
    }
    let credentials = try host.credentials()
    expect(try host.issued(credentials)["RoleArn"]?.text, equals: Configuration.role("custom"))
    expect(
      try host.sandbox.lastBody("GetCredentialsForIdentity")["CustomRoleArn"]?.text,
      equals: Configuration.role("custom"))
  }

  @Test
  func loginChoosesAmongTheRolesOfAnAssertion() throws {
    let host = try TestHost { Configuration.direct($0) }
    let provider = "arn:aws:iam::123456789012:saml-provider/sandbox"
    let roles = ["custom", "authenticated"].map(Configuration.role)
    let assertion = try host.sandbox.token(
      of: provider, "saml-user", #","Roles":["\#(roles[0])","\#(roles[1])"]"#)
    let file = try Stage.current().newFile("assertion")
    try Data((assertion + "\n").utf8).write(to: URL(filePath: file))
    let signedIn = try host.credctl(
      "login", "--login", "\(provider)=@\(file)", "--custom-role-arn", roles[0])
    expect(signedIn.status, equals: 0, "\(signedIn)")
    expect(signedIn.output.contains("default signedIn us-east-1:"))
    expect(try host.issued(host.credentials())["RoleArn"]?.text, equals: roles[0])
    // A role that the assertion does not carry is the user's mistake, and nothing changes.
    let stranger = Configuration.role("stranger")
    let refused = try host.credctl(
      "login", "--login", "\(provider)=@\(file)", "--custom-role-arn", stranger)
    expect(refused.status, equals: 77)
    expect(refused.errors.contains("check custom_role_arn"), "\(refused.errors)")
    expect(!refused.errors.contains("administrator"), "\(refused.errors)")
    expect(try host.issued(host.credentials())["RoleArn"]?.text, equals: roles[0])
  }
}
