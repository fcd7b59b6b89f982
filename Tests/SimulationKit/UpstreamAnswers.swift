import CredCore

/// The answers of backends, Cognito and STS: they know each token's owner and end.
extension SimulatedUpstreams {
  func answer(to question: UpstreamQuestion) -> UpstreamResult {
    switch question.kind {
    case .login(let isRight):
      guard isRight, let owner = question.owner else { return .status(401) }
      oracle.passwordTaken(owner)
      let session = Seal(owner, end: .distantFuture, lifetime: .zero)
      return .json(nil) {
        $0.field("SessionToken", Secret(session.text))
        $0.field("DeveloperUserIdentifier", String(decoding: owner.hex, as: UTF8.self))
      }
    case .logout: return .json(nil) { _ in }
    case .token(let isSigned):
      guard let owner = question.owner else { return .status(401) }
      return token(of: owner, question.endpoint, isCognitos: isSigned)
    case .getID, .getOpenIDToken, .getCredentials, .assumeRole:
      if let refusal = refusal(of: question) { return refusal }
      return exchange(question)
    }
  }

  private func refusal(of question: UpstreamQuestion) -> UpstreamResult? {
    if case .assumeRole = question.kind {
      guard let token = question.token else { return .sts("InvalidIdentityToken") }
      return token.end <= world.now ? .sts("ExpiredTokenException") : nil
    }
    guard question.hasToken else {
      // Without a login only guests get an answer.
      return question.identity.map(\.isGuest) ?? true
        ? nil : .cognito("Access to Identity is forbidden.")
    }
    guard let token = question.token else {
      return .cognito("Invalid login token. Not a Cognito token.")
    }
    guard token.end > world.now else {
      return .cognito("Invalid login token. Token expired: 1 >= 0")
    }
    guard question.identity.map({ $0 == token.owner }) ?? true else {
      return .cognito("Access to Identity is forbidden.")
    }
    return nil
  }

  private func exchange(_ question: UpstreamQuestion) -> UpstreamResult {
    let known = question.token?.owner ?? question.identity
    switch question.kind {
    case .getID:
      let owner = known ?? newGuest()
      return .json(world.trueTime) { $0.field("IdentityId", owner.identity) }
    case .getOpenIDToken:
      guard let known else { return .cognito("There is no such identity.") }
      return token(of: known, question.endpoint, isCognitos: true)
    case .getCredentials:
      guard let known else { return .cognito("There is no such identity.") }
      let usual = known.session.map { oracle.sessions[$0].lifetime } ?? guests[known.guest]
      return credentials(of: known, usual, question.endpoint)
    case .assumeRole(let duration):
      guard let known else { return .sts("InvalidIdentityToken") }
      return role(of: known, duration, question.endpoint)
    case .login, .logout, .token: return .status(400)
    }
  }

  private func newGuest() -> Owner {
    guests.append(world.random.pick([900, 1800, 3600, 3600]))
    return Owner(guest: guests.count - 1)
  }

  /// - Parameter isCognitos: Cognito's own replies always have a `Date`, and its tokens an end.
  private func token(of owner: Owner, _ index: Int, isCognitos: Bool) -> UpstreamResult {
    let lifetime = lifetime(world.random.pick([60, 600, 900, 900, 900, 86_400]), index)
    let chance = isCognitos ? 9 : world.random.index(10)
    // A command reports no time.
    let (hasEnd, hasDate) = (chance > 0, chance > 3 && !endpoints[index].isCommand)
    let seal = seal(owner, lifetime, isEndKnown: hasEnd && hasDate)
    let expires = hasEnd ? world.trueTime + .seconds(1) * lifetime : nil
    return .json(hasDate ? world.trueTime : nil) {
      $0.field("IdentityId", owner.identity)
      $0.field("Token", Secret(seal.token(expires: expires)))
    }
  }

