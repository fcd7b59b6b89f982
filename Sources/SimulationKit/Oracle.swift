import CredCore

/// What the simulation knows to be true of a session, whatever the service says.
struct ExpectedSession {
  let index: Int
  let profile: SimulatedProfile
  /// Apps ask about as often as this.
  let gap: Double
  /// How long its credentials last.
  let lifetime: Double
  /// Counts the people to whom the uid was given, as far as the service can know.
  var generation = 0
  /// Whose credentials may be answered.
  var allowed: [Owner] = []
  /// Whose may be answered once a login has succeeded, by the request that brought it.
  var pending: [(request: UInt64, owners: [Owner])] = []
  /// The user signed out, and did not sign in since.
  var isSignedOut = false
  /// Until when credentials that were answered must be answered again.
  var heldUntil = Instant(nanoseconds: .min)
  /// Requests under way that may take credentials away, or a call's place.
  var wishes = 0
  /// Of those, sign-outs.
  var signOuts = 0
  /// Counts what would make a sign-out's answer say nothing any more.
  var changes = 0
  /// The uid is somebody else's, and the service has not been asked since.
  var isHandedOver = false
  /// The last answer with credentials, and what its seal says.
  var lastAnswer: (reply: [UInt8], seal: Seal)?
  /// The call under way.
  var flight: (call: Int, generation: Int)?
  /// Since the hour began.
  var callsInHour = 0
  var requestsInHour = 0
  var finallySignedIn = false

  init(_ index: Int, _ profile: SimulatedProfile, _ random: inout SeededGenerator) {
    self.index = index
    self.profile = profile
    gap = random.pick([20, 120, 600, 600, 3000, 10_000])
    let usual: Double = random.pick([90, 900, 1800, 3600, 3600, 3600, 43_200])
    lifetime = profile.isBasic ? Double(profile.duration) : usual
    allowed = unattended
  }

  var user: Int { SimulatedUsers.user(ofSession: index) }

  /// The file's account stays the same, whoever has the uid.
  func owner(_ kind: Owner.Kind) -> Owner {
    let isFiles = profile.hasTokenFile && kind == .logins
    return Owner(session: index, generation: isFiles ? 0 : generation, kind)
  }

  /// Who needs nobody to sign in.
  var unattended: [Owner] { [owner(.host), owner(.logins), .anyGuest] }

  /// The most calls that an hour of this session can explain: refreshes, what users did, and
  /// back-off, each with a chain of calls and their remedies.
  var mostCallsInHour: Int {
    let refreshes = Int(3600 / (0.19 * min(lifetime, 90))) + 1
    return 8 * (refreshes + requestsInHour + 60)
  }
}

/// Knows what may be answered, and checks what is.
final class Oracle {
  let world: World
  private(set) var sessions: [ExpectedSession] = []
  /// Which session was given a guest's identity first.
  private var guests: [Int: (session: Int, generation: Int)] = [:]

  init(_ world: World, _ configuration: SimulatedConfiguration, sessions count: Int) {
    self.world = world
    for index in 0..<count {
      sessions.append(
        ExpectedSession(index, configuration.profile(ofSession: index), &world.random))
    }
  }

  // MARK: Answers

  /// A client was answered with credentials.
  func credentialsGiven(_ reply: [UInt8], _ index: Int) {
    if sessions[index].lastAnswer?.reply != reply {
      guard let object = try? JSONValue.parse(reply),
        let token = object["SessionToken"]?.secret, let key = object["SecretAccessKey"]?.secret,
        let seal = Seal(token.bytes), Seal(key.bytes)?.owner == seal.owner
      else {
        return world.violate(.neverExpired, session: index, "an answer holds no credentials")
      }
      sessions[index].lastAnswer = (reply, seal)
    }
    guard let seal = sessions[index].lastAnswer?.seal else { return }
    check(seal, "credentials", index)
    guard sessions[index].wishes == 0, sessions[index].pending.isEmpty else { return }
    sessions[index].heldUntil = seal.servableUntil
  }

  /// Upstream gave new credentials, which take the place of those before. Those of a guest that
  /// nobody has been yet may be any guest's.
  func credentialsIssued(_ seal: Seal) {
    let guest = seal.owner.guest
    if let index = seal.owner.isGuest ? guests[guest]?.session : seal.owner.session {
      return shorten(index, to: seal)
    }
    for index in sessions.indices where sessions[index].lastAnswer?.seal.owner.isGuest ?? false {
      shorten(index, to: seal)
    }
  }

