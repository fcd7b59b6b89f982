import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// Against signatures that botocore 1.43 made.
struct SignatureV4Tests {
  let keys = ["AKIASANDBOXDEVELOPER": "sandbox-developer-secret"]
  let now = Date(timeIntervalSince1970: 1_442_945_283)

  static let body =
    #"{"IdentityPoolId":"us-east-1:11111111-2222-3333-4444-555555555555","#
    + #""DeveloperUserIdentifier":"alice"}"#

  static func signed(_ body: String = Self.body) -> HTTPRequest {
    HTTPRequest(
      method: "POST", target: "/",
      headers: [
        HTTPField("Host", "127.0.0.1:4599"),
        HTTPField("Content-Type", "application/x-amz-json-1.1"),
        HTTPField("X-Amz-Target", "AWSCognitoIdentityService.LookupDeveloperIdentity"),
        HTTPField("X-Amz-Date", "20150922T180803Z"),
        HTTPField(
          "Authorization",
          "AWS4-HMAC-SHA256 Credential=AKIASANDBOXDEVELOPER/20150922/us-east-1/cognito-identity/aws4_request, "
            + "SignedHeaders=content-type;host;x-amz-date;x-amz-target, "
            + "Signature=676937dbabb5565b143586beb603f9f791e841a8999c40d051817cfeafa0f912"),
      ], body: Array(body.utf8))
  }

  private func verify(_ request: HTTPRequest, at now: Date) throws(ServiceError)
    -> SignatureV4.Signer
  {
    try SignatureV4.verify(request, for: .cognitoIdentity, at: now) { keys[$0] }
  }

  private func failure(_ request: HTTPRequest, after seconds: Double = 0) -> ServiceError? {
    do {
      _ = try verify(request, at: now + seconds)
      return nil
    } catch {
      return error
    }
  }

  @Test func acceptsBotocoresSignature() throws {
    let signer = try verify(Self.signed(), at: now)
    expect(
      signer, equals: SignatureV4.Signer(accessKeyID: "AKIASANDBOXDEVELOPER", region: "us-east-1"))
    expect(failure(Self.signed(), after: 300) == nil)
    expect(failure(Self.signed(), after: -300) == nil)
  }

  @Test func refusesAnotherBody() {
    expect(failure(Self.signed("{}"))?.code, equals: "InvalidSignatureException")
  }

  @Test func refusesAnotherClock() {
    expect(
      failure(Self.signed(), after: 301)?.message,
      equals: "Signature expired: 20150922T180803Z is now earlier than 20150922T180804Z "
        + "(20150922T181304Z - 5 min.)")
    expect(failure(Self.signed(), after: -301)?.message.hasPrefix("Signature not yet") == true)
  }

  @Test func refusesUnsignedFields() {
    var request = Self.signed()
    request.headers.append(HTTPField("X-Amz-Security-Token", "t"))
    expect(
      failure(request)?.message,
      equals: "'x-amz-security-token' must be a 'SignedHeader' in the AWS Authorization.")
  }

  @Test func saysWhatIsMissing() {
    var request = Self.signed()
    request.headers[4].value = "AWS4-HMAC-SHA256 Credential=a/b/c/cognito-identity/aws4_request"
    expect(failure(request)?.code, equals: "IncompleteSignatureException")
    request.headers.remove(at: 4)
    expect(failure(request)?.code, equals: "MissingAuthenticationTokenException")
  }

  @Test func refusesUnknownKeysAndOtherServices() {
    var request = Self.signed()
    request.headers[4].value.replace("AKIASANDBOXDEVELOPER", with: "AKIAOTHER")
    expect(failure(request)?.code, equals: "UnrecognizedClientException")
    request = Self.signed()
    request.headers[4].value.replace("/cognito-identity/", with: "/sts/")
    expect(
      failure(request)?.message,
      equals: "Credential should be scoped to correct service: 'cognito-identity'.")
  }

  @Test func refusesAPoolOfAnotherRegion() {
    let signer = SignatureV4.Signer(accessKeyID: "a", region: "eu-west-1")
    #expect(throws: ServiceError.self) { try signer.require(regionOf: TestSandbox.pool) }
  }
}
