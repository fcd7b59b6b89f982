import CredCore

/// Knows which answers are allowed, and checks the answers.
final class Oracle {
  let world: World
  private(set) var sessions: [ExpectedSession] = []
  /// The first session that got each guest identity.
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
    sessions[index].isWarm = sessions[index].profile.isKept
  }

  /// Upstream gave new credentials, which replace the former ones. Credentials of a new guest may
  /// belong to any guest.
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
    // A sign-in has succeeded after its client stopped waiting.
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

  /// A `get` was refused that any valid credentials would have satisfied.
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

  /// A request begins that may remove credentials or replace a call.
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
    sessions[index].isWarm = false
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
    // A login of either kind keeps an identity that a backend vouches for, and everything of it
    // that is still valid, even from a token that a client sent earlier.
    let isAdded = [.logins, .host].contains { owners.first == session.owner($0) }
    let isKept = isAdded && session.allowed.contains(where: \.isVouchedFor)
    let staysOpen = isKept || session.signOuts > 0
    sessions[index].allowed = (staysOpen ? session.allowed : []) + owners
    sessions[index].pending = []
    sessions[index].isSignedOut = false
  }

  /// A login that timed out may still succeed.
  func loginRefused(_ request: UInt64, _ code: String, _ index: Int) {
    if code != "Timeout" { sessions[index].pending.removeAll { $0.request == request } }
  }

  /// The backend accepts a password. If no later request changed the session, it now belongs to
  /// that person, even if later calls fail.
  func passwordTaken(_ owner: Owner) {
    guard let index = owner.session, sessions[index].pending.last?.owners == [owner] else { return }
    sessions[index].allowed = [owner]
    sessions[index].pending = []
    sessions[index].isSignedOut = false
  }

  /// From now on the session may belong to a guest: this is unknown until the answer.
  ///
  /// - Returns: the argument for ``signOutEnds(_:_:)``.
  func signOutBegins(_ index: Int) -> Int {
    sessions[index].signOuts += 1
    sessions[index].allowed += sessions[index].pending.flatMap(\.owners) + [.anyGuest]
    sessions[index].pending = []
    return sessions[index].changes
  }

  /// - Parameter changes: nil if the outcome is unknown.
  func signOutEnds(_ changes: Int?, _ index: Int) {
    sessions[index].signOuts = max(0, sessions[index].signOuts - 1)
    guard sessions[index].changes == changes else { return }
    sessions[index].pending = []
    sessions[index].allowed = [.anyGuest]
    sessions[index].isSignedOut = true
  }

  func identityCleared(_ index: Int) {
    // The cleared identity may have been a guest's; a sign-in without an answer may have succeeded.
    if sessions[index].isSignedOut, sessions[index].pending.isEmpty { return }
    sessions[index].allowed += sessions[index].unattended
    sessions[index].changes += 1
  }

  /// The uid is given to another person, who must get nothing of the former person.
  func userChanged(_ user: Int) {
    for index in SimulatedUsers.sessions(ofUser: user)
    where sessions.indices.contains(index) {
      sessions[index].generation += 1
      sessions[index].isHandedOver = true
      reset(index)
    }
  }

  /// The service is a new process that knows everything that was stored.
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
    sessions[index].isWarm = false
    sessions[index].wishes = 0
    sessions[index].signOuts = 0
    sessions[index].changes += 1
  }

  // MARK: Calls

  /// A backend may get an identity that it gave to the same user itself, or a guest's.
  func checkProvenance(of question: UpstreamQuestion) {
    switch question.kind {
    case .token, .logout: break
    default: return
    }
    guard let identity = question.identity, !identity.isGuest else { return }
    let isOwn = question.owner.map { $0 == identity } ?? true
    guard !isOwn || identity.isOfKind(.developer) else { return }
    world.violate(
      .neverClaimed, session: question.owner?.session,
      "a backend gets the identity of owner \(identity.number)")
  }

  /// - Parameter owner: nil if the request does not name its owner.
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

  /// The first caller of a session in the calm was answered.
  ///
  /// - Parameter late: how much later than the caller of a kept session may wait.
  func keptSessionAnswered(late: Duration, _ index: Int) {
    guard late > .zero else { return }
    world.violate(
      .keptWarm, session: index, "its first caller waited \(late) too long, though it is kept")
  }

  /// In the calm a session may need a sign-in, but only once.
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

  /// Checks `status` at the end.
  func finalStatus(_ index: Int, state: String, failures: Int64, hasCredentials: Bool) {
    // The user's logins have expired: only the user can sign in again.
    if state == "tokensInvalid" { return }
    if !hasCredentials, sessions[index].lifetime > 900 {
      world.violate(.healthyAgain, session: index, "without credentials in the end")
    }
    if failures > 0 { world.violate(.healthyAgain, session: index, "still failing in the end") }
  }
}
