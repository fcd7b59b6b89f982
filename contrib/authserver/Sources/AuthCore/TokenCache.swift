import FoundationEssentials

/// Tokens of Cognito for reuse, only in memory. A token is reused for the same host, user, pool,
/// logins and duration, while more than half of its life is left.
public struct TokenCache: Sendable {
  public struct Key: Sendable, Hashable {
    public var host: String
    public var user: Identifier
    public var pool: String
    /// A hash: tokens of other providers are long.
    public var logins: String
    public var duration: Int64

    public init(
      host: String, user: Identifier, pool: String, logins: [String: String], duration: Int64
    ) {
      self.host = host
      self.user = user
      self.pool = pool
      self.logins = logins.isEmpty ? "" : TokenCache.hash(logins)
      self.duration = duration
    }
  }

  fileprivate static func hash(_ logins: [String: String]) -> String {
    let texts = logins.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
    return Hex.encode(Digest.sha256(each: texts))
  }

  public struct Token: Sendable, Equatable {
    public var identityID: String
    public var token: String
    /// Reused up to here.
    public var reusable: Timestamp

    public init(identityID: String, token: String, received: Timestamp, lifetime: Interval) {
      self.identityID = identityID
      self.token = token
      reusable = received + Interval(milliseconds: lifetime.milliseconds / 2)
    }
  }

  private let limit: Int
  private var tokens: [Key: Token] = [:]
  private var swept: Timestamp?

  public init(limit: Int = Limits.keptTokens) { self.limit = limit }

  public var count: Int { tokens.count }

  public func token(for key: Key, at now: Timestamp) -> Token? {
    guard let token = tokens[key], now < token.reusable else { return nil }
    return token
  }

  public mutating func keep(_ token: Token, for key: Key, at now: Timestamp) {
    sweep(at: now)
    guard tokens.count < limit || tokens[key] != nil else { return }
    tokens[key] = token
  }

  /// The user's identity has changed, so no older token is handed out again.
  public mutating func forget(_ user: Identifier) {
    tokens = tokens.filter { $0.key.user != user }
  }

  /// Once a minute, and where the table is full.
  private mutating func sweep(at now: Timestamp) {
    let isDue = swept.map { now - $0 > .minutes(1) } ?? true
    guard isDue || (tokens.count >= limit && swept.map { now - $0 > .seconds(5) } ?? true) else {
      return
    }
    swept = now
    tokens = tokens.filter { now < $0.value.reusable }
  }
}