  private func shorten(_ index: Int, to seal: Seal) {
    sessions[index].heldUntil = min(sessions[index].heldUntil, seal.servableUntil)
  }

  /// A client was answered with a developer token.
  func tokenGiven(_ reply: [UInt8], _ index: Int) {
    guard let token = (try? JSONValue.parse(reply))?["Token"]?.secret, let seal = Seal(token.bytes)
    else { return world.violate(.neverExpired, session: index, "an answer holds no token") }
    check(seal, "a token", index)
  }

  private func check(_ seal: Seal, _ what: String, _ index: Int) {
    if seal.isEndKnown, seal.end <= world.now {
      world.violate(
        .neverExpired, session: index, "\(what) given that are over since \(world.now - seal.end)")
    }
    if isAllowed(seal.owner, in: sessions[index].allowed, index) { return }
    guard let success = sessions[index].pending.last(where: { $0.owners.contains(seal.owner) })
    else {
      return world.violate(
        .neverForeign, session: index,
        "\(what) given of owner \(seal.owner.number), not of "
          + "\(sessions[index].allowed.map(\.number))")
    }
    // A sign-in that nobody waits for any more has succeeded.
    sessions[index].allowed = success.owners
    sessions[index].pending = []
    sessions[index].isSignedOut = false
  }

  private func isAllowed(_ owner: Owner, in allowed: [Owner], _ index: Int) -> Bool {
    guard owner.isGuest else { return allowed.contains(owner) }
    guard allowed.contains(.anyGuest) else { return false }
    let generation = sessions[index].generation
    guard let known = guests[owner.guest] else {
      guests[owner.guest] = (index, generation)
      return true
    }
    return known == (index, generation)
  }

  /// A `get` that any good credentials would have satisfied was refused.
  func plainGetRefused(_ code: String, _ index: Int) {
    guard code != "ShuttingDown", sessions[index].wishes == 0, sessions[index].pending.isEmpty,
      world.now < sessions[index].heldUntil
    else { return }
    world.violate(
      .neverDropped, session: index,
      "refused with \(code), with credentials good for \(sessions[index].heldUntil - world.now)")
  }

  // MARK: What users do

  func requestMade(_ index: Int) { sessions[index].requestsInHour += 1 }

  /// A request begins that may take credentials away, or a call's place.
  func wishBegins(_ index: Int) {
    sessions[index].wishes += 1
    forgetHeld(index)
  }

  func wishEnds(_ index: Int) {
    sessions[index].wishes = max(0, sessions[index].wishes - 1)
    forgetHeld(index)
  }

  private func forgetHeld(_ index: Int) {
    sessions[index].heldUntil = world.now
    sessions[index].flight = nil
  }

  /// The first answer after a uid was handed over.
  func answered(_ index: Int) {
    guard sessions[index].isHandedOver else { return }
    sessions[index].isHandedOver = false
    sessions[index].flight = nil
  }

  func loginBegins(_ request: UInt64, _ owners: [Owner], _ index: Int) {
    sessions[index].pending.append((request, owners))
    sessions[index].changes += 1
  }

  func loginAccepted(_ owners: [Owner], _ index: Int) {
    let session = sessions[index]
    // A login is added to whom a backend vouches for, and one by the host keeps whom it vouches
    // for already, with what is valid, be it of the token that a client brought before.
    let isAdded = [.logins, .host].contains { owners.first == session.owner($0) }
    let isKept = isAdded && session.allowed.contains(where: \.isVouchedFor)
    let staysOpen = isKept || session.signOuts > 0
    sessions[index].allowed = (staysOpen ? session.allowed : []) + owners
    sessions[index].pending = []
    sessions[index].isSignedOut = false
  }

  /// One that merely takes too long may yet succeed.
  func loginRefused(_ request: UInt64, _ code: String, _ index: Int) {
    if code != "Timeout" { sessions[index].pending.removeAll { $0.request == request } }
  }

  /// The backend's answer to a password arrives. If nothing else was wanted since, the session is
  /// that person's, whatever becomes of the rest.
  func passwordTaken(_ owner: Owner) {
    guard let index = owner.session, sessions[index].pending.last?.owners == [owner] else { return }
    sessions[index].allowed = [owner]
    sessions[index].pending = []
    sessions[index].isSignedOut = false
  }

