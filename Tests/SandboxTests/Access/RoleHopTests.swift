import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

struct RoleHopTests {
  static let reports = "arn:aws:iam::123456789012:role/credd-reports"
  static let partner = "arn:aws:iam::210987654321:role/credd-partner"

  static func hop(_ role: String, _ changes: [String: String] = [:]) -> [String: String] {
    ["RoleArn": role, "RoleSessionName": "alice"].merging(changes) { $1 }
  }

  @Test func aTrustedSessionAssumesARole() throws {
    var test = try TestSandbox()
    let parameters = Self.hop(
      Self.reports,
      [
        "Policy": ScopedCredentialTests.policy, "Tags.member.1.Key": "unit",
        "Tags.member.1.Value": "report.service", "TransitiveTagKeys.member.1": "unit",
        "SourceIdentity": "alice",
      ])
    let reply = test.sts("AssumeRole", parameters, by: test.key())
    expect(reply.status, equals: 200)
    expect(
      reply.element("Arn"), equals: "arn:aws:sts::123456789012:assumed-role/credd-reports/alice")
    expect(reply.element("Expiration"), equals: "2015-09-22T19:08:03Z")
    expect(reply.element("SourceIdentity"), equals: "alice")
    let issued = test.send("GET", "/control/issued?AccessKeyId=\(reply.key.id)").json
    expect(issued?["RoleArn"]?.text, equals: Self.reports)
    expect(issued?["Tags"]?["unit"]?.text, equals: "report.service")
    let mine = "arn:aws:s3:::bucket/reports/1"
    expect(test.may("s3:GetObject", mine, by: reply.key), equals: true)
    expect(test.may("s3:PutObject", mine, by: reply.key), equals: false)
  }

  @Test func anotherAccountsRoleReadsThatAccountsBucket() throws {
    var test = try TestSandbox()
    let key = test.key()
    _ = test.send(
      "POST", "/control/bucket", ["Bucket": "theirs", "Account": "210987654321"])
    expect(test.s3("PUT", "/theirs/1", "x", by: key).xmlError, equals: "403 AccessDenied")
    expect(
      test.sts("AssumeRole", Self.hop(Self.partner), by: key).xmlError,
      equals: "403 AccessDenied")
    let hop = Self.hop(Self.partner, ["ExternalId": "sandbox-external-id"])
    let partner = test.sts("AssumeRole", hop, by: key).key
    expect(test.s3("PUT", "/theirs/1", "x", by: partner).status, equals: 200)
    expect(test.s3("GET", "/theirs/1", by: partner).text, equals: "x")
  }

  @Test(arguments: [
    (["DurationSeconds": "3601"], "400 ValidationError"),
    (["DurationSeconds": "899"], "400 ValidationError"),
    (["RoleSessionName": "a b"], "400 ValidationError"),
    (["ExternalId": "a"], "400 ValidationError"),
    (["SourceIdentity": "aws:x"], "400 ValidationError"),
    (["SourceIdentity": String(repeating: "s", count: 257)], "400 ValidationError"),
    (["Tags.member.1.Key": "a"], "400 ValidationError"),
    (["PolicyArns.member.1.arn": "arn:aws:iam::123456789012:policy/team"], "400 ValidationError"),
    (
      [
        "Tags.member.1.Key": "a", "Tags.member.1.Value": "1", "Tags.member.2.Key": "A",
        "Tags.member.2.Value": "2",
      ], "400 InvalidParameterValue"
    ),
    (["RoleArn": "arn:aws:iam::123456789012:role/credd-custom"], "403 AccessDenied"),
    (["RoleArn": "arn:aws:iam::123456789012:role/nobody"], "403 AccessDenied"),
  ])
  func refuses(_ changes: [String: String], _ error: String) throws {
    var test = try TestSandbox()
    let reply = test.sts("AssumeRole", Self.hop(Self.reports, changes), by: test.key())
    expect(reply.xmlError, equals: error)
  }

  @Test func tagsAndSourceIdentityMustBeTrusted() throws {
    var test = try TestSandbox()
    let key = test.key()
    let external = ["ExternalId": "sandbox-external-id"]
    let tags = ["Tags.member.1.Key": "a", "Tags.member.1.Value": "1"]
    for (wants, action) in [
      (tags, "sts:TagSession"), (["SourceIdentity": "a1"], "sts:SetSourceIdentity"),
    ] {
      let hop = Self.hop(Self.partner, external.merging(wants) { $1 })
      let reply = test.sts("AssumeRole", hop, by: key)
      expect(reply.xmlError, equals: "403 AccessDenied")
      expect(
        reply.text.contains("is not authorized to perform: \(action) on resource: \(Self.partner)"))
    }
  }

  /// A hop leaves the scope behind, so the scope must allow it.
  @Test func aNarrowedSessionHopsOnlyWhereItsScopeAllows() throws {
    var test = try TestSandbox()
    let wide = test.key()
    let narrow = test.sts(
      "GetScopedCredentials", ["Policy": ScopedCredentialTests.policy], by: wide
    ).key
    expect(
      test.sts("AssumeRole", Self.hop(Self.reports), by: narrow).xmlError,
      equals: "403 AccessDenied")
    let hopping = ScopedCredentialTests.allowing("sts:AssumeRole", Self.reports)
    let open = test.sts("GetScopedCredentials", ["Policy": hopping], by: wide).key
    let hopped = test.sts("AssumeRole", Self.hop(Self.reports), by: open).key
    expect(test.may("s3:PutObject", "arn:aws:s3:::bucket/any", by: hopped), equals: true)
  }

  @Test func aRoleIsMadeByTheControlPath() throws {
    var test = try TestSandbox()
    let role: JSON = [
      "Arn": "arn:aws:iam::123456789012:role/made",
      "TrustedPrincipals": ["arn:aws:iam::123456789012:root"],
      "Policy": [
        "Version": "2012-10-17",
        "Statement": ["Effect": "Allow", "Action": "s3:Get*", "Resource": "*"],
      ],
    ]
    expect(test.send("POST", "/control/role", role).status, equals: 200)
    let hop = Self.hop("arn:aws:iam::123456789012:role/made")
    let made = test.sts("AssumeRole", hop, by: test.key()).key
    expect(test.may("s3:GetObject", "arn:aws:s3:::bucket/any", by: made), equals: true)
    expect(test.may("s3:PutObject", "arn:aws:s3:::bucket/any", by: made), equals: false)
    let nobodys: JSON = ["Arn": "arn:aws:iam::1:role/x"]
    expect(
      test.send("POST", "/control/role", nobodys).json?["Message"]?.text,
      equals: "Pool or TrustedPrincipals or OpenIDConnect is required")
  }
}
