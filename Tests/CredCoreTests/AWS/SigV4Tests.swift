import CredCore
import TestSupport
import Testing

/// The signatures are botocore's (`SigV4Auth`) for the same bytes at the same time.
struct SigV4Tests {
  static let now = WallTime(milliseconds: 1_767_323_045_678)  // 2026-01-02T03:04:05Z

  private func signed(token: String?, host: AWSHost) throws -> HTTPRequest {
    let signer = SigV4(
      accessKeyID: "AKIDEXAMPLE000000000",
      secretAccessKey: Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
      sessionToken: token.map { Secret($0) })
    let query = CognitoIdentity.DeveloperTokenQuery(
      pool: try Samples.pool, identity: try Samples.identity, provider: Samples.provider,
      userIdentifier: "alice", tokenDuration: 3600, principalTags: [("team", "infra")])
    return try CognitoIdentity(host).getOpenIDTokenForDeveloperIdentity(
      query, signer: signer, digests: TestCrypto(), now: Self.now)
  }

  @Test func longLivedKeys() throws {
    let request = try signed(
      token: nil, host: AWSHost(.cognitoIdentity, region: "us-east-1"))
    expect(
      Samples.body(request),
      equals: #"{"IdentityPoolId":"us-east-1:11111111-2222-3333-4444-555555555555","#
        + #""IdentityId":"us-east-1:99999999-8888-7777-6666-555555555555","#
        + #""Logins":{"login.example.app":"alice"},"PrincipalTags":{"team":"infra"},"#
        + #""TokenDuration":3600}"#)
    expect(Samples.header(request, "X-Amz-Date"), equals: "20260102T030405Z")
    expect(Samples.header(request, "X-Amz-Security-Token") == nil)
    expect(
      Samples.header(request, "Authorization"),
      equals:
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE000000000/20260102/us-east-1/cognito-identity/"
        + "aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature="
        + "f9b8ae5b41e2b318d274e20cd847430f303d5302352224ea29f69deb3d4e6136")
  }

  @Test func sessionToken() throws {
    let request = try signed(
      token: "FwoGZXIvYXdzEXAMPLE+/==",
      host: AWSHost(.cognitoIdentity, region: "us-east-1"))
    expect(Samples.header(request, "X-Amz-Security-Token"), equals: "FwoGZXIvYXdzEXAMPLE+/==")
    expect(
      Samples.header(request, "Authorization")?.hasSuffix(
        "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, Signature="
          + "bf51c318afb44d1e695237146c4088204ca6f9293b80fbb71968252e5a12503e") == true)
  }

  @Test func aPortIsPartOfTheSignedHost() throws {
    let request = try signed(
      token: "FwoGZXIvYXdzEXAMPLE+/==",
      host: AWSHost(
        .cognitoIdentity, region: "eu-west-1", custom: "http://127.0.0.1:4599"))
    expect(
      Samples.header(request, "Authorization")?.hasSuffix(
        "2791bb91493a77154b45565d49d8e9db37e1faf2ad5a58085d36e62a1c6247e9") == true)
  }

  @Test func refusesATokenThatWouldAddAHeader() throws {
    #expect(throws: InvalidInput.self) {
      try signed(
        token: "a\r\nX-Evil: 1", host: AWSHost(.cognitoIdentity, region: "us-east-1"))
    }
  }

  @Test func refusesAQuery() throws {
    let endpoint = try AWSHost(.cognitoIdentity, region: "us-east-1")
    let signer = SigV4(accessKeyID: "A", secretAccessKey: Secret("s"))
    #expect(throws: InvalidInput.self) {
      try signer.sign(
        HTTPRequest(method: .post, url: "https://a/?b=c"), for: endpoint, digests: TestCrypto(),
        now: Self.now)
    }
  }
}
