/// What every backend is asked: a token for one user of one developer provider in one pool.
public struct TokenQuery: Sendable, Equatable {
  public var pool: IdentityPoolID
  public var developerProvider: String
  public var userIdentifier: String
  /// The identity the user is known to have, so that a guest's becomes the user's.
  public var identity: IdentityID?
  /// Social logins, for the backend to link.
  public var logins: LoginsMap

  public init(
    pool: IdentityPoolID, developerProvider: String, userIdentifier: String,
    identity: IdentityID? = nil, logins: LoginsMap = LoginsMap()
  ) {
    self.pool = pool
    self.developerProvider = developerProvider
    self.userIdentifier = userIdentifier
    self.identity = identity
    self.logins = logins
  }

  /// `{"IdentityPoolId","DeveloperProviderName","DeveloperUserIdentifier"}`, and `"IdentityId"` and
  /// `"Logins"` where there are any: what an HTTP callback and a command get.
  public var json: Secret {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("IdentityPoolId", pool.description)
    writer.field("DeveloperProviderName", developerProvider)
    writer.field("DeveloperUserIdentifier", userIdentifier)
    if let identity { writer.field("IdentityId", identity.description) }
    writer.logins(logins)
    writer.endObject()
    return Secret(writer.bytes)
  }
}

extension TokenQuery {
  /// Reads `{"IdentityId","Token","IdentityPoolId"?}`, each also with a lower-case first letter;
  /// what else is in there is the backend's own affair.
  ///
  /// - Throws: for another pool than this query's, whether the reply names it, its identity lives
  ///   in another region, or its token is meant for it: Cognito would refuse all three, less
  ///   clearly.
  func reply(
    from body: Secret, limit: Int, limits: JSONLimits = .standard, serverTime: WallTime? = nil,
    from upstream: Upstream
  ) throws(UpstreamFailure) -> TokenReply {
    let object = try JSONReply.object(body, limit: limit, limits: limits, from: upstream)
    let (reply, named) = try checked(upstream) { () throws(InvalidInput) in
      let identity = try IdentityID(
        object.memberInEitherCase("IdentityId").requiredText("IdentityId"))
      let token = try DeveloperToken(object.memberInEitherCase("Token").requiredSecret("Token"))
      let named = try object.memberInEitherCase("IdentityPoolId")["IdentityPoolId"]
      if let named, named != .null, named.text == nil {
        throw InvalidInput(field: "IdentityPoolId", reason: "is no string")
      }
      return (
        TokenReply(identity: identity, token: token, serverTime: serverTime), named?.text
      )
    }
    let audience = reply.token.audience.flatMap { try? IdentityPoolID($0) }
    guard named == nil || named == pool.description, reply.identity.region == pool.region,
      audience == nil || audience == pool
    else { throw .wrongPool(from: upstream) }
    return reply
  }
}

extension JSONValue {
  /// An object with that member alone, found under its name or with a lower-case first letter, as
  /// the samples of the mobile SDKs spell it; empty where it is missing.
  ///
  /// - Throws: where both are there: then nobody can say which one is meant.
  func memberInEitherCase(_ name: String) throws(InvalidInput) -> JSONValue {
    let lower = name.prefix(1).lowercased() + name.dropFirst()
    switch (self[name], self[lower]) {
    case (.some, .some):
      throw InvalidInput(field: name, reason: "is there twice, in both spellings")
    case (let value?, nil), (nil, let value?):
      return .object([JSONMember(key: name, keyOffset: 0, value: value)])
    case (nil, nil): return .object([])
    }
  }
}
