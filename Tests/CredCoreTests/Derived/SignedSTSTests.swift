import TestSupport
import Testing

@testable import CredCore

struct SignedSTSTests {
  private static let role = "arn:aws:iam::123456789012:role/target"
  private static let policy =
    #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject"],"#
    + #""Resource":"arn:aws:s3:::bucket-1/dir with space+plus/*"}]}"#

  private func sts() throws -> STS { STS(try AWSHost(.sts, region: "eu-west-1")) }

  /// The parameters are botocore's for the same call.
  @Test func asksForAScope() throws {
    let request = try sts().getScopedCredentials(
      STS.Scope(policy: Self.policy, duration: 900, description: "credd billing.service"))
    expect(
      Samples.body(request),
      equals: "Action=GetScopedCredentials&Version=2011-06-15&Policy=%7B%22Version%22%3A%222012-10"
        + "-17%22%2C%22Statement%22%3A%5B%7B%22Effect%22%3A%22Allow%22%2C%22Action%22%3A%5B%22s3%"
        + "3AGetObject%22%5D%2C%22Resource%22%3A%22arn%3Aaws%3As3%3A%3A%3Abucket-1%2Fdir%20with%20"
        + "space%2Bplus%2F%2A%22%7D%5D%7D&DurationSeconds=900"
        + "&ScopedSessionDescription=credd%20billing.service")
  }

  @Test func asksForARole() throws {
    let hop = STS.Hop(
      STS.RoleQuery(roleARN: Self.role, sessionName: "alice@host", duration: 3600),
      externalID: "ext:1/2", tags: [STS.Tag("unit", "billing.service"), STS.Tag("user", "alice")],
      transitiveTags: ["user"], sourceIdentity: "alice")
    expect(
      Samples.body(try sts().assumeRole(hop)),
      equals: "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3A"
        + "role%2Ftarget&RoleSessionName=alice%40host&DurationSeconds=3600"
        + "&Tags.member.1.Key=unit&Tags.member.1.Value=billing.service&Tags.member.2.Key=user"
        + "&Tags.member.2.Value=alice&TransitiveTagKeys.member.1=user&ExternalId=ext%3A1%2F2"
        + "&SourceIdentity=alice")
  }

  @Test(arguments: [
    STS.Scope(policy: nil), STS.Scope(policy: ""),
    STS.Scope(policy: String(repeating: "p", count: 2049)), STS.Scope(policy: nil, duration: 0),
    STS.Scope(policy: nil, duration: 129_601),
    STS.Scope(policy: policy, description: "a"), STS.Scope(policy: policy, description: "a\u{A0}"),
    STS.Scope(policy: policy, description: String(repeating: "d", count: 257)),
  ])
  func keepsTheLimits(_ scope: STS.Scope) throws {
    #expect(throws: InvalidInput.self) { try sts().getScopedCredentials(scope) }
  }

  private static func scoped(_ changes: [(String, String)] = []) -> String {
    let body = """
      <GetScopedCredentialsResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
      <GetScopedCredentialsResult><Credentials><AccessKeyId>ASIAQWERTYUIOPASDFGH</AccessKeyId>
      <SecretAccessKey>wJalrXUt</SecretAccessKey><SessionToken>IQoJb3Jp</SessionToken>
      <Expiration>2026-01-02T04:04:05Z</Expiration></Credentials><SessionInfo>
      <ScopedSessionId>AROA:alice</ScopedSessionId>
      <Arn>arn:aws:sts::123456789012:assumed-role/r/alice</Arn></SessionInfo>
      <SessionTokenUtilization>14</SessionTokenUtilization><SessionTokenSize>600</SessionTokenSize>
      <ScopedPoliciesCount>1</ScopedPoliciesCount></GetScopedCredentialsResult>
      </GetScopedCredentialsResponse>
      """
    return changes.reduce(body) { $0.replacing($1.0, with: $1.1) }
  }

  @Test func readsAScope() throws {
    let reply = try STS.scoped(from: Samples.reply(200, Self.scoped(), CognitoReplyTests.date))
    expect(reply.credentials.accessKeyID, equals: "ASIAQWERTYUIOPASDFGH")
    expect(reply.credentials.accountID, equals: "123456789012")
    expect(reply.sessionARN, equals: "arn:aws:sts::123456789012:assumed-role/r/alice")
    expect(reply.scopes, equals: 1)
    expect(reply.credentials.session?.tokenUtilization, equals: 14)
    let without = Self.scoped([("<ScopedPoliciesCount>1</ScopedPoliciesCount>", "")])
    expect(try STS.scoped(from: Samples.reply(200, without, CognitoReplyTests.date)).scopes == nil)
  }

  @Test func readsARole() throws {
    let body = Self.scoped([
      ("GetScopedCredentials", "AssumeRole"), ("SessionInfo", "AssumedRoleUser"),
    ])
    let reply = try STS.assumed(from: Samples.reply(200, body, CognitoReplyTests.date))
    expect(reply.sessionARN, equals: "arn:aws:sts::123456789012:assumed-role/r/alice")
  }

  @Test(arguments: [
    ("GetScopedCredentialsResult", "OtherResult"), ("SessionInfo", "Info"),
    ("arn:aws:sts::123456789012:", "arn:aws:sts::x:"), (">1</Scoped", ">-1</Scoped"),
    (">14<", ">much<"), ("ASIAQWERTYUIOPASDFGH", "A"),
    ("</GetScopedCredentialsResponse>", ""),
  ])
  func refusesAnAnswerThatIsNone(_ old: String, _ new: String) {
    let body = Self.scoped([(old, new)])
    #expect(throws: UpstreamFailure.self) {
      try STS.scoped(from: Samples.reply(200, body, CognitoReplyTests.date))
    }
  }
}
