import FoundationEssentials
import Synchronization

/// The keys with which user pools sign: two for each pool, made when they are first needed.
///
/// Making a key takes tenths of a second, so all sandboxes of a process share the keys of a pool's
/// id.
final class PoolKeys: Sendable {
  enum Use: String, Sendable { case id, access }

  static let shared = PoolKeys()

  private let issuers = Mutex<[String: TokenIssuer]>([:])

  func issuer(_ pool: String, _ use: Use) throws(ServiceError) -> TokenIssuer {
    let issuer = issuers.withLock { issuers -> TokenIssuer? in
      let name = pool + " " + use.rawValue
      if let issuer = issuers[name] { return issuer }
      guard let issuer = try? TokenIssuer() else { return nil }
      issuers[name] = issuer
      return issuer
    }
    guard let issuer else { throw .poolInternal }
    return issuer
  }

  /// The claims of a token, if one of the pool's keys has signed it.
  func verifiedClaims(in token: String, of pool: String) throws -> JSON {
    do {
      return try issuer(pool, .id).verifiedClaims(in: token, algorithm: .rs256)
    } catch TokenIssuer.Fault.unverified {
      return try issuer(pool, .access).verifiedClaims(in: token, algorithm: .rs256)
    }
  }
}

/// The tokens of a sign-in.
extension UserPool {
  static let accountScope = "aws.cognito.signin.user.admin"

  /// Ends a sign-in with tokens.
  mutating func signedIn(_ signIn: SignIn, _ user: PoolUser) throws(ServiceError) -> JSON {
    let client = try client(signIn.client)
    var key = signIn.deviceKey
    var metadata: JSON?
    if settings.devices != .off, key == nil {
      let device = try newDevice(of: user.username)
      key = device.key
      metadata = ["DeviceKey": .string(device.key), "DeviceGroupKey": .string(device.group)]
    } else if let key {
      let now = now
      try change(user.username) { user throws(ServiceError) in
        user.devices[key]?.lastAuthenticated = now
      }
    }
    let session = openSession(
      of: user.username, at: client, began: signIn.began, deviceKey: key)
    var result = try tokens(of: session, user, client)
    result["RefreshToken"] = .string(sessions.newToken(for: session.id, random: &random))
    result["NewDeviceMetadata"] = metadata
    return ["AuthenticationResult": .object(result), "ChallengeParameters": [:]]
  }

  /// New ID and access tokens.
  mutating func tokens(
    of session: PoolSession, _ user: PoolUser, _ client: AppClient
  ) throws(ServiceError) -> [String: JSON] {
    let event = random.uuid()
    var common: [String: JSON] = [
      "sub": .string(user.sub), "iss": .string(issuer), "event_id": .string(event),
      "origin_jti": .string(session.id), "auth_time": seconds(session.began),
      "iat": seconds(now),
    ]
    if !user.groups.isEmpty { common["cognito:groups"] = .array(user.groups.map { .string($0) }) }
    var access = common
    access["token_use"] = "access"
    access["client_id"] = .string(client.id)
    access["username"] = .string(user.username)
    access["scope"] = .string(UserPool.accountScope)
    access["version"] = 2
    access["jti"] = .string(random.uuid())
    access["exp"] = seconds(now, after: client.accessTokenLifetime)
    if let key = session.deviceKey { access["device_key"] = .string(key) }
    var identity = common
    for (name, value) in user.attributes {
      identity[name] = name.hasSuffix("_verified") ? .bool(value == "true") : .string(value)
    }
    identity["token_use"] = "id"
    identity["aud"] = .string(client.id)
    identity["cognito:username"] = .string(user.username)
    identity["jti"] = .string(random.uuid())
    identity["exp"] = seconds(now, after: client.idTokenLifetime)
    return [
      "AccessToken": .string(try signed(.object(access), .access)),
      "IdToken": .string(try signed(.object(identity), .id)),
      "ExpiresIn": .number(Double(client.accessTokenLifetime)), "TokenType": "Bearer",
    ]
  }

  private func seconds(_ time: Date, after life: Int = 0) -> JSON {
    .number(Double(time.epochSeconds + life))
  }

  func signed(_ claims: JSON, _ use: PoolKeys.Use) throws(ServiceError) -> String {
    let issuer = try PoolKeys.shared.issuer(id, use)
    do {
      return try issuer.token(claims, algorithm: .rs256, hasType: false)
    } catch { throw .poolInternal }
  }

  /// An ID token for the control path; its user need not exist.
  func idToken(
    subject: String, audience: String, issuer: String, expiration: Int
  ) throws(ServiceError) -> String {
    try signed(
      [
        "sub": .string(subject), "iss": .string(issuer), "aud": .string(audience),
        "token_use": "id", "cognito:username": .string(subject), "auth_time": seconds(now),
        "iat": seconds(now), "exp": .number(Double(expiration)),
      ], .id)
  }
}

/// Access tokens, as the operations of a user's own account take them.
extension UserPool {
  /// The user of an access token.
  ///
  /// - Returns: also the session and the claims.
  func holder(of token: String) throws(ServiceError) -> (user: PoolUser, session: PoolSession) {
    guard
      let claims = try? PoolKeys.shared.issuer(id, .access)
        .verifiedClaims(in: token, algorithm: .rs256),
      naming.isIssuer(claims["iss"]?.text), claims["token_use"]?.text == "access",
      let expiry = claims["exp"]?.integer, let name = claims["username"]?.text,
      let origin = claims["origin_jti"]?.text
    else { throw .invalidAccessToken }
    guard now.epochSeconds < expiry else { throw .expiredAccessToken }
    let scopes = (claims["scope"]?.text ?? "").split(separator: " ")
    guard scopes.contains(where: { $0 == UserPool.accountScope }) else {
      throw .poolRefused("Access Token does not have required scopes")
    }
    guard let user = user(name), user.sub == claims["sub"]?.text else { throw .unknownUser }
    guard let session = sessions[origin], !session.isRevoked else { throw .revokedAccessToken }
    guard !user.isDisabled else { throw .disabledUser }
    return (user, session)
  }

  /// Public keys (RFC 7517).
  func keySet() throws(ServiceError) -> JSON {
    var keys: [JSON] = []
    for use in [PoolKeys.Use.id, .access] {
      guard let key = try? PoolKeys.shared.issuer(id, use).publicKey(for: .rs256) else {
        throw .poolInternal
      }
      keys.append(key)
    }
    return ["keys": .array(keys)]
  }

  /// OpenID Connect Discovery, without the pages of the Hosted UI.
  var discovery: JSON {
    [
      "issuer": .string(issuer), "jwks_uri": .string(issuer + "/.well-known/jwks.json"),
      "id_token_signing_alg_values_supported": ["RS256"],
      "subject_types_supported": ["public"], "response_types_supported": ["code", "token"],
      "scopes_supported": ["openid", "email", "phone", "profile"],
    ]
  }
}
