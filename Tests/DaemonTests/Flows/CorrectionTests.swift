import TestSupport
import Testing

@testable import DaemonHarness

/// Cognito's errors, each with what credd does about it.
@Suite(.onStage)
struct CorrectionTests {
  /// One error of the table.
  struct Correction: CustomTestStringConvertible {
    let error: String
    let message: String
    /// Callbacks in all where the error comes once: 2 is a new token.
    let callbacks: Int
    /// Whether the second callback knows the IdentityId; nil where there is none.
    var keepsIdentity: Bool?
    /// What is said where the error stays.
    let code: String

    init(
      _ error: String, _ message: String, callbacks: Int, keepsIdentity: Bool? = nil, _ code: String
    ) {
      self.error = error
      self.message = message
      self.callbacks = callbacks
      self.keepsIdentity = keepsIdentity
      self.code = code
    }

    var testDescription: String { "\(error): \(message)" }
  }

  static let corrections = [
    Correction(
      "NotAuthorizedException", "Invalid login token. Token expired: 1 >= 0", callbacks: 2,
      keepsIdentity: true, "TokenRejected"),
    Correction(
      "NotAuthorizedException", "Invalid login token. Couldn't verify signed token.", callbacks: 2,
      keepsIdentity: true, "TokenRejected"),
    Correction(
      "NotAuthorizedException", "Invalid login token. Not a Cognito token.", callbacks: 2,
      keepsIdentity: true, "TokenRejected"),
    Correction(
      "NotAuthorizedException", "Access to Identity 'us-east-1:0' is forbidden.", callbacks: 2,
      keepsIdentity: false, "TokenRejected"),
    Correction(
      "ResourceNotFoundException", "Identity not found.", callbacks: 2, keepsIdentity: false,
      "PoolMisconfigured"),
    Correction(
      "ValidationException", "1 validation error detected", callbacks: 2, keepsIdentity: false,
      "PoolMisconfigured"),
    Correction(
      "NotAuthorizedException", "Logins don't match. Please include at least one valid login",
      callbacks: 1, "PoolMisconfigured"),
    Correction(
      "ResourceConflictException", "Login is already linked to another account.", callbacks: 1,
      "IdentityConflict"),
    Correction(
      "InvalidIdentityPoolConfigurationException", "Check assigned IAM roles", callbacks: 1,
      "PoolMisconfigured"),
    Correction("InvalidParameterException", "no", callbacks: 1, "PoolMisconfigured"),
    Correction("TooManyRequestsException", "Rate exceeded", callbacks: 1, "Throttled"),
    Correction("LimitExceededException", "Limit", callbacks: 1, "Throttled"),
    Correction("InternalErrorException", "Internal", callbacks: 1, "CognitoUnavailable"),
    Correction("ExternalServiceException", "External", callbacks: 1, "CognitoUnavailable"),
  ]

  @Test(arguments: corrections)
  func errorIsCorrectedOnceAndNeverForGood(_ correction: Correction) throws {
    let host = try TestHost()
    let identity = try #require(try host.ask(#"{"op":"token"}"#)["IdentityId"]?.text)
    // The error stays: one attempt with one correction, then it is said.
    try host.sandbox.refuse(correction.error, correction.message, count: -1)
    let refused = try host.refusal(#"{"wait":0.9}"#)
    expect(refused.errorCode, equals: correction.code, "\(refused)")
    expect(try host.sandbox.callbacks <= 2)
    expect(try host.sandbox.exchanges <= 2)
    try host.sandbox.clearFaults()
    try Deadline.usual.wait(for: "credentials") { try host.ask()["AccessKeyId"] != nil }
    expect(try host.identity(), equals: identity)
  }

  @Test(arguments: corrections.filter { $0.callbacks == 2 })
  func errorThatComesOnceIsNotNoticed(_ correction: Correction) throws {
    let host = try TestHost()
    let identity = try #require(try host.ask(#"{"op":"token"}"#)["IdentityId"]?.text)
    try host.sandbox.refuse(correction.error, correction.message)
    expect(try host.credentials()["AccessKeyId"] != nil)
    expect(try host.sandbox.callbacks, equals: 2)
    expect(try host.sandbox.exchanges, equals: 2)
    let body = try host.sandbox.lastBody("token")
    expect((body["IdentityId"]?.text == identity), equals: correction.keepsIdentity)
    expect(try host.identity(), equals: identity)
  }

  @Test
  func deletedGuestGetsAnotherIdentity() throws {
    let host = try TestHost(sandbox: ["--unauthenticated"]) {
      Configuration.direct($0, "default", "guest = yes")
    }
    _ = try host.credentials()
    let identity = try #require(try host.identity())
    try host.sandbox.control("DELETE", "identity?IdentityId=\(identity)")
    let watcher = try host.watch()
    expect(try host.credentials(refresh: true)["AccessKeyId"] != nil)
    let change = try watcher.event("identityChanged")
    // Two steps in the machine, one change for the watchers.
    expect(change["IdentityId"]?.text != identity)
    expect(try host.sandbox.calls("cognito.GetId"), equals: 2)
  }
}
