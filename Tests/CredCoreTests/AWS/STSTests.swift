import CredCore
import TestSupport
import Testing

struct STSTests {
  static let roleARN = "arn:aws:iam::123456789012:role/r"

  private func sts() throws -> STS {
    STS(try AWSHost(.sts, region: "us-east-1"))
  }

  /// The body is botocore's for the same call, except that a space is `%20`, not `+`.
  @Test func request() throws {
    let query = STS.RoleQuery(
      roleARN: Self.roleARN, sessionName: "alice@host", duration: 3600,
      policy: #"{"Version": "2012-10-17"}"#, policyARNs: ["arn:aws:iam::aws:policy/ReadOnlyAccess"])
    let request = try sts().assumeRole(query, token: Secret("eyJ.a-b_c~.d+/="))
    expect(request.method, equals: .post)
    expect(request.url, equals: "https://sts.us-east-1.amazonaws.com/")
    expect(
      Samples.header(request, "Content-Type"),
      equals: "application/x-www-form-urlencoded; charset=utf-8")
    expect(
      Samples.body(request),
      equals: "Action=AssumeRoleWithWebIdentity&Version=2011-06-15"
        + "&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fr&RoleSessionName=alice%40host"
        + "&DurationSeconds=3600&Policy=%7B%22Version%22%3A%20%222012-10-17%22%7D"
        + "&PolicyArns.member.1.arn=arn%3Aaws%3Aiam%3A%3Aaws%3Apolicy%2FReadOnlyAccess"
        + "&WebIdentityToken=eyJ.a-b_c~.d%2B%2F%3D")
  }

  @Test(arguments: [
    STS.RoleQuery(roleARN: "role/r", sessionName: "alice"),
    STS.RoleQuery(roleARN: "", sessionName: "alice"),
    STS.RoleQuery(roleARN: roleARN, sessionName: "a"),
    STS.RoleQuery(roleARN: roleARN, sessionName: "al ice"),
    STS.RoleQuery(roleARN: roleARN, sessionName: String(repeating: "a", count: 65)),
    STS.RoleQuery(roleARN: roleARN, sessionName: "alice", duration: 899),
    STS.RoleQuery(roleARN: roleARN, sessionName: "alice", duration: 43_201),
    STS.RoleQuery(roleARN: roleARN, sessionName: "alice", policy: ""),
    STS.RoleQuery(
      roleARN: roleARN, sessionName: "alice", policy: String(repeating: "p", count: 2049)),
    STS.RoleQuery(roleARN: roleARN, sessionName: "alice", policyARNs: ["x"]),
    STS.RoleQuery(
      roleARN: roleARN, sessionName: "alice",
      policyARNs: Array(repeating: "arn:aws:iam::aws:policy/A", count: 11)),
  ])
  func keepsTheLimits(query: STS.RoleQuery) throws {
    #expect(throws: InvalidInput.self) { try sts().assumeRole(query, token: Secret("token")) }
  }

  @Test func aTokenThatSTSWouldNotReadIsNotSent() throws {
    let query = STS.RoleQuery(roleARN: Self.roleARN, sessionName: "alice")
    for length in [3, 20_001] {
      let token = Secret(String(repeating: "t", count: length))
      #expect(throws: InvalidInput.self) { try sts().assumeRole(query, token: token) }
    }
  }

  static let body = """
    <?xml version="1.0" encoding="UTF-8"?>
    <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
      <AssumeRoleWithWebIdentityResult>
        <Credentials>
          <AccessKeyId>ASIAQWERTYUIOPASDFGH</AccessKeyId>
          <SecretAccessKey>wJal&#x72;XUt&#47;K7&amp;</SecretAccessKey>
          <SessionToken>IQoJb3Jp+/=</SessionToken>
          <Expiration>2026-01-02T04:04:05.123456Z</Expiration>
        </Credentials>
        <AssumedRoleUser>
          <Arn>arn:aws:sts::123456789012:assumed-role/r/alice</Arn>
          <AssumedRoleId>AROA:alice</AssumedRoleId>
        </AssumedRoleUser>
        <Audience/>
        <Provider note='>'>cognito-identity.amazonaws.com</Provider>
      </AssumeRoleWithWebIdentityResult>
      <ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>
    </AssumeRoleWithWebIdentityResponse>
    """

  @Test func readsCredentials() throws {
    let reply = try STS.credentials(from: Samples.reply(200, Self.body, CognitoReplyTests.date))
    expect(reply.identity == nil)
    expect(
      reply.credentials,
      equals: Credentials(
        accessKeyID: "ASIAQWERTYUIOPASDFGH", secretAccessKey: Secret("wJalrXUt/K7&"),
        sessionToken: Secret("IQoJb3Jp+/="),
        expiration: WallTime(milliseconds: 1_767_326_645_123), accountID: "123456789012",
        session: STSSession(arn: "arn:aws:sts::123456789012:assumed-role/r/alice")))
  }

  @Test func aByteOrderMarkIsNoPartOfXML() throws {
    let marked = try STS.credentials(from: Samples.reply(200, "\u{FEFF}" + Self.body))
    let reply = try STS.credentials(from: Samples.reply(200, Self.body))
    expect(marked.credentials, equals: reply.credentials)
    #expect(throws: UpstreamFailure.self) {
      try STS.credentials(from: Samples.reply(200, "\u{FEFF}\u{FEFF}" + Self.body))
    }
  }

