/// The organisation's users and their sign-in sessions.
struct UserDirectory: Sendable {
  static let maximumUsers = IdentityPool.maximumIdentities
  static let maximumSessions = 100_000

  /// Whether any requested name becomes a user.
  var allowsAnyUser = false
  /// Whether the token callback requires a session of every user.
  var requiresSession = false
  private var users: [String: User] = [:]
  private var sessions: [String: String] = [:]

  /// The user, created if any name is allowed; nil if unknown.
  mutating func user(_ name: String) -> User? {
    if let user = users[name] { return user }
    guard allowsAnyUser, !name.isEmpty, users.count < UserDirectory.maximumUsers else {
      return nil
    }
    let user = User(name: name, password: UserDirectory.defaultPassword(of: name))
    users[name] = user
    return user
  }

  /// An existing user.
  func existing(_ name: String) -> User? { users[name] }

  /// Returns false if the directory is full.
  @discardableResult
  mutating func store(_ user: User) -> Bool {
    guard users[user.name] != nil || users.count < UserDirectory.maximumUsers else { return false }
    users[user.name] = user
    return true
  }

  func needsSession(_ user: User) -> Bool { requiresSession || user.requiresSession }

  /// The user of this session.
  func holder(ofSession token: String) -> String? { sessions[token] }

  mutating func openSession(for name: String, token: String) {
    if sessions.count >= UserDirectory.maximumSessions { sessions.removeAll() }
    sessions[token] = name
  }

  @discardableResult
  mutating func closeSession(_ token: String) -> Bool {
    sessions.removeValue(forKey: token) != nil
  }

  /// Closes the sessions of a user, and returns their number.
  mutating func closeSessions(of name: String) -> Int {
    let before = sessions.count
    sessions = sessions.filter { $0.value != name }
    return before - sessions.count
  }

  mutating func closeAllSessions() -> Int {
    defer { sessions.removeAll() }
    return sessions.count
  }

  /// The password of a user for whom none was set.
  static func defaultPassword(of name: String) -> String { name + "-password" }
}

/// A user of the organisation's own login system.
struct User: Sendable {
  let name: String
  var password: String
  var isDisabled = false
  /// Whether the token callback requires a session of this user.
  var requiresSession = false
  /// The value that the sample server stores instead of the password, after the user has registered
  /// there.
  var saltedPassword: String?
}
