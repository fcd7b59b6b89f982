extension ProviderToken {
  /// - Throws: if it is not a token, or a token of another kind, client or pool. If an access token
  ///   were taken as an ID token, credd would pass it to others, who could change the account with
  ///   it.
  init(_ token: Secret, _ kind: Kind, of client: UserPoolClient) throws(InvalidInput) {
    guard token.count <= Limits.Upstream.tokenLength, token.bytes.allSatisfy(\.isVisible) else {
      throw InvalidInput(field: kind.member, reason: "is too long or not printable ASCII")
    }
    self.token = token
    let claims = JWT.claims(of: token)
    try kind.check(claims, of: client)
    expiration = claims?["exp"]?.plausibleTime
    issued = claims?["iat"]?.plausibleTime
    signedIn = claims?["auth_time"]?.plausibleTime
    username = Self.name(claims?["cognito:username"] ?? claims?["username"])
    subject = Self.name(claims?["sub"])
    deviceKey = (claims?["device_key"]?.text).flatMap { try? DeviceKey.checked($0) }
  }

  /// The scope `aws.cognito.signin.user.admin`. A token with unreadable claims may have that scope.
  static func mayChangeAccount(_ token: Secret) -> Bool {
    guard let claims = JWT.claims(of: token) else { return true }
    let scopes = claims["scope"]?.text?.split(separator: " ") ?? []
    return scopes.contains { $0.utf8.elementsEqual("aws.cognito.signin.user.admin".utf8) }
  }

  private static func name(_ value: JSONValue?) -> String? {
    value?.text.flatMap { try? UserPoolInput.username($0) }
  }
}

extension ProviderToken {
  enum Kind: String {
    case id
    case access

    var member: String {
      switch self {
      case .id: "IdToken"
      case .access: "AccessToken"
      }
    }

    /// Missing claims are no error, because a trigger of the pool may remove claims.
    fileprivate func check(_ claims: JSONValue?, of client: UserPoolClient) throws(InvalidInput) {
      if let use = claims?["token_use"]?.text, use != rawValue {
        throw InvalidInput(field: member, reason: "is a token for another use")
      }
      let owner = claims?[self == .id ? "aud" : "client_id"]
      if let owner, owner.text != client.id {
        throw InvalidInput(field: member, reason: "is for another app client")
      }
      // An emulator's issuer has another host.
      if let issuer = claims?["iss"]?.text, !issuer.hasSuffix("/\(client.pool)") {
        throw InvalidInput(field: member, reason: "is from another user pool")
      }
    }
  }
}

extension ProviderTokens {
  /// AuthenticationResult.
  init(_ result: JSONValue, of client: UserPoolClient) throws(InvalidInput) {
    self.init(
      id: try ProviderToken(result.requiredSecret("IdToken"), .id, of: client),
      access: try ProviderToken(result.requiredSecret("AccessToken"), .access, of: client),
      refresh: try Self.refreshToken(in: result),
      accessLifetime: result["ExpiresIn"]?.double.flatMap {
        (0...Self.longestLifetime).contains($0) ? .seconds($0) : nil
      },
      newDevice: try NewDevice(result["NewDeviceMetadata"]))
  }

  /// In seconds: a token lasts at most a day.
  private static let longestLifetime = 86_400.0

  private static func refreshToken(in result: JSONValue) throws(InvalidInput) -> Secret? {
    let name = "RefreshToken"
    if result[name]?.secret?.isEmpty ?? false { return nil }
    return try result[name].token(name, upTo: Limits.Upstream.tokenLength, where: \.isVisible)
  }
}

/// The reply to InitiateAuth and RespondToAuthChallenge.
public struct PoolSignInReply: Sendable, Equatable {
  public enum Step: Sendable, Equatable {
    case challenge(PoolChallenge)
    case tokens(ProviderTokens)
  }

  public let step: Step
  /// The server's time, from the reply's `Date`: for the next proof's timestamp, and for lifetimes.
  public let serverTime: WallTime?
}

