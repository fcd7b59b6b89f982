public import AuthCore

/// The operations of Cognito Identity that want developer credentials.
public protocol Cognito: Sendable {
  /// GetOpenIdTokenForDeveloperIdentity.
  func token(
    pool: AuthCore.Configuration.Pool, user: String, logins: [String: String], identityID: String?
  ) async throws(CognitoFailure) -> CognitoToken
  /// LookupDeveloperIdentity by identity: its developer users; nil where it is not known.
  func users(
    ofIdentity id: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> [String]?
  /// LookupDeveloperIdentity by user; nil where the user has no identity.
  func identity(
    ofUser user: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> String?
  /// DescribeIdentity: the providers linked to an identity; nil where it is not known.
  func logins(
    ofIdentity id: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> [String]?
  /// MergeDeveloperIdentities: the first user's identity goes up in the second's.
  func merge(
    _ source: String, into destination: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> String
  /// UnlinkDeveloperIdentity.
  func unlink(
    _ user: String, from identityID: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure)
}

public struct CognitoToken: Sendable, Equatable {
  public var identityID: String
  public var token: String

  public init(identityID: String, token: String) {
    self.identityID = identityID
    self.token = token
  }
}

/// Why a call of Cognito had no answer of its own.
public struct CognitoFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// AWS's error code; `Unreachable` where there was no answer, `Credentials` where this server has
  /// none of AWS's.
  public var code: String
  public var message: String

  public init(code: String, message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { "\(code): \(message)" }

  /// AWS does not accept the credentials of this server.
  var refusesCredentials: Bool {
    [
      "UnrecognizedClientException", "InvalidSignatureException", "AccessDeniedException",
      "ExpiredTokenException", "MissingAuthenticationTokenException",
      "IncompleteSignatureException",
      "InvalidClientTokenId", "Credentials",
    ].contains(code)
  }

  var mayPass: Bool {
    ["Unreachable", "InternalErrorException", "ExternalServiceException", "ServiceUnavailable"]
      .contains(code)
  }
}