  @Test(arguments: ["arn:aws:sts::12345:assumed-role/r/a", "arn", "", "x:aws:sts::123456789012:a"])
  func anARNOfAnotherFormHasNoAccount(arn: String) throws {
    let body = Self.body.replacing("arn:aws:sts::123456789012:assumed-role/r/alice", with: arn)
    expect(try STS.credentials(from: Samples.reply(200, body)).credentials.accountID == nil)
  }

  @Test(arguments: [
    ("2026-01-02T04:04:05.123456Z", "", "Expiration"),
    ("2026-01-02T04:04:05.123456Z", "soon", "Expiration"),
    ("2026-01-02T04:04:05.123456Z", "2026-01-02T03:04:05Z", "Expiration"),
    ("2026-01-02T04:04:05.123456Z", "2036-01-02T04:04:05Z", "Expiration"),
    ("IQoJb3Jp+/=", "", "SessionToken"), ("IQoJb3Jp+/=", "<a>b</a>", "SessionToken"),
    ("ASIAQWERTYUIOPASDFGH", "AS", "AccessKeyId"), ("Credentials>", "C>", "Credentials"),
    ("<Audience/>", "<Credentials/>", "Credentials"), ("&amp;", "&euml;", "the reply"),
    ("&amp;", "& ", "the reply"), ("&#47;", "&#0;", "the reply"),
    ("&#47;", "&#xD800;", "the reply"),
    ("&#47;", "&#+47;", "the reply"), ("</Audience", "</Audience", "the reply"),
    ("<Audience/>", "<Audience>", "the reply"), ("<Audience/>", "<!-- -->", "the reply"),
    ("<Audience/>", "<![CDATA[x]]>", "the reply"), ("<Audience/>", "<?pi?>", "the reply"),
    ("<AssumeRoleWithWebIdentityResponse x", "<!DOCTYPE a [<!ENTITY b 'c'>]><A x", "the reply"),
    ("<Audience/>", String(repeating: "<a>", count: 40), "the reply"),
    ("<Audience/>", String(repeating: "<a/>", count: 300), "the reply"),
  ])
  func namesTheProblem(old: String, new: String, field: String) {
    let body = Self.body.replacing(old, with: new) + (old == new ? "<a/>" : "")
    let failure = failure { () throws(UpstreamFailure) in
      _ = try STS.credentials(from: Samples.reply(200, body, CognitoReplyTests.date))
    }
    expect(failure?.message.contains("(\(field) ") == true)
    expect(failure?.message.contains("IQoJ") == false)
    expect(failure?.code, equals: .cognitoUnavailable)
  }

  @Test(arguments: [
    (200, "<a><AKIDEXAMPLE0123456789ABCDEFGH>"),
    (
      403,
      "<ErrorResponse><Error><Code>AKIDEXAMPLE0123456789ABCDEFGH</Code></Error></ErrorResponse>"
    ),
  ])
  func aNameInAReplyThatMayBeASecretIsNotShown(status: Int, body: String) {
    let failure = failure { () throws(UpstreamFailure) in
      _ = try STS.credentials(from: Samples.reply(status, body))
    }
    expect(failure?.message.contains("AKID") == false)
  }
}
