import CredCore
import CredService

/// What an upstream is asked, read from the bytes of a request.
struct UpstreamQuestion {
  enum Kind {
    case login(isRight: Bool)
    case logout
    /// For a token; signed where Cognito itself is asked.
    case token(isSigned: Bool)
    case getID
    case getOpenIDToken
    case getCredentials
    case assumeRole(duration: Double)
  }

  /// A place in ``SimulatedUpstreams/endpoints``.
  let endpoint: Int
  let kind: Kind
  /// Of the one who asks, where the request says.
  var owner: Owner?
  /// The token that is to be exchanged, and whether there is one at all.
  var token: Seal?
  var hasToken = false
  /// Whose the identity is that the request names.
  var identity: Owner?

  /// Whether it is one of the calls of which a session makes one at a time.
  var isOfSession: Bool { if case .logout = kind { false } else { true } }

  var words: String {
    switch kind {
    case .login: "a sign-in"
    case .logout: "a sign-out"
    case .token: "a token callback"
    case .getID: "GetId"
    case .getOpenIDToken: "GetOpenIdToken"
    case .getCredentials: "GetCredentialsForIdentity"
    case .assumeRole: "AssumeRoleWithWebIdentity"
    }
  }
}

// MARK: Reading

extension SimulatedUpstreams {
  func read(_ request: HTTPRequest) -> UpstreamQuestion? {
    if let address = addresses[request.url] {
      let body = try? JSONValue.parse(request.body.bytes)
      if address.isLogin { return login(body, address.endpoint) }
      let bearer = request.header("Authorization").flatMap { Seal($0.bytes) }
      if address.isLogout {
        return UpstreamQuestion(endpoint: address.endpoint, kind: .logout, owner: bearer?.owner)
      }
      return callback(body, bearer, isSigned: false, address.endpoint)
    }
    guard let target = request.header("X-Amz-Target")?.exposedText() else { return role(request) }
    let operation = target.split(separator: ".").last.map(String.init) ?? ""
    let body = try? JSONValue.parse(request.body.bytes)
    if operation == "GetOpenIdTokenForDeveloperIdentity" {
      return configuration.backends.firstIndex { $0.type == "cognito" }.flatMap {
        callback(body, nil, isSigned: true, $0)
      }
    }
    return identityCall(operation, body)
  }

  func read(_ command: Command) -> UpstreamQuestion? {
    configuration.backends.firstIndex { $0.command == command.arguments.first }.flatMap {
      callback(try? JSONValue.parse(command.input.bytes), nil, isSigned: false, $0)
    }
  }

  private func login(_ body: JSONValue?, _ endpoint: Int) -> UpstreamQuestion {
    let number = (body?["Username"]?.secret).flatMap { Int($0.bytes) }
    let isRight = body?["Password"]?.text == SimulatedPeople.password
    return UpstreamQuestion(
      endpoint: endpoint, kind: .login(isRight: isRight), owner: number.map(Owner.init(number:)))
  }

  /// A user who signed in is whom the session token names; else it is the host's user.
  private func callback(
    _ body: JSONValue?, _ bearer: Seal?, isSigned: Bool, _ endpoint: Int
  ) -> UpstreamQuestion? {
    let identifier =
      isSigned
      ? body?["Logins"]?["login.example.app"]?.text : body?["DeveloperUserIdentifier"]?.text
    let owner = bearer?.owner ?? identifier.flatMap(SimulatedUsers.owner(ofIdentifier:))
    return UpstreamQuestion(endpoint: endpoint, kind: .token(isSigned: isSigned), owner: owner)
  }

  private func identityCall(_ operation: String, _ body: JSONValue?) -> UpstreamQuestion? {
    let kind: UpstreamQuestion.Kind
    switch operation {
    case "GetId": kind = .getID
    case "GetOpenIdToken": kind = .getOpenIDToken
    case "GetCredentialsForIdentity": kind = .getCredentials
    default: return nil
    }
    guard let endpoint = endpoints.firstIndex(where: { $0.name == operation }) else { return nil }
    var question = UpstreamQuestion(endpoint: endpoint, kind: kind)
    question.identity = (body?["IdentityId"]?.text).flatMap(Owner.init(identity:))
    if case .object(let logins) = body?["Logins"], let first = logins.first {
      question.hasToken = true
      question.token = (first.value.secret).flatMap { Seal($0.bytes) }
    }
    question.owner = question.token?.owner ?? question.identity
    return question
  }

  private func role(_ request: HTTPRequest) -> UpstreamQuestion? {
    let form = request.body.bytes
    let duration = form.field("DurationSeconds").flatMap {
      Double(String(decoding: $0, as: UTF8.self))
    }
    var question = UpstreamQuestion(
      endpoint: endpoints.count - 1, kind: .assumeRole(duration: duration ?? 3600))
    question.hasToken = true
    question.token = form.field("WebIdentityToken").flatMap { Seal($0) }
    question.owner = question.token?.owner
    return question
  }
}

// MARK: Answering

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
      // Nobody can speak for a user without a login.
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
    // A command says no time.
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

extension HTTPRequest {
  fileprivate func header(_ name: String) -> Secret? {
    headers.first { $0.name == name }?.value
  }
}

extension [UInt8] {
  /// A field of a form; the simulation's values need no decoding.
  fileprivate func field(_ name: String) -> ArraySlice<UInt8>? {
    for pair in split(separator: UInt8(ascii: "&")) where pair.starts(with: name.utf8) {
      let value = pair.dropFirst(name.utf8.count)
      if value.first == UInt8(ascii: "=") { return value.dropFirst() }
    }
    return nil
  }
}
