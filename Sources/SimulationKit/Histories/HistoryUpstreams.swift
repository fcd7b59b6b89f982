import CredCore
import CredService
import Logging

/// Backends, Cognito and STS, which remember what they gave and for whom.
final class HistoryUpstreams: HTTPSending, CommandRunning, CryptoLoading {
  /// A token or a sign-in session.
  struct Token {
    /// The persons whom the issuer may have meant; nil where all users are one to it.
    let persons: Set<Int>?
    let identity: String
    let pool: String
    /// The server that gave it; nil for what Cognito and public providers give.
    let server: String?
    let ends: Instant
    var isRevoked = false
  }

  /// Credentials.
  struct Keys {
    let persons: Set<Int>?
    let identity: String
    let pool: String
    let ends: Instant
  }

  /// What is known of an identity.
  struct Identity {
    let pool: String
    var isGuest: Bool
    /// Whether an app got it by itself: no backend of credd's ever gave it.
    var isOfApp = false
    /// Those whose own token or backend it came with; nil for everybody.
    var persons: Set<Int>?
  }

  let world: World
  let people: HistoryPeople
  var trouble = UpstreamTrouble.none {
    didSet {
      if trouble != .none, oldValue == .none { troubleSince = world.now }
      if trouble == .none { lastTrouble = world.now }
    }
  }
  /// When the present trouble began, and when the last one ended.
  private var troubleSince = Instant.distantFuture
  private var lastTrouble: Instant?
  /// For the fault ``InjectedFault/loggedSecrets``.
  var log: Logger?
  private(set) var tokens: [Int: Token] = [:]
  private(set) var keys: [Int: Keys] = [:]
  private(set) var identities: [String: Identity] = [:]
  /// Words about somebody, with the persons whom a backend may have meant.
  private(set) var notes: [Int: Set<Int>] = [:]
  /// The numbers of tokens that a client brought to stand alone.
  private var alone: Set<Int> = []
  /// Accounts that were made, by server and name.
  private var accounts: Set<String> = []
  private var lastNumber = 1000
  private var lastIdentity = 0
  /// Of backends and public providers, by pool and name.
  private var known: [String: String] = [:]

  init(_ world: World, _ people: HistoryPeople) {
    self.world = world
    self.people = people
  }

  /// Whether there is trouble now, and was none for long before it: the first failure of a session is
  /// of this trouble.
  func isInFirstTrouble(since time: Instant) -> Bool {
    trouble != .none && troubleSince > time && lastTrouble.map { $0 < time - .seconds(900) } ?? true
  }

  /// The client that an answer showed a guest's identity to.
  func showGuest(_ identity: String, to persons: Set<Int>) {
    guard identities[identity]?.isGuest == true, identities[identity]?.persons == nil else {
      return
    }
    identities[identity]?.persons = persons
  }

  func revokeSessions(of person: Int) {
    for (number, token) in tokens where token.server != nil && token.persons == [person] {
      tokens[number]?.isRevoked = true
    }
  }

  // MARK: The seams

  func send(
    _ request: HTTPRequest, _ settings: HTTPSettings,
    completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void
  ) {
    world.report.calls += 1
    if world.fault == .loggedSecrets { log?.info("\(request.header("Authorization") ?? "")") }
    world.trace("→ \(request.url) \(request.body.exposedText() ?? "")")
    let (usual, timeout) = (0.01 + 0.3 * world.random.fraction(), settings.timeout.inSeconds)
    let time =
      switch trouble {
      case .hanging: timeout
      case .slow: usual + 3
      default: usual
      }
    world.inProcess(after: min(time, timeout)) { [self] in
      guard time < timeout else { return completion(.failure(.timeout)) }
      let result = result(of: request)
      if case .success(let reply) = result {
        world.trace("← \(reply.status) \(reply.body.exposedText() ?? "")")
      } else {
        world.trace("← \(result)")
      }
      completion(result)
    }
  }

