/// Amazon Cognito Identity, spoken as values: requests out, replies in.
///
/// JSON 1.1 over POST (Cognito Identity API reference, 2014-06-30). The exchange calls are
/// unsigned; only GetOpenIdTokenForDeveloperIdentity carries a signature.
public struct CognitoIdentity: Sendable, Equatable {
  /// Seconds; what Cognito allows for a developer token.
  public static let tokenDurations = 1...86_400
  public static let maximumPrincipalTags = 50

  public let endpoint: AWSEndpoint

  public init(_ endpoint: AWSEndpoint) {
    self.endpoint = endpoint
  }

  /// GetId: the identity of a guest, or of somebody with social, OIDC or SAML logins.
  ///
  /// - Throws: where the logins hold a developer token, which Cognito refuses here.
  public func getID(
    pool: IdentityPoolID, accountID: String? = nil, logins: LoginsMap = LoginsMap()
  ) throws(InvalidInput) -> HTTPRequest {
    guard !logins.holdsDeveloperToken else {
      throw InvalidInput(
        field: "logins", reason: "hold a developer token: its identity comes from the backend")
    }
    return request("GetId") {
      $0.field("AccountId", accountID)
      $0.field("IdentityPoolId", pool.description)
      $0.logins(logins)
    }
  }

  /// GetCredentialsForIdentity: the enhanced flow.
  ///
  /// - Parameter customRoleARN: one of the roles that the login itself names, or that the pool's
  ///   role mapping allows.
  public func getCredentials(
    identity: IdentityID, logins: LoginsMap = LoginsMap(), customRoleARN: String? = nil
  ) -> HTTPRequest {
    request("GetCredentialsForIdentity") {
      $0.field("IdentityId", identity.description)
      $0.logins(logins)
      if let customRoleARN { $0.field("CustomRoleArn", customRoleARN) }
    }
  }

  /// GetOpenIdToken: the first step of the basic flow for guests and social logins.
  public func getOpenIDToken(
    identity: IdentityID, logins: LoginsMap = LoginsMap()
  ) -> HTTPRequest {
    request("GetOpenIdToken") {
      $0.field("IdentityId", identity.description)
      $0.logins(logins)
    }
  }

  /// UnlinkIdentity: takes logins off an identity that they prove to be one's own.
  public func unlinkIdentity(
    _ identity: IdentityID, logins: LoginsMap, remove: [String]
  ) -> HTTPRequest {
    request("UnlinkIdentity") {
      $0.field("IdentityId", identity.description)
      $0.logins(logins)
      $0.key("LoginsToRemove")
      $0.beginArray()
      for provider in remove { $0.string(provider) }
      $0.endArray()
    }
  }

  func request(_ operation: String, _ members: (inout JSONWriter) -> Void) -> HTTPRequest {
    var writer = JSONWriter()
    writer.beginObject()
    members(&writer)
    writer.endObject()
    return HTTPRequest(
      method: .post, url: endpoint.url,
      headers: [
        HTTPHeader("Content-Type", "application/x-amz-json-1.1"),
        HTTPHeader("X-Amz-Target", "AWSCognitoIdentityService.\(operation)"),
      ],
      body: Secret(writer.bytes))
  }
}