extension UserPoolClient {
  /// Reads the reply to InitiateAuth, RespondToAuthChallenge and GetTokensFromRefreshToken.
  ///
  /// - Parameter purpose: the purpose of the request, which decides the meaning of a failure.
  public func signInReply(
    from reply: HTTPReply, to purpose: UserPoolPurpose
  ) throws(UpstreamFailure) -> PoolSignInReply {
    let object = try success(reply, purpose)
    return try checked(upstream) { () throws(InvalidInput) in
      if let result = object["AuthenticationResult"], result != .null {
        let tokens = try ProviderTokens(result, of: self)
        return PoolSignInReply(step: .tokens(tokens), serverTime: reply.date)
      }
      guard object["ChallengeName"] != nil else {
        throw InvalidInput(field: "the reply", reason: "has neither tokens nor a challenge")
      }
      return PoolSignInReply(
        step: .challenge(try PoolChallenge(object)), serverTime: reply.date)
    }
  }

  /// Reads the tokens of a renewal, which has no challenges.
  public func renewal(from reply: HTTPReply) throws(UpstreamFailure) -> ProviderTokens {
    guard case .tokens(let tokens) = try signInReply(from: reply, to: .renewal).step else {
      throw .malformed(
        InvalidInput(field: "the reply", reason: "asks for something in place of new tokens"),
        from: upstream)
    }
    return tokens
  }

  /// The object of a successful reply. Operations without an answer may have an empty body.
  func success(
    _ reply: HTTPReply, _ purpose: UserPoolPurpose, mayBeEmpty: Bool = false
  ) throws(UpstreamFailure) -> JSONValue {
    guard reply.status == 200, !reply.looksLikeHTML else {
      throw .userPool(reply, from: upstream, purpose)
    }
    if mayBeEmpty, reply.body.isEmpty { return .object([]) }
    return try JSONReply.object(reply.body, limit: Limits.UserPool.replyBytes, from: upstream)
  }
}

// MARK: Renewal and the end of a session

extension UserPoolClient {
  /// GetTokensFromRefreshToken, with and without rotation. The request carries the client's secret
  /// itself.
  ///
  /// - Parameter device: the key of the device to which the token is tied. Without it, Cognito
  ///   refuses such a token.
  public func getTokens(
    refreshToken: Secret, device: String? = nil
  ) -> HTTPRequest {
    clientRequest(.getTokensFromRefreshToken) {
      $0.field("RefreshToken", refreshToken)
      $0.field("ClientSecret", secret)
      $0.field("DeviceKey", device)
    }
  }

  /// A renewal by REFRESH_TOKEN_AUTH, for an older pool or emulator. A pool with rotation refuses
  /// it.
  ///
  /// - Parameter user: the immutable name. Only its hash is sent.
  public func initiateAuth(
    refreshToken: Secret, of user: PoolUsername, device: String? = nil
  ) -> HTTPRequest {
    clientRequest(.initiateAuth) {
      $0.field("AuthFlow", "REFRESH_TOKEN_AUTH")
      $0.field("AuthParameters") { writer in
        writer.field("REFRESH_TOKEN", refreshToken)
        writer.field("SECRET_HASH", user.secretHash)
        writer.field("DEVICE_KEY", device)
      }
    }
  }

  /// RevokeToken: ends a refresh token and all tokens made from it.
  ///
  /// - Parameter withSSO: whether the browser's session at the pool ends too, through which the sign-in
  ///   came.
  public func revoke(refreshToken: Secret, withSSO: Bool = false) -> HTTPRequest {
    clientRequest(.revokeToken) {
      $0.field("Token", refreshToken)
      $0.field("ClientSecret", secret)
      if withSSO { $0.field("RevokeAssociatedSessions", "LINKED") }
    }
  }

  /// GlobalSignOut: ends all tokens of the user, on all hosts.
  public func signOutGlobally(accessToken: Secret) -> HTTPRequest {
    userRequest(.globalSignOut, accessToken)
  }

  /// Reads the reply to RevokeToken and GlobalSignOut.
  public func endedSession(_ reply: HTTPReply) throws(UpstreamFailure) {
    _ = try success(reply, .signOut, mayBeEmpty: true)
  }
}
