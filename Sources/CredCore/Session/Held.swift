/// All that a session holds of its user.
///
/// The machine works on it, a sign-in that is refused puts back the one from before, and a snapshot
/// stores it: what is added here is rolled back and stored without another line there.
struct Held: Sendable, Equatable {
  var state = Standing.signedOut(byUser: false)
  var identityID: IdentityID?
  var logins = LoginsMap()
  var loginExpirations = LoginExpirations()
  var token: HeldToken?
  var credentials: HeldCredentials?
  /// Of a user who signed in with a password.
  var username: String?
  /// The role that a `login` chose.
  var customRoleARN: String?
  /// Counts failures while they are tried again, too.
  var backOff = BackOff()
  /// The pause after a refresh that failed. While the next one is under way it is over; should that
  /// be interrupted, it is made again.
  @Rare var pause: Rest? = nil
}

/// Credentials as a session keeps them: with what is known of their life on this host's clock.
///
/// A class because it never changes: the session and what was last stored of it share one.
public final class HeldCredentials: Sendable, Equatable {
  public let credentials: Credentials
  public let received: Instant
  /// How long they last, counted by the server's clock.
  public let lifetime: Duration
  /// When they are renewed.
  public let refreshAt: Instant

  init(_ credentials: Credentials, lifetime: Duration, received: Instant, chance: Double) {
    self.credentials = credentials
    self.received = received
    self.lifetime = lifetime
    self.refreshAt = RefreshPolicy.refreshTime(
      received: received, lifetime: lifetime, chance: chance)
  }

  /// As they were before a restart.
  init(_ credentials: Credentials, lifetime: Duration, received: Instant, refreshAt: Instant) {
    self.credentials = credentials
    self.received = received
    self.lifetime = lifetime
    self.refreshAt = refreshAt
  }

  public static func == (one: HeldCredentials, other: HeldCredentials) -> Bool {
    if one === other { return true }
    return one.credentials == other.credentials && one.received == other.received
      && one.lifetime == other.lifetime && one.refreshAt == other.refreshAt
  }

  public var expires: Instant { received + lifetime }
  public var freshUntil: Instant { RefreshPolicy.freshUntil(expires: expires, lifetime: lifetime) }
  public var servableUntil: Instant {
    RefreshPolicy.servableUntil(expires: expires, lifetime: lifetime)
  }
}

/// A developer token as a session keeps it. A class for the same reason as ``HeldCredentials``.
public final class HeldToken: Sendable, Equatable {
  public let token: DeveloperToken
  public let received: Instant
  /// What was left of it when it came, by the server's clock; nil where its `exp` is unknown.
  public let lifetime: Duration?
  /// Until when it is used again. A token that does not say when it expires is used once.
  public let usableUntil: Instant

  init(_ token: DeveloperToken, lifetime: Duration?, received: Instant) {
    self.token = token
    self.received = received
    self.lifetime = lifetime
    self.usableUntil =
      lifetime.map {
        RefreshPolicy.tokenUsableUntil(expires: received + $0, lifetime: $0)
      } ?? received
  }

  public static func == (one: HeldToken, other: HeldToken) -> Bool {
    if one === other { return true }
    return one.token == other.token && one.received == other.received
      && one.lifetime == other.lifetime && one.usableUntil == other.usableUntil
  }

  /// When it ends, on this host's clock; nil where that is unknown.
  public var expires: Instant? { lifetime.map { received + $0 } }
}

/// When the tokens that a user signed in with run out, by their provider, as far as they say.
struct LoginExpirations: Sendable, Equatable {
  /// How long before its end somebody is told.
  static let warning: Duration = .seconds(5 * 60)

  struct End: Sendable, Equatable {
    let time: Instant
    var isTold = false
  }

  private(set) var ends: [String: End] = [:]

  init(_ ends: [String: End] = [:]) {
    self.ends = ends
  }

  /// Notes a provider's new token.
  ///
  /// - Parameter end: nil where it does not say. One that seems to be over when it comes is left to
  ///   Cognito: this host's clock may be wrong.
  mutating func set(_ provider: String, end: Instant?, now: Instant) {
    ends[provider] = end.flatMap { $0 > now ? End(time: $0) : nil }
  }

  mutating func remove(_ provider: String) {
    ends[provider] = nil
  }

  mutating func removeAll() {
    ends = [:]
  }

  /// Providers whose token is over.
  func over(at now: Instant) -> [String] {
    ends.filter { $0.value.time <= now }.keys.sorted()
  }

  /// When somebody is to be told next.
  var nextWarning: Instant? {
    ends.values.filter { !$0.isTold }.map { $0.time - Self.warning }.min()
  }

  /// What to tell now, each once.
  mutating func takeWarnings(at now: Instant) -> [(provider: String, end: Instant)] {
    let due = ends.filter { !$0.value.isTold && $0.value.time - Self.warning <= now }
    for provider in due.keys { ends[provider]?.isTold = true }
    return due.map { ($0.key, $0.value.time) }.sorted { $0.end < $1.end }
  }
}

/// A value that hardly ever is there, and then lies apart from its owner: sessions are many, and keep
/// no room for what few of them have.
@propertyWrapper
public struct Rare<Value: Sendable>: Sendable {
  private indirect enum Content {
    case none
    case some(Value)
  }

  private var content: Content

  public init(wrappedValue: Value?) {
    content = wrappedValue.map { .some($0) } ?? .none
  }

  public var wrappedValue: Value? {
    get { if case .some(let value) = content { value } else { nil } }
    set { content = newValue.map { .some($0) } ?? .none }
  }
}

extension Rare: Equatable where Value: Equatable {
  public static func == (one: Self, other: Self) -> Bool { one.wrappedValue == other.wrappedValue }
}