  private func credentials(of owner: Owner, _ usual: Double, _ index: Int) -> UpstreamResult {
    let lifetime = lifetime(usual, index)
    let seal = seal(owner, lifetime)
    oracle.credentialsIssued(seal)
    let expires = world.trueTime + .seconds(1) * lifetime
    return .json(world.trueTime) {
      $0.field("IdentityId", owner.identity)
      $0.key("Credentials")
      $0.beginObject()
      $0.field("AccessKeyId", "ASIA" + String(decoding: owner.hex, as: UTF8.self))
      $0.field("SecretKey", Secret(seal.text))
      $0.field("SessionToken", Secret(seal.text))
      $0.key("Expiration")
      $0.raw(Array(expires.decimalSeconds.utf8))
      $0.endObject()
    }
  }

  private func role(of owner: Owner, _ duration: Double, _ index: Int) -> UpstreamResult {
    let lifetime = lifetime(duration, index)
    let seal = seal(owner, lifetime)
    oracle.credentialsIssued(seal)
    let secret = String(decoding: seal.text, as: UTF8.self)
    let key = "ASIA" + String(decoding: owner.hex, as: UTF8.self)
    let expires = (world.trueTime + .seconds(1) * lifetime).iso8601
    let result = "AssumeRoleWithWebIdentityResult"
    return .reply(
      HTTPReply(
        status: 200, headers: [.date(world.trueTime)],
        body: Secret(
          """
          <AssumeRoleWithWebIdentityResponse><\(result)><Credentials>\
          <AccessKeyId>\(key)</AccessKeyId><SecretAccessKey>\(secret)</SecretAccessKey>\
          <SessionToken>\(secret)</SessionToken><Expiration>\(expires)</Expiration></Credentials>\
          <AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/app/user</Arn>\
          </AssumedRoleUser></\(result)></AssumeRoleWithWebIdentityResponse>
          """)))
  }

  private func lifetime(_ usual: Double, _ index: Int) -> Double {
    if case .shortLived(let seconds) = endpoints[index].condition { seconds } else { usual }
  }

  /// `Date` has whole seconds, so credd counts up to one more. For what lasts longer than that,
  /// credd's own margin is larger.
  private func seal(_ owner: Owner, _ lifetime: Double, isEndKnown: Bool = true) -> Seal {
    let slack = lifetime < 15 ? Seal.slack : 0
    return Seal(
      owner, end: world.later(lifetime + slack), lifetime: .seconds(1) * lifetime,
      isEndKnown: isEndKnown)
  }
}

extension UpstreamResult {
  static func status(_ status: Int) -> Self { .reply(HTTPReply(status: status, body: Secret([]))) }

  static func json(_ date: WallTime?, _ members: (inout JSONWriter) -> Void) -> Self {
    json(status: 200, date, members)
  }

  static func cognito(_ message: String) -> Self {
    json(status: 400, nil) {
      $0.field("__type", "NotAuthorizedException")
      $0.field("message", message)
    }
  }

  static func sts(_ code: String) -> Self {
    let error = "<ErrorResponse><Error><Code>\(code)</Code></Error></ErrorResponse>"
    return .reply(HTTPReply(status: 400, body: Secret(error)))
  }

  private static func json(
    status: Int, _ date: WallTime?, _ members: (inout JSONWriter) -> Void
  ) -> Self {
    var writer = JSONWriter(capacity: 512)
    writer.beginObject()
    members(&writer)
    writer.endObject()
    return .reply(
      HTTPReply(
        status: status, headers: date.map { [.date($0)] } ?? [], body: Secret(writer.bytes)))
  }
}

extension HTTPReply.Header {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// `Date`, as RFC 9110 §5.6.7 writes it. credd reads any day's name, so it is always the same.
  static func date(_ time: WallTime) -> Self {
    let text = Array(time.iso8601.utf8)
    func part(_ range: Range<Int>) -> String { String(decoding: text[range], as: UTF8.self) }
    let month = months[(Int(part(5..<7)) ?? 1) - 1]
    return Self(
      name: "Date", value: "Mon, \(part(8..<10)) \(month) \(part(0..<4)) \(part(11..<19)) GMT")
  }
}

extension JSONWriter {
  fileprivate mutating func field(_ name: String, _ value: String) {
    key(name)
    string(value)
  }

  fileprivate mutating func field(_ name: String, _ value: Secret) {
    key(name)
    string(value)
  }
}
