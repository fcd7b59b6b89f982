import TestSupport
import Testing

@testable import SandboxKit

/// The constraints of the service model.
struct ValidationTests {
  @Test func allViolationsAreReportedAtOnce() throws {
    var test = try TestSandbox()
    let input: JSON = ["IdentityPoolId": "nonsense", "AccountId": "x1"]
    expect(
      test.cognito("GetId", input).cognitoError,
      equals:
        "ValidationException: 2 validation errors detected: Value 'x1' at 'accountId' failed to "
        + #"satisfy constraint: Member must satisfy regular expression pattern: \d+; "#
        + "Value 'nonsense' at 'identityPoolId' failed to satisfy constraint: "
        + #"Member must satisfy regular expression pattern: [\w-]+:[0-9a-f-]+"#)
  }

  @Test func missingMembers() throws {
    var test = try TestSandbox()
    expect(
      test.cognito("GetCredentialsForIdentity", [:]).cognitoError,
      equals: "ValidationException: 1 validation error detected: Value null at 'identityId' failed "
        + "to satisfy constraint: Member must not be null")
  }

  @Test func elevenLoginsAreTooMany() throws {
    var test = try TestSandbox()
    let logins = (1...11).map { ("p\($0).example", JSON.string("t")) }
    let input: JSON = [
      "IdentityPoolId": .string(TestSandbox.pool),
      "Logins": .object(Dictionary(uniqueKeysWithValues: logins)),
    ]
    expect(
      test.cognito("GetId", input).cognitoError,
      equals:
        "ValidationException: 1 validation error detected: Value at 'logins' failed to satisfy "
        + "constraint: Member must have length less than or equal to 10")
  }

  @Test(arguments: [
    "[]", "{", "{\"IdentityPoolId\":1}", "{\"IdentityPoolId\":\"a\",\"Logins\":[]}",
  ])
  func wrongTypesDoNotDeserialize(_ body: String) throws {
    var test = try TestSandbox()
    var request = TestSandbox.request("GetId", [:])
    request.body = Array(body.utf8)
    expect(test.answer(request).reply.json?["__type"]?.text, equals: "SerializationException")
  }

  @Test(arguments: [
    ("us-east-1:0-a", true), ("us-east-1:", false), (":0", false), ("us-east-1:0:1", false),
    ("us-east-1:G", false), ("us east:0", false),
  ])
  func ids(_ text: String, _ isValid: Bool) {
    expect((InputRule.id.violation(of: text, at: "x") == nil), equals: isValid)
  }

  @Test func tokensAreNotRepeated() {
    let long = String(repeating: "s", count: 50_001)
    expect(
      InputRule.token.violation(of: long, at: "logins"),
      equals:
        "Value at 'logins' failed to satisfy constraint: Member must have length less than or "
        + "equal to 50000")
  }

  @Test func unknownOperationsAndPools() throws {
    var test = try TestSandbox()
    expect(test.cognito("Nonsense", [:]).json?["__type"]?.text, equals: "UnknownOperationException")
    let pool = "us-east-1:0"
    expect(
      test.cognito("GetId", ["IdentityPoolId": .string(pool)]).cognitoError,
      equals: "ResourceNotFoundException: IdentityPool 'us-east-1:0' not found.")
  }

  @Test func anotherContentTypeIsNoOperation() throws {
    var test = try TestSandbox()
    var request = TestSandbox.request("GetId", [:])
    request.headers[1].value = "application/json"
    expect(test.answer(request).reply.status, equals: 404)
  }
}
