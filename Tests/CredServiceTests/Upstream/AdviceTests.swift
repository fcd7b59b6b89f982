import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// The errors that AWS documents for the calls of credd, or gives in public threads: each reaches a
/// client as one that those can act upon who can mend it.
struct AdviceTests {
  /// Who can mend an error.
  enum Mender: Sendable {
    /// Who runs the host or the pool. Trying again or signing in is in vain.
    case operators
    /// The user: by signing in, or in another way.
    case user
    /// Nobody: it passes.
    case time
  }

  struct Case: CustomTestStringConvertible, Sendable {
    let name: String
    let message: String
    let mender: Mender
    var status = 400

    var testDescription: String { "\(name): \(message)" }
  }

  private static let notAuthorized = "NotAuthorizedException"

  static let cognito = [
    Case(
      name: notAuthorized,
      message: "Access to Role 'arn:aws:iam::123456789012:role/app' is forbidden.",
      mender: .operators),
    Case(
      name: notAuthorized,
      message: "Unauthenticated access is not supported for this identity pool.",
      mender: .operators),
    Case(
      name: notAuthorized,
      message: "Logins don't match. Please include at least one valid login for this identity.",
      mender: .operators),
    Case(
      name: notAuthorized,
      message: "The ambiguous role mapping rules for: cognito-identity.amazonaws.com denied this "
        + "request.", mender: .user),
    Case(
      name: notAuthorized, message: "Invalid login token. Token expired: 1600000000 >= 1590000000",
      mender: .user),
    Case(
      name: notAuthorized, message: "Invalid login token. Couldn't verify signed token.",
      mender: .user),
    Case(
      name: notAuthorized, message: "Invalid login token. Not a Cognito token.", mender: .user),
    Case(
      name: "InvalidIdentityPoolConfigurationException",
      message: "Invalid identity pool configuration. Check assigned IAM roles for this pool.",
      mender: .operators),
    Case(
      name: "InvalidParameterException", message: "Please provide a valid public provider",
      mender: .operators),
    Case(
      name: "ResourceNotFoundException", message: "IdentityPool 'x' not found.", mender: .operators),
    Case(name: "ExternalServiceException", message: "Upstream", mender: .time),
    Case(name: "TooManyRequestsException", message: "Rate exceeded", mender: .time),
    Case(name: "LimitExceededException", message: "Limit", mender: .time),
    Case(name: "InternalErrorException", message: "Internal", mender: .time, status: 500),
  ]

  static let sts = [
    Case(
      name: "AccessDenied", message: "Not authorized to perform sts:AssumeRoleWithWebIdentity",
      mender: .operators),
    Case(
      name: "ValidationError",
      message: "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.",
      mender: .operators),
    Case(name: "MalformedPolicyDocument", message: "Syntax errors", mender: .operators),
    Case(name: "PackedPolicyTooLarge", message: "Packed size 110 %", mender: .operators),
    Case(name: "RegionDisabledException", message: "STS is not activated", mender: .operators),
    Case(name: "ExpiredTokenException", message: "Token expired", mender: .user),
    Case(name: "InvalidIdentityToken", message: "No OpenIDConnect provider", mender: .user),
    Case(name: "IDPCommunicationError", message: "Timeout", mender: .time),
    Case(name: "Throttling", message: "Rate exceeded", mender: .time),
    Case(name: "ServiceUnavailable", message: "Later", mender: .time, status: 503),
  ]

  private static let basic = Configured.usual(
    profile: "sts_endpoint = http://127.0.0.1:4599\nflow = basic\n"
      + "role_arn = arn:aws:iam::123456789012:role/basic")

  private func refusal(
    _ text: String, _ operation: String, _ status: Int, _ body: String
  ) throws -> Reply {
    let fixture = try ServiceFixture(text)
    fixture.host.upstreams.faults[operation] = .status(status, body)
    return try fixture.ask(#"{"wait":3}"#)
  }

  private func cognitoRefusal(_ name: String, _ message: String, _ status: Int) throws -> Reply {
    try refusal(
      Configured.usual(), "GetCredentialsForIdentity", status,
      #"{"__type":"\#(name)","message":"\#(message)"}"#)
  }

  private func expectAdvice(_ refused: Reply, for mender: Mender) throws {
    let (code, words) = (try #require(refused.errorCode), try #require(refused.errorMessage))
    switch mender {
    case .operators:
      expect(["PoolMisconfigured", "IdentityConflict"].contains(code), "\(refused)")
      expect(!words.contains("try again") && !words.contains("sign in"), "\(refused)")
    case .user:
      expect(["TokenRejected", "SignInFailed", "SignInRequired"].contains(code), "\(refused)")
    case .time:
      expect(["CognitoUnavailable", "Throttled"].contains(code), "\(refused)")
      expect(words.contains("it is tried again"), "\(refused)")
      expect(refused["Error"]?["RetryAfter"] != nil, "\(refused)")
    }
  }

  @Test(arguments: cognito)
  func eachErrorOfCognitoIsForThoseWhoCanMendIt(_ test: Case) throws {
    let refused = try cognitoRefusal(test.name, test.message, test.status)
    try expectAdvice(refused, for: test.mender)
    // A name with several meanings: what is known about this one is more than about an unknown one.
    guard test.name == Self.notAuthorized else { return }
    let unknown = try cognitoRefusal(test.name, "Something new.", test.status)
    let said = [refused, unknown].map { $0.errorMessage?.split(separator: "(").first }
    expect(said[0] != said[1], "\(refused)")
  }

  @Test(arguments: sts)
  func eachErrorOfSTSIsForThoseWhoCanMendIt(_ test: Case) throws {
    let body =
      "<ErrorResponse><Error><Code>\(test.name)</Code><Message>\(test.message)</Message></Error>"
      + "</ErrorResponse>"
    try expectAdvice(
      refusal(Self.basic, "AssumeRoleWithWebIdentity", test.status, body), for: test.mender)
  }
}
