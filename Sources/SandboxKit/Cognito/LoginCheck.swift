import FoundationEssentials

/// The proven logins of one request.
struct ProvenLogins {
  /// The developer token among them, if any.
  var developerToken: DeveloperToken?
  /// The public logins, each checked with its provider.
  var logins: Set<Login> = []
  /// The roles that a SAML assertion allows.
  var roles: Set<String> = []
  /// The provider of that assertion.
  var roleProvider: String?
}

extension SandboxState {
  /// Checks these logins for a pool.
  func prove(
    _ logins: [String: String], in pool: String, at now: Date
  ) throws(ServiceError) -> ProvenLogins {
    try LoginCheck(state: self, pool: self.pool(pool), now: now).prove(logins)
  }
}

extension SandboxState {
  /// The claims of an ID token that the provider's key has signed.
  func verifiedClaims(
    in token: String, of provider: LoginProvider
  ) throws -> JSON {
    if let pool = userPool(provider) {
      return try PoolKeys.shared.verifiedClaims(in: token, of: pool.id)
    }
    if publishedKeys.names(provider.name) {
      return try publishedKeys.verifiedClaims(in: token, of: provider.name)
    }
    return try issuer.verifiedClaims(in: token, algorithm: .rs256)
  }
}

/// Checks the tokens of a logins map, with Cognito's error texts.
struct LoginCheck {
  /// The key of Cognito's own tokens.
  static let cognito = "cognito-identity.amazonaws.com"

  let state: SandboxState
  let pool: IdentityPool
  let now: Date

  func prove(_ logins: [String: String]) throws(ServiceError) -> ProvenLogins {
    var proven = ProvenLogins()
    for (provider, token) in logins.sorted(by: { $0.key < $1.key }) {
      if provider == LoginCheck.cognito {
        proven.developerToken = try developerToken(token)
      } else {
        let entry = try publicLogin(token, provider: provider)
        proven.logins.insert(entry.login)
        proven.roles.formUnion(entry.roles)
        if !entry.roles.isEmpty { proven.roleProvider = provider }
      }
    }
    return proven
  }

  /// A Cognito token, for this pool.
  func developerToken(_ text: String) throws(ServiceError) -> DeveloperToken {
    let token: DeveloperToken
    do {
      token = try state.verified(text, at: now)
    } catch {
      throw switch error {
      case .malformed, .wrongIssuer: LoginCheck.invalid("Not a Cognito token.")
      case .unverified: LoginCheck.invalid("Couldn't verify signed token.")
      case .expired(let now, let expiry): LoginCheck.expired(now, expiry)
      }
    }
    guard token.pool == pool.id else { throw LoginCheck.invalid("Incorrect token audience.") }
    return token
  }

  /// A token of a provider that this pool accepts.
  func publicLogin(
    _ token: String, provider name: String
  ) throws(ServiceError) -> ProviderTokens.Entry {
    guard name != pool.developerProvider, name.contains(".") || name.hasPrefix("arn:") else {
      throw ServiceError("InvalidParameterException", "Please provide a valid public provider")
    }
    guard let provider = pool.provider(name) else {
      throw LoginCheck.notAuthorized(
        "Token is not from a supported provider of this identity pool.")
    }
    if provider.kind == .openID { return try openIDLogin(token, provider, as: name) }
    guard let entry = state.providerTokens[token] else {
      throw LoginCheck.notAuthorized("Invalid login token.")
    }
    guard entry.login.provider == name else {
      throw LoginCheck.invalid("Issuer doesn't match providerName")
    }
    guard now < entry.expiration else {
      throw LoginCheck.expired(now.epochSeconds, entry.expiration.epochSeconds)
    }
    return entry
  }

  /// Whether a token's issuer is the one that its key in the logins map names.
  private func fits(_ issuer: String?, _ provider: LoginProvider, as key: String) -> Bool {
    guard let userPool = state.userPool(provider) else { return provider.isIssuer(issuer) }
    switch pool.userPoolKeys {
    case .documented: return userPool.naming.isIssuer(issuer)
    case .issuer, .separate: return issuer == "https://" + key
    }
  }

  /// - Parameter key: the key in the logins map.
  private func openIDLogin(
    _ token: String, _ provider: LoginProvider, as key: String
  ) throws(ServiceError) -> ProviderTokens.Entry {
    let claims: JSON
    do {
      // The issuer comes first, because the signature is checked with its keys.
      let claimed = try TokenIssuer.claims(in: token)
      guard fits(claimed["iss"]?.text, provider, as: key) else {
        throw LoginCheck.invalid("Issuer doesn't match providerName")
      }
      claims = try state.verifiedClaims(in: token, of: provider)
    } catch let error as ServiceError {
      throw error
    } catch TokenIssuer.Fault.malformed {
      throw LoginCheck.invalid("Not a valid OpenId Connect identity token.")
    } catch {
      throw LoginCheck.invalid("Couldn't verify signed token.")
    }
    guard let subject = claims["sub"]?.text, let expiry = claims["exp"]?.integer else {
      throw LoginCheck.invalid("Not a valid OpenId Connect identity token.")
    }
    guard claims["aud"] != nil else {
      throw LoginCheck.invalid("Missing a required claim: aud")
    }
    // If there is an authorized party, it counts instead of the audience.
    guard provider.accepts(claims["azp"]?.text ?? claims["aud"]?.text) else {
      throw LoginCheck.invalid("Incorrect token audience.")
    }
    guard now.epochSeconds < expiry else { throw LoginCheck.expired(now.epochSeconds, expiry) }
    if let pool = state.userPool(provider) { try check(claims, of: pool, provider) }
    return ProviderTokens.Entry(
      login: Login(
        provider: pool.userPoolKeys == .separate ? key : provider.name, subject: subject),
      expiration: Date(timeIntervalSince1970: Double(expiry)))
  }

  /// Checks the properties of a user pool's token that other tokens do not have.
  private func check(
    _ claims: JSON, of pool: UserPool, _ provider: LoginProvider
  ) throws(ServiceError) {
    guard claims["token_use"]?.text == "id" else {
      throw LoginCheck.invalid("Not a valid OpenId Connect identity token.")
    }
    guard provider.checksTokens else { return }
    // A token of the control path has no session.
    let session = claims["origin_jti"]?.text.map { pool.sessions[$0] }
    let user = claims["cognito:username"]?.text.flatMap(pool.user)
    guard let user, user.sub == claims["sub"]?.text, !user.isDisabled,
      session.map({ $0.map { !$0.isSignedOut } ?? false }) ?? true
    else { throw LoginCheck.invalid("Token has been revoked.") }
  }

  static func notAuthorized(_ message: String) -> ServiceError {
    ServiceError("NotAuthorizedException", message)
  }

  static func invalid(_ reason: String) -> ServiceError {
    notAuthorized("Invalid login token. " + reason)
  }

  static func expired(_ now: Int, _ expiry: Int) -> ServiceError {
    invalid("Token expired: \(now) >= \(expiry)")
  }

  static func forbidden(_ identity: String) -> ServiceError {
    notAuthorized("Access to Identity '\(identity)' is forbidden.")
  }

  static let noGuests = notAuthorized(
    "Unauthenticated access is not supported for this identity pool.")

  static let mismatch = notAuthorized(
    "Logins don't match. Please include at least one valid login for this identity or identity "
      + "pool.")
}
