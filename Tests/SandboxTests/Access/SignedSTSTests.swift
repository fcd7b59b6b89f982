import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// Against requests that botocore 1.44.8 signed.
struct SignedSTSTests {
  static let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
  static let token =
    "IQoJb3JpZ2luX2VjEXAMPLE//////////wEaCXVzLWVhc3QtMSJHMEUCIQD+fake/token=with==specials+and/"
    + "slashes0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ=="
  /// 2026-11-26T12:34:56Z.
  static let now = Date(timeIntervalSince1970: 1_795_696_496)

  static let requests = [
    (
      "Action=GetScopedCredentials&Version=2011-06-15&Policy=%7B%22Version%22%3A%222012-10-"
        + "17%22%2C%22Statement%22%3A%5B%7B%22Effect%22%3A%22Allow%22%2C%22Action%22%3A%5B%22s3"
        + "%3AGetObject%22%5D%2C%22Resource%22%3A%22arn%3Aaws%3As3%3A%3A%3Abucket-1%2Fdir+with+"
        + "space%2Bplus%2F%2A%22%7D%5D%7D&DurationSeconds=900&ScopedSessionDescription=credd+bi"
        + "lling.service",
      "cd619528ff39a8592b16f9948230fca3573472711cd5547ff2e4a6095b2b3df9"
    ),
    (
      "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arol"
        + "e%2Ftarget&RoleSessionName=alice%40host&Policy=%7B%22Version%22%3A%222012-10-17%22%2"
        + "C%22Statement%22%3A%5B%7B%22Effect%22%3A%22Allow%22%2C%22Action%22%3A%5B%22s3%3AGetO"
        + "bject%22%5D%2C%22Resource%22%3A%22arn%3Aaws%3As3%3A%3A%3Abucket-1%2Fdir+with+space%2"
        + "Bplus%2F%2A%22%7D%5D%7D&PolicyArns.member.1.arn=arn%3Aaws%3Aiam%3A%3Aaws%3Apolicy%2F"
        + "ReadOnlyAccess&DurationSeconds=3600&Tags.member.1.Key=unit&Tags.member.1.Value=billi"
        + "ng.service&Tags.member.2.Key=user&Tags.member.2.Value=alice&TransitiveTagKeys.member"
        + ".1=user&ExternalId=ext%3A1%2F2&SourceIdentity=alice",
      "ee621094e5e14eb3bcdb97dd518c84ba9ff8e7e9b149cb937ff30aaec3e3bf31"
    ),
    (
      "Action=GetCallerIdentity&Version=2011-06-15",
      "3d9a806cd8c5c4e73a6abf31c47f339766743198a02f0ad6f71bd5de4e95e782"
    ),
  ]

  private func signed(_ body: String, _ signature: String) -> HTTPRequest {
    HTTPRequest(
      method: "POST", target: "/",
      headers: [
        HTTPField("Host", "sts.eu-west-1.amazonaws.com"),
        HTTPField("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"),
        HTTPField("X-Amz-Date", "20261126T123456Z"),
        HTTPField("X-Amz-Security-Token", Self.token),
        HTTPField(
          "Authorization",
          "AWS4-HMAC-SHA256 Credential=ASIAIOSFODNN7EXAMPLE/20261126/eu-west-1/sts/aws4_request, "
            + "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, "
            + "Signature=" + signature),
      ], body: Array(body.utf8))
  }

  @Test(arguments: requests)
  func acceptsBotocoresSignatures(_ body: String, _ signature: String) throws {
    let signer = try SignatureV4.verify(signed(body, signature), for: .sts, at: Self.now) { _ in
      Self.secret
    }
    expect(
      signer, equals: SignatureV4.Signer(accessKeyID: "ASIAIOSFODNN7EXAMPLE", region: "eu-west-1"))
    #expect(throws: ServiceError.self) {
      try SignatureV4.verify(signed(body + "&a=b", signature), for: .sts, at: Self.now) { _ in
        Self.secret
      }
    }
  }

  @Test func saysThatTheClockIsWrong() {
    let (body, signature) = Self.requests[0]
    let error = #expect(throws: ServiceError.self) {
      try SignatureV4.verify(signed(body, signature), for: .sts, at: Self.now + 901) { _ in
        Self.secret
      }
    }
    expect(error?.status, equals: 403)
    expect(error?.code, equals: "SignatureDoesNotMatch")
    expect(error?.message.hasPrefix("Signature expired: 20261126T123456Z is now earlier") ?? false)
  }
}
