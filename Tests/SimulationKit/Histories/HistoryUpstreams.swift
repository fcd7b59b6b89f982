import CredCore
import CredService
import Logging

/// Backends, Cognito and STS, which remember what they gave and for whom.
final class HistoryUpstreams {
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
    var ends: Instant
    /// The key that signed the call for this one; nil for one of Cognito's.
    var source: Int?
    var role: String?
    var arn = "arn:aws:sts::123456789012:assumed-role/app/user"
    /// Each narrows the key.
    var policies: [String] = []
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
  /// When the request was sent that is being answered: the host may have slept since.
  var sentAt = World.beginning
  /// For the fault ``InjectedFault/loggedSecrets``.
  var log: Logger?
  /// Whether an upstream that fails does so in any way, not by its status alone.
  let failsInAnyWay: Bool
  /// Upstream said something that may end a sign-in.
  var refused: (() -> Void)?
  var network = HistoryNetwork()
  /// When the daemon last gave a call up.
  var givenUp: () -> Instant = { World.beginning }
  /// Clears the sessions of a user, for the fault ``InjectedFault/dropOnFailure``.
  var clear: ((Int) -> Void)?
  /// The identity that a client claimed last, for the fault ``InjectedFault/claimedIdentities``.
  var claimed: String?
  /// The last success of each kind of request, for the fault ``InjectedFault/mixedReplies``.
  var lastReplies: [String: HTTPReply] = [:]
  /// Whether a request for the first user has failed, for the fault ``InjectedFault/poison``.
  var isPoisoned = false
  private(set) var tokens: [Int: Token] = [:]
  private(set) var keys: [Int: Keys] = [:]
  private(set) var identities: [String: Identity] = [:]
  /// Words about somebody, with the persons whom a backend may have meant.
  private(set) var notes: [Int: Set<Int>] = [:]
  /// The numbers of tokens that a client brought to stand alone.
  private(set) var alone: Set<Int> = []
  /// Accounts that were made, by server and name.
  var accounts: Set<String> = []
  private var lastNumber = 1000
  private(set) lazy var pools = HistoryUserPools(world, self)
  private var lastIdentity = 0
  /// Of backends and public providers, by pool and name.
  private(set) var known: [String: String] = [:]

  init(_ world: World, _ people: HistoryPeople) {
    self.world = world
    self.people = people
    failsInAnyWay = world.seed % 4 == 2
  }

  /// Whether there is trouble now, and was none for long before it: the first failure of a session is
  /// of this trouble.
  func isInFirstTrouble(since time: Instant) -> Bool {
    trouble != .none && troubleSince > time && lastTrouble.map { $0 < time - .seconds(900) } ?? true
  }

  /// Whether there has been no trouble since a time.
  func wasWell(since time: Instant) -> Bool {
    trouble == .none && lastTrouble.map { $0 < time } ?? true
  }

  /// The client that an answer showed a guest's identity to.
  func showGuest(_ identity: String, to persons: Set<Int>) {
    guard identities[identity]?.isGuest == true, identities[identity]?.persons == nil else {
      return
    }
    identities[identity]?.persons = persons
  }

  func revokeSessions(of person: Int) {
    pools.revoke(person: person)
    for (number, token) in tokens where token.server != nil && token.persons == [person] {
      tokens[number]?.isRevoked = true
    }
  }

  /// Words about somebody, whom a backend may have meant.
  func note(about persons: Set<Int>) -> String {
    notes[notes.count] = persons
    return "\(HistorySecret.note)\(notes.count - 1)"
  }

  /// A number for something new.
  func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  /// A user pool gave a token, or said something of a person.
  func gave(_ token: Token, as number: Int) { tokens[number] = token }

  /// The token in a header or a logins map.
  func sent(_ text: String) -> (number: Int, token: Token)? {
    guard let number = HistorySecret.numbers(in: text.utf8).first ?? nil, let token = tokens[number]
    else { return nil }
    return (number, token)
  }

  // MARK: Identities

  func identity(of key: String, pool: String, _ persons: Set<Int>?) -> String {
    let key = "\(pool) \(key)"
    let text = known[key] ?? newIdentity(pool, isGuest: false, persons: [])
    known[key] = text
    accept(text, persons)
    return text
  }

  func newIdentity(_ pool: String, isGuest: Bool, persons: Set<Int>?) -> String {
    lastIdentity += 1
    let digits = String(lastIdentity)
    let text =
      "us-east-1:00000000-0000-4000-8000-"
      + String(repeating: "0", count: 12 - digits.utf8.count) + digits
    identities[text] = Identity(pool: pool, isGuest: isGuest, persons: persons)
    return text
  }

  /// An identity belongs to those who came with a token for it.
  func accept(_ identity: String, _ persons: Set<Int>?) {
    identities[identity]?.isGuest = false
    guard let persons, let owners = identities[identity]?.persons else {
      identities[identity]?.persons = nil
      return
    }
    identities[identity]?.persons = owners.union(persons)
  }

  func add(_ token: Token) -> Int {
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

  func developerToken(_ identity: String, _ pool: String, _ persons: Set<Int>?) -> String {
    let token = token(identity, pool, persons, lifetime: world.random.pick([60, 900, 900]))
    return #"{"IdentityId":"\#(identity)","Token":"\#(token)"}"#
  }

  func token(
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

  /// Keys that STS gave for others.
  func add(_ issued: Keys) -> Int {
    lastNumber += 1
    keys[lastNumber] = issued
    return lastNumber
  }

  func newKeys(_ identity: String, _ pool: String, _ persons: Set<Int>?) -> (Int, WallTime) {
    lastNumber += 1
    // For a renewal of short-lived credentials a caller may wait a moment.
    let some = world.random.pick([900.0, 3600])
    let lifetime = world.isCalm ? 3600 : some
    keys[lastNumber] = Keys(
      persons: persons, identity: identity, pool: pool, ends: world.later(lifetime))
    return (lastNumber, world.trueTime + .seconds(1) * lifetime)
  }
}