  func run(_ command: Command, completion: @escaping (ExecOutcome) -> Void) {
    world.report.calls += 1
    world.trace("→ \(command.arguments) \(command.input.exposedText() ?? "")")
    world.inProcess(after: 0.01 + 0.3 * world.random.fraction()) { [self] in
      switch trouble {
      case .hanging: return completion(ExecOutcome(ending: .timedOut))
      case .none, .slow, .refusingSome, .failingOne, .throttled: break
      case .unreachable, .failing, .echoing, .garbage: return completion(failure(of: command))
      }
      let server = command.arguments[0].split(separator: "/").dropLast().last.map(String.init)
      let body = try? JSONValue.parse(command.input.bytes)
      let reply = callback(body, body?["DeveloperUserIdentifier"]?.text, nil, server ?? "")
      completion(
        ExecOutcome(ending: .exited(reply.exitStatus), standardOutput: reply.body))
    }
  }

  /// How a command fails: by its status, a signal, its output, or not started at all.
  private func failure(of command: Command) -> ExecOutcome {
    let endings: [ExecOutcome.Ending] =
      switch trouble {
      case .garbage: [.exited(0), .outputTooLarge]
      case .unreachable:
        [
          .exited(75), .notStarted(StartFailure(reason: "simulated", isTransient: true)),
        ]
      default: [.exited(75), .exited(69), .exited(1), .killed(9), .timedOut]
      }
    var outcome = ExecOutcome(ending: world.random.pick(endings))
    let input = command.input.exposedText() ?? ""
    if trouble == .garbage { outcome.standardOutput = Secret(garbage(input)) }
    if trouble == .echoing {
      let environment = command.environment.map { $0.value.exposedText() ?? "" }
      let words = world.random.pick([input] + environment)
      outcome.standardError = Array("cannot use \(words)\n".utf8)
    }
    return outcome
  }

  private func garbage(_ body: String) -> String {
    world.random.pick([
      "", "<html><body>Welcome</body></html>", "{", "null", #"{"IdentityId":7,"Token":[]}"#,
      String(body.prefix(body.utf8.count / 2)),
    ])
  }

  func load(completion: @escaping ((any Crypto)?) -> Void) { completion(NoCrypto()) }

