import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

struct STSTests {
  static func parameters(_ token: String, _ changes: [String: String] = [:]) -> [String: String] {
    let usual = [
      "RoleArn": TestSandbox.role, "RoleSessionName": "alice", "WebIdentityToken": token,
    ]
    return usual.merging(changes) { $1 }
  }

  @Test func assumesARole() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    let reply = test.sts(Self.parameters(token, ["DurationSeconds": "43200"]))
    expect(reply.status, equals: 200)
    expect(reply.header("Content-Type"), equals: "text/xml")
    for part in [
      "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">",
      "<Arn>arn:aws:sts::123456789012:assumed-role/credd-authenticated/alice</Arn>",
      "<Provider>cognito-identity.amazonaws.com</Provider>",
      "<Audience>\(TestSandbox.pool)</Audience>",
      "<Expiration>2015-09-23T06:08:03Z</Expiration>",
      "<SubjectFromWebIdentityToken>\(identity)</SubjectFromWebIdentityToken>",
      "<PackedPolicySize>0</PackedPolicySize>",
      "<SessionTokenUtilization>0</SessionTokenUtilization>",
      "<SessionTokenSize>896</SessionTokenSize>", "<Subject>sandbox-end-user</Subject>",
    ] {
      expect(reply.text.contains(part))
    }
  }

  @Test func takesTheTokenOfTheClassicFlow() throws {
    var test = try TestSandbox()
    let (identity, token) = test.token()
    let input: JSON = [
      "IdentityId": .string(identity),
      "Logins": .object([TestSandbox.cognito: .string(token)]),
    ]
    let classic = test.cognito("GetOpenIdToken", input).json?["Token"]?.text ?? ""
    test.now += 599
    expect(test.sts(Self.parameters(classic)).status, equals: 200)
    test.now += 1
    expect(test.sts(Self.parameters(classic)).text.contains("ExpiredTokenException"))
  }

  @Test(arguments: [
    (["RoleArn": "arn:aws:iam::123456789012:role/unknown"], 403, "AccessDenied"),
    (["RoleArn": "arn:aws:iam::123456789012:role/credd-guest"], 403, "AccessDenied"),
    (["WebIdentityToken": "abcd"], 400, "InvalidIdentityToken"),
    (["RoleSessionName": "a"], 400, "ValidationError"),
    (["RoleSessionName": "a b"], 400, "ValidationError"),
    (["DurationSeconds": "899"], 400, "ValidationError"),
    (["DurationSeconds": "43201"], 400, "ValidationError"),
    (["DurationSeconds": "soon"], 400, "ValidationError"),
    (["MinimumSessionTokenSize": "4097"], 400, "ValidationError"),
    (
      ["RoleArn": "arn:aws:iam::123456789012:role/credd-custom", "DurationSeconds": "3601"], 400,
      "ValidationError"
    ),
    (["Policy": "nope"], 400, "MalformedPolicyDocument"),
    (["PolicyArns.member.1.arn": "nope"], 400, "ValidationError"),
    (["ProviderId": "graph.facebook.com"], 400, "ValidationError"),
  ])
  func refuses(_ changes: [String: String], _ status: Int, _ code: String) throws {
    var test = try TestSandbox()
    let token = test.token().token
    let reply = test.sts(Self.parameters(token, changes))
    expect(reply.status, equals: status)
    expect(reply.text.contains("<Code>\(code)</Code>"))
  }

  @Test func escapesText() {
    expect(XMLElement("a", "<&>").text(), equals: "<a>&lt;&amp;&gt;</a>\n")
  }
}
