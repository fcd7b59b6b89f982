@testable import CredCore

/// What a user pool gives in the tests of sessions.
extension Fixtures {
  static var userPool: UserPoolID {
    guard let pool = issuer.pool else { preconditionFailure("the fixtures have a user pool") }
    return pool
  }

  static let issuer: PoolIssuer = {
    do {
      return try PoolSamples.client().issuer
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  /// - Parameters:
  ///   - lifetime: of the ID token, in seconds.
  ///   - number: tells the ID tokens of different renewals apart.
  func poolTokens(
    _ username: String = "alice", lifetime: Double = 3600, number: Int = 1,
    refresh: String? = nil
  ) -> PoolTokens {
    let times =
      #""sub":"s-1","iat":1767323045,"auth_time":1767320000,"exp":\#(1_767_323_045 + Int(lifetime))"#
    let id = Samples.jwt(
      #"{\#(times),"token_use":"id","cognito:username":"\#(username)","n":\#(number)}"#)
    let access = Samples.jwt(#"{\#(times),"token_use":"access","username":"\#(username)"}"#)
    var text = #"{"IdToken":"\#(id)","AccessToken":"\#(access)","ExpiresIn":3600"#
    if let refresh { text += #","RefreshToken":"\#(refresh)""# }
    text += "}"
    do {
      let value = try JSONValue.parse(Array(text.utf8))
      return try PoolTokens(value, of: PoolSamples.client())
    } catch {
      preconditionFailure("\(error)")
    }
  }

  func poolSignIn(
    _ username: String = "alice", at now: Instant = .seconds(1000),
    of issuer: PoolIssuer = Fixtures.issuer,
    lifetime: Double = 3600, refresh: String? = "refresh-1", device: String? = nil
  ) -> SignInInput {
    .poolTokens(
      PoolSignIn(
        tokens: poolTokens(username, lifetime: lifetime, refresh: refresh), username: username,
        deviceKey: device, issuer: issuer, serverTime: nil, received: now))
  }

  /// The login of the pool's ID token.
  func poolLogins(_ username: String = "alice", number: Int = 1, lifetime: Double = 3600)
    -> LoginsMap
  {
    var logins = LoginsMap()
    let tokens = poolTokens(username, lifetime: lifetime, number: number)
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
        backend: .userPool(Fixtures.issuer), allowsGuests: guests,
        keepsAccessToken: keepsAccessToken))
  }

  /// A user of a pool signs in, and gets credentials.
  mutating func signInAtPool(_ fixtures: Fixtures = Fixtures(), lifetime: Double = 3600) {
    login(fixtures.poolSignIn(at: now, lifetime: lifetime))
    finish(.identity(fixtures.identity), after: 0)
    finish(fixtures.credentials(), after: 0)
    forgetAll()
  }

  var poolSession: PoolSession? { machine.state.poolSession }
}
