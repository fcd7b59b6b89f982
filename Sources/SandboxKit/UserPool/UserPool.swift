import FoundationEssentials
import SeededRandom

/// One Cognito user pool: its settings, users, app clients, and everything under way in it.
struct UserPool: Sendable {
  static let maximumUsers = 10_000
  static let maximumClients = 64
  /// The most devices of a user, confirmed or not.
  static let maximumDevicesPerUser = 100

  let id: String
  var settings = PoolSettings()
  var clients: [String: AppClient] = [:]
  var signIns = SignInTable()
  var sessions = PoolSessions()
  var messages = PoolMessages()
  var hosted = HostedState()
  var random: SeededGenerator
  /// The time of the call under way.
  var now = Date(timeIntervalSince1970: 0)
  /// The client's User-Agent in that call.
  var agent = "unknown"
  /// The number of sign-ins by SRP so far, which chooses the shape of the server's number.
  var proofs = 0
  /// The secret for invented data of users who do not exist, so that the data are the same each
  /// time.
  let pepper: [UInt8]
  /// The users by user name, which never changes.
  private(set) var users: [String: PoolUser] = [:]
  /// User names by the name that a person types. The key is in lower case if the pool ignores case.
  private var names: [String: String] = [:]

  init(id: String, random: SeededGenerator) {
    self.id = id
    self.random = random
    pepper = self.random.bytes(32)
  }

  var naming: UserPoolName { UserPoolName(id: id) }

  var name: String { naming.name }

  var region: String { naming.region }

  var provider: String { naming.provider }

  /// `iss` of the tokens that the pool gives now.
  var issuer: String { naming.issuer(settings.issuerType) }
}

/// The users.
extension UserPool {
  /// A name in the form in which names are compared.
  func folded(_ name: String) -> String { settings.isCaseSensitive ? name : name.lowercased() }

  /// The user with a typed name, which may be the user name or an alias.
  func find(_ typed: String) -> PoolUser? {
    if let name = names[folded(typed)] { return users[name] }
    for attribute in settings.signInAttributes {
      if let user = owner(of: attribute, typed) { return user }
    }
    return nil
  }

  /// The user who may sign in with this value.
  func owner(of attribute: String, _ value: String) -> PoolUser? {
    let wanted = folded(value)
    // An alias counts only after its verification; if it is the user name itself, it counts at
    // once.
    return users.values.first { user in
      guard let own = user.attributes[attribute], folded(own) == wanted else { return false }
      return attribute == "preferred_username" || user.isVerified(attribute)
        || settings.usernameAttributes.contains(attribute)
    }
  }

  func user(_ username: String) -> PoolUser? { users[username] }

  mutating func store(_ user: PoolUser) throws(ServiceError) {
    guard users[user.username] != nil || users.count < UserPool.maximumUsers else {
      throw ServiceError("LimitExceededException", "The sandbox holds no more users.")
    }
    users[user.username] = user
    names[folded(user.username)] = user.username
  }

  mutating func change<Result>(
    _ username: String, _ body: (inout PoolUser) throws(ServiceError) -> Result
  ) throws(ServiceError) -> Result {
    guard var user = users[username] else { throw .unknownUser }
    defer { users[username] = user }
    return try body(&user)
  }

  mutating func remove(_ username: String) {
    users[username] = nil
    names[folded(username)] = nil
    sessions.end(of: username)
    signIns.end(of: username)
  }

  /// The client of a request.
  func client(_ id: String) throws(ServiceError) -> AppClient {
    guard let client = clients[id] else { throw .unknownClient(id) }
    return client
  }
}

/// Passwords.
extension UserPool {
  /// Sets a password, of which only salt and verifier are kept.
  func verifier(
    of password: String, for username: String, random: inout SeededGenerator
  ) -> SRPVerifier {
    let bits = random.bytes(16)
    let salt =
      switch settings.saltShape {
      case .any: Natural(bits)
      case .odd: Natural([bits[0] & 0x07 | 0x08] + bits.dropFirst())
      case .short: Natural(bits.dropFirst())
      case .topBit: Natural([bits[0] | 0x80] + bits.dropFirst())
      }
    return SRPVerifier(identity: name + username, password: password, salt: salt)
  }

  mutating func setPassword(
    _ password: String, of user: inout PoolUser
  ) throws(ServiceError) {
    try settings.passwordPolicy.check(password)
    let identity = name + user.username
    let earlier = ([user.verifier].compactMap { $0 } + user.history).prefix(
      settings.passwordHistory)
    guard !earlier.contains(where: { $0.matches(identity: identity, password: password) }) else {
      throw ServiceError(
        "PasswordHistoryPolicyViolationException",
        "The password has been used before; choose another one.")
    }
    if let old = user.verifier { user.history = Array(([old] + user.history).prefix(24)) }
    user.verifier = verifier(of: password, for: user.username, random: &random)
    user.passwordSetAt = now
  }

  func isPassword(_ password: String, of user: PoolUser) -> Bool {
    user.verifier?.matches(identity: name + user.username, password: password) ?? false
  }
}
