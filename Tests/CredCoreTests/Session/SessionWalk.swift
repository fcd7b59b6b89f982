import SeededRandom

@testable import CredCore

/// A session to which anything happens in any order, and what must hold whatever happens.
struct SessionWalk {
  private(set) var session: SessionDriver
  private var generator: SeededGenerator
  private let fixtures = Fixtures()
  /// The waiters and their deadlines.
  private var waiting: [UInt64: Instant] = [:]
  /// The same for logins.
  private var signingIn: [UInt64: Instant] = [:]
  /// Sign-ins that have not ended.
  private var underWay: Set<UInt64> = []
  private var staleCalls: [CallID] = []
  /// Until when the last credentials are good, by the tests' own reckoning.
  private var credentialsEnd: Instant?
  /// A login, a logout or a `clear` may have taken the credentials away.
  private var mayBeGone = false
  private var lastCall: UInt64 = 0
  /// The call that brought the held credentials, and the last call for a former user, who signed out
  /// or was replaced.
  private var credentialsCall: UInt64 = 0
  private var formerCalls: UInt64 = 0
  /// Logins that make their user another, with the last call before each.
  private var newUsers: [UInt64: UInt64] = [:]
  private var toldState = ReportedState.signedOut
  private var toldIdentity: IdentityID?
  private var toldUser: SignedIn?
  /// What did not hold, and when.
  private(set) var violations: [String] = []

  private let restarts: Bool

  /// - Parameter restarts: whether the daemon is killed now and then.
  init(_ plan: SessionPlan, seed: UInt64, restarts: Bool = false) {
    self.restarts = restarts
    session = SessionDriver(plan: plan, seed: seed)
    generator = SeededGenerator(seed: seed ^ 0xABCD)
  }