  private func result(of request: HTTPRequest) -> Result<HTTPReply, TransportFailure> {
    switch trouble {
    case .unreachable: return .failure(.connect)
    case .failing: return .success(.plain(503, words(about: request)))
    case .throttled:
      var reply = HTTPReply.plain(429, "slowly")
      reply.headers.append(HTTPReply.Header(name: "Retry-After", value: "7"))
      return .success(reply)
    case .echoing:
      let headers = request.headers.map { "\($0.name): \($0.value.exposedText() ?? "")" }
      let body = request.body.exposedText() ?? ""
      return .success(
        .plain(400, #"{"message":"bad: \#(headers.joined(separator: " "))"} \#(body)"#))
    case .garbage:
      let body = reply(to: request).body.exposedText() ?? ""
      return .success(.plain(200, garbage(body)))
    case .none, .slow, .hanging, .refusingSome, .failingOne:
      var reply = reply(to: request)
      reply.headers.append(.date(world.trueTime))
      return .success(reply)
    }
  }

  /// What a backend says that fails for everybody, of the one whom it was asked for.
  private func words(about request: HTTPRequest) -> String {
    let body = try? JSONValue.parse(request.body.bytes)
    guard let persons = (body?["DeveloperUserIdentifier"]?.text).flatMap(persons) else {
      return "down"
    }
    notes[notes.count] = persons
    return #"{"message":"\#(HistorySecret.note)\#(notes.count - 1) is down"}"#
  }

  private func reply(to request: HTTPRequest) -> HTTPReply {
    let body = try? JSONValue.parse(request.body.bytes)
    if let target = request.header("X-Amz-Target") {
      let operation = target.split(separator: ".").last.map(String.init) ?? ""
      return cognito(operation, body)
    }
    if request.body.exposedText()?.contains("AssumeRoleWithWebIdentity") == true {
      return role(request.body.exposedText() ?? "")
    }
    let parts = request.url.split(separator: "/")
    guard parts.count >= 3, let server = parts[1].split(separator: ".").first.map(String.init)
    else { return .plain(404, "") }
    let bearer = request.header("Authorization").flatMap(sent)
    staysWithIssuer(bearer, world.fault == .wrongServers ? "another" : server)
    switch parts[2] {
    case "login": return login(body, server)
    case "logout": return .plain(200, "{}")
    case "register": return register(body, server)
    default:
      let name = parts.count > 3 ? String(parts[3]) : body?["DeveloperUserIdentifier"]?.text
      return callback(body, name, bearer, server)
    }
  }

  // MARK: Backends

  /// The token in a header or a logins map.
  private func sent(_ text: String) -> (number: Int, token: Token)? {
    guard let number = HistorySecret.numbers(in: text.utf8).first ?? nil, let token = tokens[number]
    else { return nil }
    return (number, token)
  }

  /// What one server gave is sent to no other.
  private func staysWithIssuer(_ bearer: (number: Int, token: Token)?, _ server: String) {
    guard let token = bearer?.token, token.server != server else { return }
    world.violate(
      .staysWithIssuer, session: nil,
      "what \(token.server ?? "Cognito") gave was sent to \(server)")
  }

  private func login(_ body: JSONValue?, _ server: String) -> HTTPReply {
    guard let name = body?["Username"]?.text, let person = HistoryPeople.person(named: name),
      body?["Password"]?.text == HistorySecret.password(of: person)
    else { return .plain(401, #"{"message":"wrong user name or password"}"#) }
    let number = add(
      Token(
        persons: [person], identity: "", pool: "", server: server, ends: .distantFuture))
    return .plain(
      200,
      #"{"SessionToken":"\#(HistorySecret.text(number))","DeveloperUserIdentifier":"\#(name)"}"#)
  }

  /// An account of one's own may be made once.
  private func register(_ body: JSONValue?, _ server: String) -> HTTPReply {
    guard let name = body?["Username"]?.text, let password = body?["Password"]?.text else {
      return .plain(400, #"{"message":"what is this?"}"#)
    }
    guard accounts.insert("\(server) \(name)").inserted else {
      return .plain(409, #"{"message":"\#(name) is there already, not \#(password)"}"#)
    }
    return .plain(201, #"{"Username":"\#(name)"}"#)
  }

  /// - Parameter name: the developer user identifier that the request names.
  private func callback(
    _ body: JSONValue?, _ name: String?, _ bearer: (number: Int, token: Token)?, _ server: String
  ) -> HTTPReply {
    if let bearer, bearer.token.isRevoked { return .plain(401, "{}") }
    // Cognito, and a backend that passes the logins on to it, take the user whom they name.
    let login = body?["Logins"]?[HistoryConfiguration.provider]?.text
    guard let name = login ?? name, !name.isEmpty else { return .plain(404, "{}") }
    let persons = login.flatMap(persons) ?? bearer?.token.persons ?? persons(named: name)
    if let fault = fault(for: persons) { return fault }
    aloneStays(body?["Logins"])
    claimsStay(body?["IdentityId"]?.text, persons, known: "\(pool(body)) \(server) \(name)")
    if trouble == .refusingSome, let persons, persons.min()?.isMultiple(of: 2) ?? false {
      notes[notes.count] = persons
      return .plain(403, #"{"message":"\#(HistorySecret.note)\#(notes.count - 1) is blocked"}"#)
    }
    let pool = pool(body)
    let identity = identity(of: "\(server) \(name)", pool: pool, persons)
    return .plain(200, developerToken(identity, pool, persons))
  }

  /// What a backend says that fails for the first user alone.
  private func fault(for persons: Set<Int>?) -> HTTPReply? {
    guard trouble == .failingOne, let persons else { return nil }
    let unlucky = world.fault == .mixedTroubles ? 1 : 0
    guard persons.contains(where: { people.user(of: $0) == unlucky }) else { return nil }
    return .plain(world.random.pick([500, 503, 429]), "{}")
  }

  /// A backend that is asked by GET knows one pool.
  private func pool(_ body: JSONValue?) -> String { body?["IdentityPoolId"]?.text ?? "" }

  /// Nor are logins that are to stand alone.
  private func aloneStays(_ logins: JSONValue?) {
    guard case .object(let members) = logins else { return }
    for number in members.compactMap({ $0.value.text.flatMap(sent)?.number })
    where alone.contains(number) {
      world.violate(
        .neverClaimed, session: nil, "token \(number), which stands alone, was sent to a backend")
    }
  }

  /// An IdentityId that only a client claimed is never shown to a backend.
  private func claimsStay(_ text: String?, _ persons: Set<Int>?, known key: String) {
    if let text, identities[text]?.isOfApp ?? false {
      world.violate(.neverClaimed, session: nil, "an app's identity was sent to a backend")
    }
    // What the backend itself gave for the name is no claim.
    guard let text, let identity = identities[text], let owners = identity.persons,
      known[key] != text
    else { return }
    if let persons, !owners.isDisjoint(with: people.indistinguishable(from: persons)) { return }
    // A guest's identity is Cognito's own word, and becomes the one that all users share.
    if persons == nil, identity.isGuest { return }
    world.violate(
      .neverClaimed, session: nil,
      "the identity of persons \(owners.sorted()) was sent for \((persons ?? []).sorted())")
  }

  /// Those whom `h3`, `1001` or `h3.1001` may mean now; nil for a name that all share.
  private func persons(named name: String) -> Set<Int>? {
    let parts = name.split(separator: ".")
    if let person = HistoryPeople.person(named: parts[0]) { return [person] }
    guard let uid = UInt32(parts[0]), let user = HistoryPeople.user(uid) else { return nil }
    return Set(people.possible(user, from: world.now).map(\.number))
      .union(people.believedNameless(user))
  }

  private func identity(of key: String, pool: String, _ persons: Set<Int>?) -> String {
    let key = "\(pool) \(key)"
    let text = known[key] ?? newIdentity(pool, isGuest: false, persons: [])
    known[key] = text
    accept(text, persons)
    return text
  }

  private func newIdentity(_ pool: String, isGuest: Bool, persons: Set<Int>?) -> String {
    lastIdentity += 1
    let digits = String(lastIdentity)
    let text =
      "us-east-1:00000000-0000-4000-8000-"
      + String(repeating: "0", count: 12 - digits.utf8.count) + digits
    identities[text] = Identity(pool: pool, isGuest: isGuest, persons: persons)
    return text
  }

  /// An identity belongs to those who came with a token for it.
  private func accept(_ identity: String, _ persons: Set<Int>?) {
    identities[identity]?.isGuest = false
    guard let persons, let owners = identities[identity]?.persons else {
      identities[identity]?.persons = nil
      return
    }
    identities[identity]?.persons = owners.union(persons)
  }

  private func add(_ token: Token) -> Int {
    lastNumber += 1
    tokens[lastNumber] = token
    return lastNumber
  }

  // MARK: Tokens

  /// A developer token that an app got by itself.
  func developerToken(of person: Int, pool: String, isGood: Bool) -> (
    identity: String, token: String
  ) {
    let identity = identity(of: "app \(person)", pool: pool, [person])
    identities[identity]?.isOfApp = true
    return (identity, token(identity, pool, [person], lifetime: isGood ? 900 : -5))
  }

  /// A token of a public provider for a person's own account.
  func publicToken(of person: Int, pool: String, isAlone: Bool) -> String {
    let text = token("account \(person)", pool, [person], lifetime: 3000)
    if isAlone, let number = sent(text)?.number { alone.insert(number) }
    return text
  }

  private func developerToken(_ identity: String, _ pool: String, _ persons: Set<Int>?) -> String {
    let token = token(identity, pool, persons, lifetime: world.random.pick([60, 900, 900]))
    return #"{"IdentityId":"\#(identity)","Token":"\#(token)"}"#
  }

  private func token(
    _ identity: String, _ pool: String, _ persons: Set<Int>?, lifetime: Double
  ) -> String {
    let number = add(
      Token(
        persons: persons, identity: identity, pool: pool, server: nil, ends: world.later(lifetime)))
    let isCognitos = identities[identity] != nil && !pool.isEmpty
    return HistorySecret.token(
      number, expires: world.trueTime + .seconds(1) * lifetime,
      claims: isCognitos ? #","aud":"\#(pool)","sub":"\#(identity)""# : "")
  }

  // MARK: AWS

  private func cognito(_ operation: String, _ body: JSONValue?) -> HTTPReply {
    if operation == "GetOpenIdTokenForDeveloperIdentity" {
      return callback(
        body, body?["Logins"]?[HistoryConfiguration.provider]?.text, nil, "cognito")
    }
    var login: Token?
    if case .object(let logins) = body?["Logins"], let first = logins.first {
      guard let found = (first.value.text).flatMap(sent)?.token else {
        return .cognito("Invalid login token. Not a valid OpenId Connect identity token.")
      }
      guard found.ends > world.now else {
        return .cognito("Invalid login token. Token expired: 1 >= 0")
      }
      login = found
    }
    let asked = body?["IdentityId"]?.text
    switch operation {
    case "GetId": return getID(body?["IdentityPoolId"]?.text ?? "", login)
    case "GetCredentialsForIdentity", "GetOpenIdToken":
      guard let asked, let identity = identities[asked] else {
        return .cognito("Identity not found.", "ResourceNotFoundException")
      }
      guard isAllowed(login, asked, identity) else {
        return .cognito("Access to Identity is forbidden.")
      }
      let persons = login == nil ? identity.persons : login?.persons
      if operation == "GetOpenIdToken" {
        return .plain(200, developerToken(asked, identity.pool, persons))
      }
      return credentials(asked, identity, persons)
    default: return .plain(400, "{}")
    }
  }

  private func isAllowed(_ login: Token?, _ asked: String, _ identity: Identity) -> Bool {
    guard let login else { return identity.isGuest }
    if login.identity == asked { return true }
    return known["\(identity.pool) \(login.identity)"] == asked
  }

  private func getID(_ pool: String, _ login: Token?) -> HTTPReply {
    let text =
      login.map { identity(of: $0.identity, pool: pool, $0.persons) }
      ?? newIdentity(pool, isGuest: true, persons: nil)
    return .plain(200, #"{"IdentityId":"\#(text)"}"#)
  }

  private func credentials(_ text: String, _ identity: Identity, _ persons: Set<Int>?) -> HTTPReply
  {
    let (number, ends) = newKeys(text, identity.pool, persons)
    return .plain(
      200,
      """
      {"IdentityId":"\(text)","Credentials":{"AccessKeyId":"\(Self.keyID(number))",\
      "SecretKey":"\(HistorySecret.text(number))","SessionToken":"\(HistorySecret.text(number))",\
      "Expiration":\(ends.milliseconds / 1000)}}
      """)
  }

  /// The id of credentials, from which the answer's reader gets the number again.
  private static func keyID(_ number: Int) -> String { "ASIA\(1_000_000_000_000 + number)" }

  static func number(ofKey id: String) -> Int? {
    Int(id.dropFirst(4)).map { $0 - 1_000_000_000_000 }
  }

  private func newKeys(_ identity: String, _ pool: String, _ persons: Set<Int>?) -> (Int, WallTime)
  {
    lastNumber += 1
    let lifetime = world.random.pick([900.0, 3600])
    keys[lastNumber] = Keys(
      persons: persons, identity: identity, pool: pool, ends: world.later(lifetime))
    return (lastNumber, world.trueTime + .seconds(1) * lifetime)
  }

  private func role(_ form: String) -> HTTPReply {
    guard let token = sent(form)?.token else { return .sts("InvalidIdentityToken") }
    guard token.ends > world.now else { return .sts("ExpiredTokenException") }
    let (number, ends) = newKeys(token.identity, token.pool, token.persons)
    let (secret, result) = (HistorySecret.text(number), "AssumeRoleWithWebIdentityResult")
    return .plain(
      200,
      """
      <AssumeRoleWithWebIdentityResponse><\(result)><Credentials>\
      <AccessKeyId>\(Self.keyID(number))</AccessKeyId><SecretAccessKey>\(secret)</SecretAccessKey>\
      <SessionToken>\(secret)</SessionToken><Expiration>\(ends.iso8601)</Expiration></Credentials>\
      <AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/app/user</Arn>\
      </AssumedRoleUser></\(result)></AssumeRoleWithWebIdentityResponse>
      """)
  }
}

extension HTTPRequest {
  fileprivate func header(_ name: String) -> String? {
    headers.first { $0.name == name }?.value.exposedText()
  }
}

extension HTTPReply {
  /// How a command ends that got this from its server.
  fileprivate var exitStatus: Int32 {
    switch status {
    case 200: 0
    case 429, 500...: 75
    default: 77
    }
  }

  fileprivate static func plain(_ status: Int, _ body: String) -> HTTPReply {
    HTTPReply(status: status, body: Secret(body))
  }

  fileprivate static func cognito(
    _ message: String, _ type: String = "NotAuthorizedException"
  ) -> HTTPReply {
    plain(400, #"{"__type":"\#(type)","message":"\#(message)"}"#)
  }

  fileprivate static func sts(_ code: String) -> HTTPReply {
    plain(400, "<ErrorResponse><Error><Code>\(code)</Code></Error></ErrorResponse>")
  }
}