  /// From now on the session may be a guest's. Until the answer nobody knows.
  ///
  /// - Returns: what ``signOutEnds(_:_:)`` has to be told.
  func signOutBegins(_ index: Int) -> Int {
    sessions[index].signOuts += 1
    sessions[index].allowed += sessions[index].pending.flatMap(\.owners) + [.anyGuest]
    sessions[index].pending = []
    return sessions[index].changes
  }

  /// - Parameter changes: nil where nothing is known of it.
  func signOutEnds(_ changes: Int?, _ index: Int) {
    sessions[index].signOuts = max(0, sessions[index].signOuts - 1)
    guard sessions[index].changes == changes else { return }
    sessions[index].pending = []
    sessions[index].allowed = [.anyGuest]
    sessions[index].isSignedOut = true
  }

  func identityCleared(_ index: Int) {
    // It may have been a guest who was known; a sign-in without an answer may have succeeded.
    if sessions[index].isSignedOut, sessions[index].pending.isEmpty { return }
    sessions[index].allowed += sessions[index].unattended
    sessions[index].changes += 1
  }

  /// The uid is another person's, who must find nothing of the one before.
  func userChanged(_ user: Int) {
    for index in SimulatedUsers.sessions(ofUser: user)
    where sessions.indices.contains(index) && sessions[index].profile.knowsUserNames {
      sessions[index].generation += 1
      sessions[index].isHandedOver = true
      reset(index)
    }
  }

  /// The service is another process, which knows all that was stored.
  func restarted(withoutStore: Bool) {
    for index in sessions.indices {
      sessions[index].flight = nil
      sessions[index].wishes = 0
      sessions[index].signOuts = 0
      if withoutStore { reset(index) }
    }
  }

  private func reset(_ index: Int) {
    sessions[index].pending = []
    sessions[index].allowed = sessions[index].unattended
    sessions[index].isSignedOut = false
    sessions[index].heldUntil = Instant(nanoseconds: .min)
    sessions[index].wishes = 0
    sessions[index].signOuts = 0
    sessions[index].changes += 1
  }

  // MARK: Calls

  /// - Parameter owner: nil where a request does not say for whom it is.
  func callBegins(_ call: Int, for owner: Owner?) {
    guard let owner, let index = owner.session else { return }
    sessions[index].callsInHour += 1
    let session = sessions[index]
    if let flight = session.flight, flight.generation == owner.generation, session.wishes == 0,
      !session.isHandedOver
    {
      world.violate(.singleFlight, session: index, "call \(call) begins beside \(flight.call)")
    }
    sessions[index].flight = (call, owner.generation)
  }

  func callEnds(_ call: Int, for owner: Owner?) {
    guard let index = owner?.session, sessions[index].flight?.call == call else { return }
    sessions[index].flight = nil
  }

  func beginHour() {
    for index in sessions.indices {
      let session = sessions[index]
      if session.callsInHour > session.mostCallsInHour {
        world.violate(
          .boundedCalls, session: index,
          "\(session.callsInHour) calls in an hour with \(session.requestsInHour) requests")
      }
      sessions[index].callsInHour = 0
      sessions[index].requestsInHour = 0
    }
  }

  // MARK: The calm

  /// In the calm only a sign-in may still be wanted, and once.
  ///
  /// - Returns: whether to sign in and to ask again.
  func finallyRefused(_ code: String, isAsk: Bool, _ index: Int) -> Bool {
    guard isAsk, code == "SignInRequired", !sessions[index].finallySignedIn else {
      world.violate(.healthyAgain, session: index, "refused long after all faults ended: \(code)")
      return false
    }
    sessions[index].finallySignedIn = true
    return true
  }

  /// What `status` says in the end.
  func finalStatus(_ index: Int, state: String, failures: Int64, hasCredentials: Bool) {
    // What the user signed in with has run out: a person's turn.
    if state == "tokensInvalid" { return }
    if !hasCredentials, sessions[index].lifetime > 900 {
      world.violate(.healthyAgain, session: index, "without credentials in the end")
    }
    if failures > 0 { world.violate(.healthyAgain, session: index, "still failing in the end") }
  }
}
