@testable import CredCore

/// What a user pool gives in the tests of sessions.
extension Fixtures {
  static var userPool: UserPoolID {
    guard let pool = issuer.pool else { preconditionFailure("the fixtures have a user pool") }
    return pool
  }

  static let issuer: ProviderIssuer = {
    do {
      return try PoolSamples.client().issuer
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  /// - Parameters:
  ///   - lifetime: of the ID token, in seconds.
  ///   - number: tells the ID tokens of different renewals apart.
  ///   - form: which of its issuers the pool has then; nil for tokens that name none.
  func providerTokens(
    _ username: String = "alice", lifetime: Double = 3600, number: Int = 1,
    refresh: String? = nil, form: PoolIssuers.Form? = nil
  ) -> ProviderTokens {
    let issuer = form.map { #","iss":"\#(PoolIssuers(Self.userPool).issuer($0))""# } ?? ""
    let times =
      #""sub":"s-1","iat":1767323045,"auth_time":1767320000,"exp":\#(1_767_323_045 + Int(lifetime))"#
    let id = Samples.jwt(
      #"{\#(times),"token_use":"id","cognito:username":"\#(username)","n":\#(number)\#(issuer)}"#)
    let access = Samples.jwt(#"{\#(times),"token_use":"access","username":"\#(username)"}"#)
    var text = #"{"IdToken":"\#(id)","AccessToken":"\#(access)","ExpiresIn":3600"#
    if let refresh { text += #","RefreshToken":"\#(refresh)""# }
    text += "}"
    do {
      let value = try JSONValue.parse(Array(text.utf8))
      return try ProviderTokens(value, of: PoolSamples.client())
    } catch {
      preconditionFailure("\(error)")
    }
  }

  func poolSignIn(
    _ username: String = "alice", at now: Instant = .seconds(1000),
    of issuer: ProviderIssuer = Fixtures.issuer,
    lifetime: Double = 3600, refresh: String? = "refresh-1", device: String? = nil,
    form: PoolIssuers.Form? = nil
  ) -> SignInInput {
    .providerTokens(
      AcceptedSignIn(
        tokens: providerTokens(username, lifetime: lifetime, refresh: refresh, form: form),
        username: username,
        deviceKey: device, issuer: issuer, serverTime: nil, received: now))
  }

  /// The login of the pool's ID token.
  func providerLogins(_ username: String = "alice", number: Int = 1, lifetime: Double = 3600)
    -> LoginsMap
  {
    var logins = LoginsMap()
    let tokens = providerTokens(username, lifetime: lifetime, number: number)
    try? logins.set(Self.issuer.loginsKey, token: tokens.id.token)
    return logins
  }
}

extension SessionDriver {
  /// A session of a user pool, without a sign-in.
  static func ofUserPool(
    guests: Bool = false, keepsAccessToken: Bool = false
  ) -> SessionDriver {
    SessionDriver(
      plan: SessionPlan(
        backend: .provider(Fixtures.issuer), allowsGuests: guests,
        keepsAccessToken: keepsAccessToken))
  }

  /// A session of a profile that gives a user pool's tokens alone, without a sign-in.
  static func ofTokensAlone(seed: UInt64 = 1) -> SessionDriver {
    SessionDriver(
      plan: SessionPlan(
        backend: .provider(Fixtures.issuer), way: .tokens, keepsAccessToken: true),
      seed: seed)
  }

  /// A user of a pool signs in, and gets credentials.
  mutating func signInAtPool(_ fixtures: Fixtures = Fixtures(), lifetime: Double = 3600) {
    login(fixtures.poolSignIn(at: now, lifetime: lifetime))
    finish(.identity(fixtures.identity), after: 0)
    finish(fixtures.credentials(), after: 0)
    forgetAll()
  }

  var providerSession: ProviderSession? { machine.state.providerSession }
}

extension Fixtures {
  /// What Cognito answers to a token under the key of another issuer.
  static let wrongKey = cognitoRefusal("Invalid login token. Issuer doesn't match providerName")

  /// NotAuthorizedException in Cognito's own words.
  static func cognitoRefusal(_ message: String) -> UpstreamOutcome {
    let reply = Samples.reply(
      400, #"{"__type":"NotAuthorizedException","message":"\#(message)"}"#)
    return .failed(
      .aws(
        reply, RemoteError(json: reply, limit: 10_000), from: .cognitoIdentity,
        table: FailureTable.cognito))
  }
}

extension UpstreamCall {
  /// Under which key of its two the pool's token is in the call, and whether that is the wrong one by the
  /// token's issuer; nil for a call without it.
  var poolKey: (form: PoolIssuers.Form, isWrong: Bool)? {
    let logins: LoginsMap
    switch self {
    case .getID(let map), .getOpenIDToken(_, let map), .getCredentials(_, let map, _): logins = map
    default: return nil
    }
    let issuers = PoolIssuers(Fixtures.userPool)
    for form in [PoolIssuers.Form.original, .updated] {
      guard let token = logins[issuers.loginsKey(form)] else { continue }
      let issuer = JWT.claims(of: token)?["iss"]?.text
      return (form, issuer.map { $0 != issuers.issuer(form) } ?? false)
    }
    return nil
  }
}
