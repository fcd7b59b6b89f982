import CredCore

/// Backends of an organisation: logins, accounts and the token callback.
extension HistoryUpstreams {
  /// What one server gave is sent to no other.
  func staysWithIssuer(_ bearer: (number: Int, token: Token)?, _ server: String) {
    guard let token = bearer?.token, token.server != server else { return }
    world.violate(
      .staysWithIssuer,
      "what \(token.server ?? "Cognito") gave was sent to \(server)")
  }

  func login(_ body: JSONValue?, _ server: String) -> HTTPReply {
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
  func register(_ body: JSONValue?, _ server: String) -> HTTPReply {
    guard let name = body?["Username"]?.text, let password = body?["Password"]?.text else {
      return .plain(400, #"{"message":"what is this?"}"#)
    }
    guard registered.insert("\(server) \(name)").inserted else {
      return .plain(409, #"{"message":"\#(name) is there already, not \#(password)"}"#)
    }
    return .plain(201, #"{"Username":"\#(name)"}"#)
  }

  /// - Parameter name: the developer user identifier that the request names.
  func callback(
    _ body: JSONValue?, _ name: String?, _ bearer: (number: Int, token: Token)?, _ server: String
  ) -> HTTPReply {
    if let bearer, bearer.token.isRevoked { return .plain(401, "{}") }
    // Cognito, and a backend that passes the logins on to it, take the user whom they name.
    let login = body?["Logins"]?[HistoryConfiguration.provider]?.text
    guard let name = login ?? name, !name.isEmpty else { return .plain(404, "{}") }
    let persons = login.flatMap(persons) ?? bearer?.token.persons ?? persons(named: name)
    if let fault = fault(for: persons) { return fault }
    aloneStays(body?["Logins"])
    let shown = world.fault == .claimedIdentities ? claimed : body?["IdentityId"]?.text
    claimsStay(shown, persons, known: "\(pool(body)) \(server) \(name)")
    if trouble == .refusingSome, let persons, persons.min()?.isMultiple(of: 2) ?? false {
      return .plain(403, #"{"message":"\#(note(about: persons)) is blocked"}"#)
    }
    let pool = pool(body)
    let logins = world.fault == .droppedLogins ? nil : body?["Logins"]
    guard joinAtBackend(logins, "\(pool) \(server) \(name)", in: pool) else {
      return .plain(409, "{}")
    }
    let identity = identity(of: "\(server) \(name)", pool: pool, persons)
    return .plain(200, developerToken(identity, pool, persons))
  }

  /// What a backend says that fails for the first user alone.
  func fault(for persons: Set<Int>?) -> HTTPReply? {
    guard trouble == .failingOne, let persons else { return nil }
    let unlucky = world.fault == .mixedTroubles ? 1 : 0
    guard persons.contains(where: { people.user(of: $0) == unlucky }) else { return nil }
    return .plain(world.random.pick([500, 503, 429]), "{}")
  }

  /// A backend that is asked by GET knows one pool.
  func pool(_ body: JSONValue?) -> String { body?["IdentityPoolId"]?.text ?? "" }

  /// Nor are logins that are to stand alone.
  func aloneStays(_ logins: JSONValue?) {
    guard case .object(let members) = logins else { return }
    for number in members.compactMap({ $0.value.text.flatMap(sent)?.number })
    where alone.contains(number) {
      world.violate(
        .neverClaimed, "token \(number), which stands alone, was sent to a backend")
    }
  }

  /// An IdentityId that only a client claimed is never shown to a backend.
  func claimsStay(_ text: String?, _ persons: Set<Int>?, known key: String) {
    if let text, identities[text]?.isOfApp ?? false {
      world.violate(.neverClaimed, "an app's identity was sent to a backend")
    }
    // What the backend itself gave for the name is no claim.
    guard let text, let identity = identities[text], let owners = identity.persons,
      known[key] != text
    else { return }
    if let persons, !owners.isDisjoint(with: people.indistinguishable(from: persons)) { return }
    // A guest's identity is Cognito's own word, and becomes the one that all users share.
    if persons == nil, identity.isGuest { return }
    world.violate(
      .neverClaimed,
      "the identity of persons \(owners.sorted()) was sent for \((persons ?? []).sorted())")
  }

  /// Those whom `h3`, `1001` or `h3.1001` may mean in this request; nil for a name that all share.
  func persons(named name: String) -> Set<Int>? {
    let parts = name.split(separator: ".")
    if let person = HistoryPeople.person(named: parts[0]) { return [person] }
    guard let uid = UInt32(parts[0]), let user = HistoryPeople.user(uid) else { return nil }
    return Set(people.possible(user, from: sentAt).map(\.number))
      .union(people.believedNameless(user))
  }
}
