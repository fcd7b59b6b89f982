extension CognitoIdentity {
  /// The parameters of GetOpenIdTokenForDeveloperIdentity.
  public struct DeveloperTokenQuery: Sendable, Equatable {
    public var pool: IdentityPoolID
    /// The user's known identity; nil lets Cognito find or create it.
    public var identity: IdentityID?
    /// The developer provider's name in the pool.
    public var provider: String
    /// The user's name within that provider.
    public var userIdentifier: String
    /// Further logins to link to the same identity.
    public var linked: LoginsMap
    /// Seconds; Cognito's own default is 900.
    public var tokenDuration: Int?
    public var principalTags: [(name: String, value: String)]

    public init(
      pool: IdentityPoolID, identity: IdentityID? = nil, provider: String, userIdentifier: String,
      linked: LoginsMap = LoginsMap(), tokenDuration: Int? = nil,
      principalTags: [(name: String, value: String)] = []
    ) {
      self.pool = pool
      self.identity = identity
      self.provider = provider
      self.userIdentifier = userIdentifier
      self.linked = linked
      self.tokenDuration = tokenDuration
      self.principalTags = principalTags
    }

    public static func == (lhs: Self, rhs: Self) -> Bool {
      lhs.pool == rhs.pool && lhs.identity == rhs.identity && lhs.provider == rhs.provider
        && lhs.userIdentifier == rhs.userIdentifier && lhs.linked == rhs.linked
        && lhs.tokenDuration == rhs.tokenDuration
        && lhs.principalTags.elementsEqual(rhs.principalTags, by: ==)
    }
  }

  /// GetOpenIdTokenForDeveloperIdentity, signed with developer credentials at `now`.
  ///
  /// - Throws: if the query exceeds one of Cognito's documented limits.
  public func getOpenIDTokenForDeveloperIdentity(
    _ query: DeveloperTokenQuery, signer: SigV4, digests: some Digests, now: WallTime
  ) throws(InvalidInput) -> HTTPRequest {
    try query.check()
    var logins = query.linked
    try logins.set(query.provider, token: Secret(query.userIdentifier))
    let unsigned = request("GetOpenIdTokenForDeveloperIdentity") {
      $0.field("IdentityPoolId", query.pool.description)
      if let identity = query.identity { $0.field("IdentityId", identity.description) }
      $0.logins(logins)
      if !query.principalTags.isEmpty {
        $0.key("PrincipalTags")
        $0.beginObject()
        for tag in query.principalTags { $0.field(tag.name, tag.value) }
        $0.endObject()
      }
      if let seconds = query.tokenDuration {
        $0.key("TokenDuration")
        $0.integer(Int64(seconds))
      }
    }
    return try signer.sign(unsigned, for: host, digests: digests, now: now)
  }
}

extension CognitoIdentity.DeveloperTokenQuery {
  /// Limits of DeveloperProviderName, DeveloperUserIdentifier, TokenDuration and PrincipalTags
  /// (Cognito API reference).
  fileprivate func check() throws(InvalidInput) {
    guard provider.isDeveloperProvider else {
      throw InvalidInput(
        field: "DeveloperProviderName", reason: "is not 1 to 128 letters, digits, '.', '_' or '-'")
    }
    guard (1...Limits.Upstream.userIdentifierLength).contains(userIdentifier.unicodeScalars.count)
    else {
      throw InvalidInput(
        field: "DeveloperUserIdentifier", reason: "is not 1 to 1024 characters long")
    }
    if let seconds = tokenDuration, !Limits.Upstream.tokenSeconds.contains(seconds) {
      throw InvalidInput(field: "TokenDuration", reason: "is not 1 to 86400 seconds")
    }
    guard principalTags.count <= Limits.Upstream.principalTags,
      Set(principalTags.map(\.name)).count == principalTags.count,
      principalTags.allSatisfy({
        Limits.Upstream.tagNameLength.contains($0.name.unicodeScalars.count)
          && Limits.Upstream.tagValueLength.contains($0.value.unicodeScalars.count)
      })
    else {
      throw InvalidInput(
        field: "PrincipalTags",
        reason: "are more than 50, or one is repeated, empty, or too long")
    }
  }
}
