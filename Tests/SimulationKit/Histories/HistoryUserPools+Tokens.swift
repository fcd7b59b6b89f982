import CredCore

/// Tokens, what becomes of refresh tokens, and what an access token is for.
extension HistoryUserPools {
  /// - Parameters:
  ///   - pool: its name.
  ///   - device: the one that the sign-in named.
  func newSession(_ user: User, at pool: String, on device: Int?) -> HTTPReply {
    let (family, refresh) = begin(user)
    let more = self.device(ofFamily: family, user, named: device)
    return .plain(200, result(user, family, pool, refresh: refresh, more))
  }

  /// The family of a sign-in, with its first refresh token.
  func begin(_ user: User) -> (family: Int, refresh: Int) {
    let family = upstreams.nextNumber()
    let refresh = add(.refresh, user, family, lifetime: 86_400)
    var tokens = RefreshTokens(refresh)
    // A pool is what its server's name makes it.
    tokens.rotates = user.server.utf8.reduce(0) { $0 &+ Int($1) } % 4 != 0
    tokens.hasGrace = user.server.utf8.count.isMultiple(of: 2)
    families[family] = (user, tokens)
    return (family, refresh)
  }

  /// All that came of a sign-in ends.
  func end(_ family: Int) { families[family]?.tokens.revokeAll() }

  /// - Parameter more: further members, after a comma.
  private func result(
    _ user: User, _ family: Int, _ pool: String, refresh: Int?, _ more: String = ""
  ) -> String {
    let issuer = issuer(of: pool)
    let lifetime = world.random.pick([300.0, 3600])
    let now = world.trueTime.milliseconds / 1000
    func token(_ kind: Given.Kind, _ claims: String) -> String {
      let number = handOut(kind, user, family, lifetime)
      issuers[number] = issuer
      return HistorySecret.token(
        number, expires: world.trueTime + .seconds(1) * lifetime,
        claims:
          #","iss":"\#(issuer)","iat":\#(now),"auth_time":\#(now),"sub":"sub-\#(user.person)",\#(claims)"#
      )
    }
    let id = token(.id, #""token_use":"id","cognito:username":"\#(user.name)""#)
    let access = token(
      .access,
      #""token_use":"access","username":"\#(user.name)","#
        + #""scope":"aws.cognito.signin.user.admin""#)
    let more = more + (refresh.map { #","RefreshToken":"\#(HistorySecret.text($0))""# } ?? "")
    return #"{"AuthenticationResult":{"IdToken":"\#(id)","AccessToken":"\#(access)","#
      + #""ExpiresIn":\#(Int(lifetime)),"TokenType":"Bearer"\#(more)}}"#
  }

  /// `iss` now. Each hour an administrator switches all pools to their other issuer.
  private func issuer(of pool: String) -> String {
    let isOriginal = (world.trueTime.milliseconds / 3_600_000).isMultiple(of: 2)
    let host = "\(isOriginal ? "" : "issuer-")cognito-idp.us-east-1.amazonaws.com"
    return "https://\(host)/us-east-1_\(pool)"
  }

  func renew(
    _ body: JSONValue?, _ process: Int, isProvider: Bool
  ) -> (reply: HTTPReply, replaced: Int?) {
    guard let number = body?["RefreshToken"].flatMap(number), let given = given[number],
      given.kind == .refresh, var family = families[given.family]
    else { return (.userPool("NotAuthorizedException", "Invalid Refresh Token."), nil) }
    judgeUse(of: number)
    // A process that was killed has sent its request; it may arrive after one of the next process.
    if replaced.contains(number), process == world.process {
      world.violate(
        .usedOnce,
        "refresh token \(number) of \(given.user.name) is used again after it was replaced")
    }
    if inUse[number] == process, family.tokens.rotates {
      world.violate(
        .usedOnce,
        "refresh token \(number) of \(given.user.name) is used twice at once")
    }
    guard mayRenew(given, with: body?["DeviceKey"]) else {
      return (.userPool("NotAuthorizedException", "Invalid Refresh Token."), nil)
    }
    inUse[number] = process
    let wasRevoked = family.tokens.live.isEmpty
    let renewal = family.tokens.renew(number) {
      add(.refresh, given.user, given.family, lifetime: 86_400)
    }
    families[given.family]?.tokens = family.tokens
    switch renewal {
    case .refused:
      signedOut(given.user.person)
      return wasRevoked
        ? (.userPool("NotAuthorizedException", "Refresh Token has been revoked"), nil)
        : (.userPool("RefreshTokenReuseException", "the token was replaced"), nil)
    case .kept: return (renewed(given, nil, body, isProvider), nil)
    case .replaced(let successor): return (renewed(given, successor, body, isProvider), number)
    }
  }

  private func renewed(
    _ given: Given, _ refresh: Int?, _ body: JSONValue?, _ isProvider: Bool
  ) -> HTTPReply {
    guard isProvider else {
      return .plain(
        200, result(given.user, given.family, Self.name(of: body), refresh: refresh))
    }
    return tokens(
      given.user, given.family, refresh: refresh, client: body?["ClientId"]?.text ?? "")
  }

  /// The reply to a renewal has arrived, or is lost.
  ///
  /// - Parameter token: which it used up.
  func answered(_ body: JSONValue?, token: Int?, isLost: Bool) {
    if let number = body?["RefreshToken"].flatMap(number) { inUse[number] = nil }
    deviceAnswered(body, isLost: isLost)
    guard let token else { return }
    if !isLost { replaced.insert(token) }
    guard isLost, let given = given[token], families[given.family]?.tokens.hasGrace == false else {
      return
    }
    // Nobody has its successor.
    signedOut(given.user.person)
  }

  // MARK: The own account

  func own(_ operation: String, _ body: JSONValue?) -> HTTPReply {
    guard let number = body?["AccessToken"].flatMap(number), let given = given[number],
      given.kind == .access, let family = families[given.family], !family.tokens.live.isEmpty
    else { return .userPool("NotAuthorizedException", "Access Token has been revoked") }
    guard given.ends > world.now else {
      return .userPool("NotAuthorizedException", "Access Token has expired")
    }
    let user = given.user
    if let reply = ownDevice(operation, body, user) { return reply }
    switch operation {
    case "GetUser":
      let number = upstreams.nextNumber()
      upstreams.gave(
        HistoryUpstreams.Token(
          persons: [user.person], identity: "", pool: "", server: user.server,
          ends: .distantFuture),
        as: number)
      return .plain(
        200,
        #"{"Username":"\#(user.name)","UserAttributes":[{"Name":"email","#
          + #""Value":"\#(HistorySecret.text(number))"}]}"#)
    case "ChangePassword":
      guard body?["PreviousPassword"]?.text == password(of: user.person, at: user.server) else {
        return .wrongPassword
      }
      passwords[user] = body?["ProposedPassword"]?.text
      return .plain(200, "{}")
    case "GlobalSignOut":
      for number in families.keys.sorted() where families[number]?.user == user {
        families[number]?.tokens.revokeAll()
      }
      signedOut(user.person)
      return .plain(200, "{}")
    default: return .userPool("InvalidParameterException", "what is this?")
    }
  }
}
