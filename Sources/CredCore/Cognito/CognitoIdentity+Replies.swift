extension CognitoIdentity {
  /// Reads the answer to GetId.
  public static func identity(from reply: HTTPReply) throws(UpstreamFailure) -> IdentityID {
    let object = try success(reply)
    return try checked(.cognitoIdentity) { () throws(InvalidInput) in
      try IdentityID(object.requiredText("IdentityId"))
    }
  }

  /// Reads the answer to GetCredentialsForIdentity.
  public static func credentials(
    from reply: HTTPReply
  ) throws(UpstreamFailure) -> CredentialsReply {
    let object = try success(reply)
    return try checked(.cognitoIdentity) { () throws(InvalidInput) in
      guard let members = object["Credentials"] else {
        throw InvalidInput(field: "Credentials", reason: "is missing")
      }
      let expiration = members["Expiration"]?.double.flatMap {
        WallTime(plausibleSecondsSince1970: $0)
      }
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

  /// Reads the answer to GetOpenIdToken.
  public static func token(from reply: HTTPReply) throws(UpstreamFailure) -> TokenReply {
    let object = try success(reply)
    return try tokenReply(object, reply)
  }

  /// Reads the answer to GetOpenIdTokenForDeveloperIdentity, in which errors of the signature are
  /// those of the backend that credd itself is here.
  public static func developerToken(
    from reply: HTTPReply, backend: String
  ) throws(UpstreamFailure) -> TokenReply {
    if !reply.isSuccess, let error = remoteError(reply),
      FailureTable.signature.contains(where: error.fits)
    {
      throw .aws(reply, error, from: .backend(backend), table: FailureTable.signature)
    }
    let object = try success(reply)
    return try tokenReply(object, reply)
  }

  /// Reads the answer to UnlinkIdentity, which has no content.
  public static func unlinked(_ reply: HTTPReply) throws(UpstreamFailure) {
    guard reply.isSuccess, !reply.looksLikeHTML else { throw failure(reply) }
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
    return try JSONReply.object(reply.body, limit: Limits.cognitoReplyBytes, from: .cognitoIdentity)
  }

  private static func failure(_ reply: HTTPReply) -> UpstreamFailure {
    .aws(reply, remoteError(reply), from: .cognitoIdentity, table: FailureTable.cognito)
  }

  /// `{"__type": "ns#Name", "message": …}`, or the name in `x-amzn-ErrorType: Name:url`.
  private static func remoteError(_ reply: HTTPReply) -> RemoteError? {
    let body =
      reply.body.count <= Limits.cognitoReplyBytes ? try? JSONValue.parse(reply.body.bytes) : nil
    guard let name = body?["__type"]?.text ?? reply.header("x-amzn-ErrorType") else { return nil }
    return RemoteError(name: name, message: body?["message"]?.secret ?? body?["Message"]?.secret)
  }
}
