import FoundationEssentials
import SeededRandom

/// The session of one sign-in: its refresh token, and all tokens made from it.
struct PoolSession: Sendable {
  /// `origin_jti`.
  let id: String
  let client: String
  let username: String
  let deviceKey: String?
  let began: Date
  /// The expiration of the refresh token, which rotation does not change.
  let expiration: Date
  var isRevoked = false
  /// Whether the session was ended by a global sign-out, by an administrator, or with the user.
  var isSignedOut = false
  /// Where the pool tracked sessions when this one began.
  var record: TrackedRecord?
}

/// The sessions of a pool, and their refresh tokens.
struct PoolSessions: Sendable {
  static let maximumSessions = 20_000
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// A refresh token, known by its digest.
  private struct Token {
    let session: String
    /// Set by a rotation: the token is valid until this time.
    var graceEnd: Date?
  }

  private var sessions: [String: PoolSession] = [:]
  private var order: [String] = []
  private var tokens: [[UInt8]: Token] = [:]

  subscript(_ id: String) -> PoolSession? { sessions[id] }

  mutating func store(_ session: PoolSession) {
    if order.count >= PoolSessions.maximumSessions {
      let old = Set(order.prefix(PoolSessions.maximumSessions / 4))
      for id in old { sessions[id] = nil }
      order.removeFirst(old.count)
      tokens = tokens.filter { !old.contains($0.value.session) }
    }
    sessions[session.id] = session
    order.append(session.id)
  }

  /// A new refresh token: opaque, with the form and length of Cognito's tokens.
  mutating func newToken(for session: String, random: inout SeededGenerator) -> String {
    func part(_ count: Int) -> String { random.text(count, of: PoolSessions.alphabet) }
    let header = base64URL(Array(#"{"cty":"JWT","enc":"A256GCM","alg":"RSA-OAEP"}"#.utf8))
    let token = [header, part(342), part(16), part(1340), part(22)].joined(separator: ".")
    tokens[PoolSessions.digest(token)] = Token(session: session)
    return token
  }

  /// The session of a refresh token, and whether the token was replaced by a rotation.
  func session(of token: String, at now: Date) -> (session: PoolSession, isReused: Bool)? {
    guard let entry = tokens[PoolSessions.digest(token)], let session = sessions[entry.session]
    else { return nil }
    return (session, entry.graceEnd.map { now >= $0 } ?? false)
  }

  /// Marks a token as replaced. It stays valid for some time, counted from its first replacement.
  mutating func supersede(_ token: String, until end: Date) {
    let digest = PoolSessions.digest(token)
    if tokens[digest]?.graceEnd == nil { tokens[digest]?.graceEnd = end }
  }

  mutating func revoke(_ id: String) { sessions[id]?.isRevoked = true }

  /// Notes that a session was used.
  mutating func touch(_ id: String, at now: Date, by agent: String) {
    sessions[id]?.record?.touch(at: now, by: agent)
  }

  /// A user's sessions that have not ended, in the order in which they began.
  func active(of username: String, at now: Date) -> [PoolSession] {
    order.compactMap { sessions[$0] }.filter {
      $0.username == username && !$0.isRevoked && now < $0.expiration
    }
  }

  /// Ends all sessions of a user.
  mutating func end(of username: String) {
    for (id, session) in sessions where session.username == username {
      sessions[id]?.isRevoked = true
      sessions[id]?.isSignedOut = true
    }
  }

  private static func digest(_ token: String) -> [UInt8] {
    Cryptography.sha256(Array(token.utf8))
  }
}
