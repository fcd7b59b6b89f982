/// Amazon Cognito Identity: makes requests and reads replies.
///
/// JSON 1.1 over POST (Cognito Identity API reference, 2014-06-30). Only
/// GetOpenIdTokenForDeveloperIdentity is signed.
public struct CognitoIdentity: Sendable, Equatable {
  public let host: AWSHost

  public init(_ host: AWSHost) {
    self.host = host
  }

  /// GetId: the identity of a guest, or of a user with social, OIDC or SAML logins.
  ///
  /// - Throws: if the logins contain a developer token, which Cognito refuses here.
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
  /// - Parameter customRoleARN: one of the roles in the login, or in the pool's role mapping.
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

  func request(_ operation: String, _ members: (inout JSONWriter) -> Void) -> HTTPRequest {
    host.request("AWSCognitoIdentityService.\(operation)", members)
  }
}

extension CognitoIdentity {
  /// Reads the reply to GetId.
  public static func identity(from reply: HTTPReply) throws(UpstreamFailure) -> IdentityID {
    let object = try success(reply)
    return try checked(.cognitoIdentity) { () throws(InvalidInput) in
      try IdentityID(object.requiredText("IdentityId"))
    }
  }

  /// Reads the reply to GetCredentialsForIdentity.
  public static func credentials(
    from reply: HTTPReply
  ) throws(UpstreamFailure) -> CredentialsReply {
    let object = try success(reply)
    return try checked(.cognitoIdentity) { () throws(InvalidInput) in
      guard let members = object["Credentials"] else {
        throw InvalidInput(field: "Credentials", reason: "is missing")
      }
      let expiration = members["Expiration"]?.plausibleTime
      return CredentialsReply(
        identity: try IdentityID(object.requiredText("IdentityId")),
        credentials: Credentials(
          accessKeyID: try CredentialRules.accessKeyID(members.requiredText("AccessKeyId")),
          secretAccessKey: try CredentialRules.key(
            members.requiredSecret("SecretKey"), "SecretKey"),
          sessionToken: try CredentialRules.key(
            members.requiredSecret("SessionToken"), "SessionToken"),
          expiration: try CredentialRules.expiration(expiration, at: reply.date)),
        serverTime: reply.date)
    }
  }

  /// Reads the reply to GetOpenIdToken.
  public static func token(from reply: HTTPReply) throws(UpstreamFailure) -> TokenReply {
    let object = try success(reply)
    return try tokenReply(object, reply)
  }

  /// Reads the reply to GetOpenIdTokenForDeveloperIdentity. An error about the signature counts as
  /// the backend's, because credd signs in its place.
  public static func developerToken(
    from reply: HTTPReply, backend: String
  ) throws(UpstreamFailure) -> TokenReply {
    if !reply.isSuccess, let error = remoteError(reply),
      FailureTable.signature.contains(where: error.fits)
    {
      throw .aws(
        reply, error, from: .backend(backend),
        table: FailureTable.denialsOfKeys + FailureTable.signature)
    }
    let object = try success(reply)
    return try tokenReply(object, reply)
  }

  private static func tokenReply(
    _ object: JSONValue, _ reply: HTTPReply
  ) throws(UpstreamFailure) -> TokenReply {
    try checked(.cognitoIdentity) { () throws(InvalidInput) in
      TokenReply(
        identity: try IdentityID(object.requiredText("IdentityId")),
        token: try DeveloperToken(object.requiredSecret("Token")),
        serverTime: reply.date)
    }
  }

  private static func success(_ reply: HTTPReply) throws(UpstreamFailure) -> JSONValue {
    guard reply.status == 200, !reply.looksLikeHTML else { throw failure(reply) }
    return try JSONReply.object(
      reply.body, limit: Limits.Upstream.awsReplyBytes, from: .cognitoIdentity)
  }

  private static func failure(_ reply: HTTPReply) -> UpstreamFailure {
    .aws(reply, remoteError(reply), from: .cognitoIdentity, table: FailureTable.cognito)
  }

  private static func remoteError(_ reply: HTTPReply) -> RemoteError? {
    RemoteError(json: reply, limit: Limits.Upstream.awsReplyBytes)
  }
}
