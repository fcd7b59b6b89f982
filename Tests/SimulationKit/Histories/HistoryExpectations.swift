import CredCore

/// What the daemon must still have, where nothing has happened since that may end it: credentials that
/// it gave, and the devices of sign-ins.
struct HistoryExpectations {
  struct Credentials {
    let number: Int
    let keys: HistoryUpstreams.Keys
    let since: Instant
  }

  private struct Place: Hashable {
    let user: Int
    let profile: String
  }

  /// What happened so shortly before the end of a process may be lost with it.
  private static let unsafeTime = Duration.seconds(30)

  /// Of lines that were sent so closely together, the later one may come first.
  private static let closeTogether = Duration.seconds(1)

  private var credentials: [Place: Credentials] = [:]
  /// When a request last went out that may end a session's credentials.
  private var ending: [Place: Instant] = [:]
  /// The lines that may end a session's credentials and are not answered, by their numbers. Those of
  /// clients that left stay: the daemon may go on with them.
  private var underWay: [Place: Set<Int>] = [:]
  /// Since when the daemon knows a device of a user.
  private var devices: [HistoryUserPools.User: Instant] = [:]
  /// When a user last wanted all devices forgotten.
  private var forgetting: [Int: Instant] = [:]
  /// How long a line may wait until the daemon knows who sent it.
  private static let lookUpTime = Duration.seconds(10)

  // MARK: What is learned

  /// - Parameter start: when they were asked for. What was to end them meanwhile may have done so.
  mutating func gave(
    _ given: Credentials, to user: Int, in profile: String, askedAt start: Instant
  ) {
    let place = Place(user: user, profile: profile)
    guard underWay[place, default: []].isEmpty else { return }
    if let last = ending[place], last > start - Self.closeTogether { return }
    credentials[place] = given
  }

  func credentials(of user: Int, in profile: String) -> Credentials? {
    credentials[Place(user: user, profile: profile)]
  }

  /// - Parameter line: that signed in. What was to be forgotten meanwhile may be that device.
  mutating func signedInWithDevice(
    _ user: HistoryUserPools.User, by line: HistoryClient.Line, of uid: Int, at now: Instant
  ) {
    if let last = forgetting[uid], last > line.start - Self.lookUpTime { return }
    devices[user] = devices[user] ?? now
  }

  func knowsDevice(of user: HistoryUserPools.User, since time: Instant) -> Bool {
    devices[user].map { $0 < time } ?? false
  }

  // MARK: What ends it

  /// A line goes to the service.
  mutating func begins(_ line: HistoryClient.Line, _ user: Int, _ people: HistoryPeople) {
    if let place = mayEndCredentials(line, user, at: line.start) {
      underWay[place, default: []].insert(line.number)
    }
    switch line.request {
    case .clear(_, identity: true), .logout(_, isGlobal: true):
      forgetDevices(of: user, people)
      forgetting[user] = line.start
    default: break
    }
  }

  /// A line is answered. Credentials that were given while it was carried out are from before it.
  mutating func ended(_ line: HistoryClient.Line, _ user: Int, at now: Instant) {
    guard let place = mayEndCredentials(line, user, at: now) else { return }
    underWay[place]?.remove(line.number)
  }

  /// - Returns: whose credentials it may end; nil if none.
  private mutating func mayEndCredentials(
    _ line: HistoryClient.Line, _ user: Int, at time: Instant
  ) -> Place? {
    guard let profile = line.profile else { return nil }
    switch line.request {
    case .clear, .logout, .password, .respond, .developerToken, .logins, .ownLogin,
      .passwordWithLogin, .hostLogin:
      let place = Place(user: user, profile: profile)
      credentials[place] = nil
      ending[place] = time
      return place
    default: return nil
    }
  }

  /// Another person has the uid.
  mutating func handedOver(_ user: Int, _ people: HistoryPeople) {
    for place in credentials.keys where place.user == user { credentials[place] = nil }
    forgetDevices(of: user, people)
  }

  private mutating func forgetDevices(of user: Int, _ people: HistoryPeople) {
    for one in devices.keys where people.user(of: one.person) == user { devices[one] = nil }
  }

  /// The pool does not know a user's device any more.
  mutating func deviceForgotten(_ user: HistoryUserPools.User) { devices[user] = nil }

  /// A person's sign-ins ended otherwise than by a logout.
  mutating func signedOut(person: Int, _ people: HistoryPeople) {
    guard let user = people.user(of: person) else { return }
    for place in credentials.keys where place.user == user { credentials[place] = nil }
  }

  /// Upstream refused something of somebody.
  mutating func refused() { credentials = [:] }

  /// - Parameter isKept: whether sessions of a profile live on.
  mutating func reloaded(unless isKept: (String) -> Bool) {
    devices = [:]
    for place in credentials.keys where !isKept(place.profile) { credentials[place] = nil }
  }

  mutating func restarted(at now: Instant, losesSessions: Bool) {
    underWay = [:]
    devices = devices.filter { $0.value < now - Self.unsafeTime }
    if losesSessions { credentials = [:] }
  }
}