  mutating func step() {
    if restarts, Int.random(in: 0..<25, using: &generator) == 0 { return restart() }
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<30: ask()
    case 30..<38: leave()
    case 38..<72: finish()
    case 72..<75: sleepAndWake()
    case 75..<80: session.useCache()
    case 80..<83: signIn()
    case 83:
      formerCalls = lastCall
      overtake("signed out") { $0.send(.loggedOut) }
    case 84: overtake("cleared") { $0.send(.cleared(.credentials)) }
    case 85: overtake("cleared") { $0.send(.cleared(.identity)) }
    case 86:
      session.send(.released)
      check("released")
    case 87: changeProfile()
    default: pass()
    }
  }

  // MARK: Steps

  private mutating func ask() {
    let wait = pick([0, 0, 0.3, 1, 5, 5, 5, 60, 300])
    let minimum: Double? = pick([nil, nil, nil, nil, 0, 30, 900, 3000, 40_000])
    // The waiter may be answered at once, so it is noted first.
    let id = session.nextWaiter
    waiting[id] = session.now + .seconds(1) * wait
    session.ask(
      Int.random(in: 0..<4, using: &generator) == 0 ? tokenWanted() : .credentials,
      minimumLife: minimum.map { .seconds(1) * $0 },
      refresh: Int.random(in: 0..<6, using: &generator) == 0,
      wait: .seconds(1) * wait)
    check("asked")
  }

  private mutating func tokenWanted() -> Waiter.Want {
    guard session.machine.plan.backend.issuer != nil else { return .token }
    return pick([.token, .idToken, .accessToken, .accountToken])
  }

  private mutating func signIn() {
    var ways: [SignInInput] = [
      .developerToken(identityID: fixtures.other, token: fixtures.developerToken)
    ]
    if let logins = try? LoginsMap([("accounts.google.com", Secret("token"))]) {
      ways.append(.logins(logins))
    }
    switch session.machine.plan.backend {
    case .host: ways.append(.host)
    case .password: ways += [fixtures.password("alice"), fixtures.password("bob")]
    case .provider(let issuer):
      let form = pick([nil, PoolIssuers.Form.original, .updated])
      ways += ["alice", "bob"].map {
        fixtures.poolSignIn($0, at: session.now, of: issuer, form: form)
      }
    case .none: break
    }
    let wait = pick([0.5, 30])
    underWay.insert(session.nextWaiter)
    signingIn[session.nextWaiter] = session.now + .seconds(1) * wait
    let (way, lasting): (SignInInput, Double?) = (pick(ways), pick([nil, -10, 100, 1000, 10_000]))
    switch way {
    case .password, .developerToken, .providerTokens: newUsers[session.nextWaiter] = lastCall
    case .host, .logins, .username, .browser, .device: break
    }
    overtake("signed in") {
      $0.login(
        way, expires: lasting, loginsExpire: lasting.map { ["accounts.google.com": $0] } ?? [:],
        within: wait)
    }
  }

  private mutating func overtake(_ what: String, _ event: (inout SessionDriver) -> Void) {
    mayBeGone = true
    event(&session)
    staleCalls += session.takeStaleCalls()
    check(what)
  }

  /// Callers are gone, calls are numbered anew, and watchers begin with what they are told then.
  private mutating func restart() {
    let before = session.machine.snapshot
    session.restart()
    note(
      before.held.state != session.machine.snapshot.held.state, "another state after a restart")
    note(before.identityID != session.machine.identityID, "another identity after a restart")
    (waiting, signingIn, newUsers, staleCalls) = ([:], [:], [:], [])
    underWay = []
    credentialsCall = credentialsCall <= formerCalls ? 0 : .max
    (lastCall, formerCalls) = (0, 0)
    toldState = session.machine.state.reported
    toldIdentity = session.machine.identityID
    toldUser = user
    // What was due meanwhile is due at once.
    while session.machine.nextWake <= session.now { wake() }
    check("restarted")
  }

  private mutating func changeProfile() {
    var plan = session.machine.plan
    let change: ProfileChange = pick([.nothingHeld, .credentials, .backend, .identity])
    switch change {
    case .credentials: plan.way = Self.way(of: plan) { $0.flow = pick([.basic, .enhanced]) }
    case .identity:
      plan.backend = pick([.none, .host, .password, .provider(Fixtures.issuer)])
      plan.way = Self.way(of: plan) { $0.allowsGuests = Bool.random(using: &generator) }
      formerCalls = lastCall
    default: break
    }
    overtake("profile changed") { $0.send(.profileChanged(plan, change)) }
  }

  private static func way(of plan: SessionPlan, _ change: (inout PoolPlan) -> Void) -> PlannedWay {
    guard case .pool(var pool) = plan.way else { return plan.way }
    change(&pool)
    return .pool(pool)
  }

  private mutating func leave() {
    guard let waiter = waiting.keys.sorted().randomElement(using: &generator) else { return }
    waiting[waiter] = nil
    session.leave(waiter)
    check("left")
  }

  private mutating func finish() {
    if let stale = staleCalls.popLast() {
      let refreshes = session.machine.refreshCount
      session.finish(call: stale, fixtures.credentials())
      note(session.machine.refreshCount != refreshes, "a stale reply was taken")
      return check("stale reply")
    }
    guard let (id, call) = session.openCalls.first else {
      // Long gone, or never made: ignored.
      session.finish(
        call: CallID(number: .random(in: 0...lastCall, using: &generator)), fixtures.failed())
      return check("unknown reply")
    }
    let outcome = outcome(of: call)
    switch outcome {
    case .credentials(_, _, let lifetime) where lifetime > .zero:
      credentialsEnd = session.now + lifetime
      credentialsCall = id.number
      mayBeGone = false
    // From here on it is another user's session.
    case .signedIn: formerCalls = id.number
    default: break
    }
    session.finish(call: id, outcome)
    check("finished")
  }

  private mutating func outcome(of call: UpstreamCall) -> UpstreamOutcome {
    if Int.random(in: 0..<10, using: &generator) < 4 {
      return fixtures.failed(pick(Self.failures))
    }
    let key = call.poolKey
    // An identity pool that wants the key of a token's own issuer.
    if let key, key.isWrong, Bool.random(using: &generator) { return Fixtures.wrongKey }
    var identity =
      Int.random(in: 0..<8, using: &generator) == 0 ? fixtures.other : fixtures.identity
    // Another one under the key that is tried is refused: `LoginsKeyTests`.
    if key?.form == .updated { identity = session.machine.identityID ?? identity }
    let lifetime: Double = pick([-5, 0, 1, 30, 90, 900, 1700, 3600, 43_200])
    switch call {
    case .signIn:
      return .signedIn(BackendSession(token: Secret("session"), developerUserIdentifier: nil))
    case .readTokenFile: return .fileToken(Secret("token"))
    case .renewProviderTokens(let session, _):
      let rotated = Int.random(in: 0..<3, using: &generator) == 0
      return .providerTokens(
        fixtures.providerTokens(
          session.username, lifetime: lifetime, refresh: rotated ? "r\(lastCall)" : nil,
          form: pick([nil, .original, .updated])),
        serverTime: nil)
    case .tokenCallback, .getOpenIDToken:
      let isSilent = Int.random(in: 0..<4, using: &generator) == 0
      return fixtures.token(isSilent ? nil : lifetime, of: identity)
    case .getID: return .identity(identity)
    case .getCredentials, .assumeRole: return fixtures.credentials(lifetime, of: identity)
    case .renewSource, .derive: preconditionFailure("no profile of the walk is derived")
    }
  }

  private mutating func pass() {
    let seconds = pick([0.01, 0.5, 1, 3, 10, 100, 1000, 10_000])
    let end = session.now + .seconds(1) * seconds
    var wakes = 0
    while session.machine.nextWake <= end, wakes < 1000 {
      wakes += 1
      wake()
      // An upstream that hangs for hours is not the machine's affair: calls have deadlines.
      if !session.openCalls.isEmpty, Bool.random(using: &generator) { finish() }
    }
    note(wakes == 1000, "woken without end")
    session.sleep(until: end)
  }

  private mutating func sleepAndWake() {
    session.sleep(7200)
    wake()
  }

  private mutating func wake() {
    let next = session.machine.nextWake
    session.sleep(until: next == .distantFuture ? session.now : next)
    session.send(.timePassed)
    check("woken")
    let late = (Array(waiting.values) + signingIn.values).count { $0 <= session.now }
    note(late > 0, "\(late) waiters past their deadline")
  }

  private mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: elements.indices, using: &generator)]
  }

  static let failures: [FailureClass] = [
    .transient(retryAfter: nil), .transient(retryAfter: .seconds(20)), .throttled(retryAfter: nil),
    .throttled(retryAfter: .seconds(1000)), .newTokenOnce, .dropIdentityThenNewToken,
    .retryWithoutIdentity, .newIdentity, .signInRequired, .signInFailed, .refusedByBackend,
    .unknownUser, .conflict, .poolMisconfigured, .permanentConfiguration,
  ]

  // MARK: What must hold

  private mutating func check(_ event: String) {
    let (machine, now) = (session.machine, session.now)
    for action in session.actions {
      switch action {
      case .call(let id, _):
        note(id.number <= lastCall, "call \(id) again")
        lastCall = id.number
      case .giveCredentials(let id):
        settle(id)
        note(machine.credentials.map { $0.servableUntil <= now } ?? true, "nothing to give")
        note(credentialsEnd.map { $0 <= now } ?? true, "expired credentials given")
        note(credentialsCall <= formerCalls, "credentials of a former user given")
      case .giveToken(let id):
        settle(id)
        note(machine.token == nil && machine.state.providerSession == nil, "no token to give")
        note(machine.token?.expires.map { $0 <= now } ?? false, "an expired token given")
      case .lendToken(let id, let token, _):
        settle(id)
        note(token.isEmpty, "an empty token lent")
      case .giveState(let id):
        settle(id)
        formerCalls = max(formerCalls, newUsers.removeValue(forKey: id) ?? 0)
      case .refuse(let id, let error):
        settle(id)
        note(error.message.isEmpty, "a refusal without a reason")
        note(error.retryAfter.map { $0 < .zero } ?? false, "a negative RetryAfter")
      case .signInEnded(let id, let error):
        note(underWay.remove(id) == nil, "a sign-in has ended that is not under way")
        if error == nil { formerCalls = max(formerCalls, newUsers.removeValue(forKey: id) ?? 0) }
      case .announce(let announcement): hear(announcement)
      case .abandon(let tokens):
        note(machine.holds(tokens.refreshToken), "tokens revoked that are held")
      case .credentialsChanged: break
      }
    }
    session.forget()
    note(session.openCalls.count > 1, "two calls at once")
    note(machine.nextWake <= now, "after \(event): to be woken \(machine.nextWake - now) from now")
    note(machine.waiterCount != waiting.count, "\(waiting.count) wait, not \(machine.waiterCount)")
    let isGood = credentialsEnd.map { $0 - .seconds(60) > now } ?? false
    note(isGood && machine.credentials == nil && !mayBeGone, "valid credentials dropped")
    note(machine.credentials.map { $0.expires <= now } ?? false, "expired credentials kept")
    // A client's token may run out while it is being exchanged.
    let isOver = machine.token?.expires.map { $0 <= now } ?? false
    note(isOver && session.openCalls.isEmpty, "an expired token kept")
    let hasEnded = signInEnd.map { $0 <= now } ?? false
    note(hasEnded && session.openCalls.isEmpty, "signed in after the end")
    // A sign-in that is not accepted yet is nobody's business.
    let isSettled = machine.state.reported == .signedIn && machine.formerHeld == nil
    note(isSettled && user != toldUser, "\(String(describing: user)), without a word")
  }

  /// Who is signed in, by name, and until when by what `SignedInUntil` says.
  private var user: SignedIn? {
    var user = session.machine.signedIn(hostName: nil) { _ in WallTime(milliseconds: 0) }
    user?.until = nil
    return user
  }

  private var signInEnd: Instant? {
    var end: Instant?
    _ = session.machine.signedIn(hostName: nil) {
      end = $0
      return WallTime(milliseconds: 0)
    }
    return end
  }

  /// Each piece of news is one, and follows from the one before.
  private mutating func hear(_ announcement: Announcement) {
    switch announcement {
    case .state(let state):
      note(
        state.reported == toldState && user == toldUser, "\(toldState) announced twice")
      toldState = state.reported
      toldUser = user
    case .identityChanged(let previous, let current):
      note(previous != toldIdentity || current == previous, "an identity that does not follow")
      toldIdentity = current
    case .refreshed, .degraded, .failed, .signInFailed, .expiring: break
    }
  }

  private mutating func settle(_ waiter: UInt64) {
    let deadline = waiting.removeValue(forKey: waiter) ?? signingIn.removeValue(forKey: waiter)
    note(
      deadline == nil, "waiter \(waiter) answered twice or never asked")
  }

  private mutating func note(_ isWrong: Bool, _ what: String) {
    if isWrong { violations.append("at \(session.now.nanoseconds): \(what)") }
  }
}
