import CredCore

/// A session's machine with the service's own state of the session.
package final class Session {
  let key: SessionKey
  /// The profile in the present configuration.
  var profile: Profile
  /// The person whom it belongs to.
  var owner: SessionOwner
  var machine: SessionMachine

  /// The state that was last saved for the next process.
  struct Saved {
    let snapshot: SessionSnapshot
    let owner: SessionOwner
  }

  var saved: Saved?
  private var rendered: RenderedReply?
  private var renderedForEndpoint: EndpointReply?
  /// Until this time ``reply`` answers a plain `get`, without the machine.
  private(set) var quietUntil = Instant(nanoseconds: .min)
  /// The number of these credentials, unique in the life of the daemon; 0 if there are none.
  private(set) var credentialsNumber: UInt64 = 0
  /// The number of the last credentials whose use was recorded.
  var usedCredentials: UInt64 = 0
  /// The client whose request was the last to wait here.
  var askedBy: UInt64 = 0
  /// Whether the session was looked at for ``Forgetting`` since it was made.
  var wasLookedAt = false
  /// The processes that got these credentials.
  var audited = AuditLedger()
  /// The credentials that the ledger is about.
  private var auditedCredentials: (key: String, received: Instant)?
  /// Who asked for the sign-in that is being carried out, by its number; two while the later one takes
  /// the place of the earlier.
  var signInAskers: [UInt64: SignInAsker] = [:]
  /// The client whose request is being carried out, and whether it is a `logout`.
  weak var requester: Client?
  var isBeingSignedOut = false
  /// Whether the service counts it among sessions whose last refresh failed.
  var isDegraded = false
  /// The call that the machine waits for, and whether it was prioritised for a caller.
  var call: (id: CallID, isInPerson: Bool)?
  /// Whether it was removed from the service. Cached answers may refer to it still.
  private(set) var hasEnded = false
  /// The clients that check it and wait for its renewal.
  var checks: [UInt64: CheckRun] = [:]
  /// When it may be renewed by `keep_warm` at the earliest.
  var unattendedFrom = Instant(nanoseconds: 0)
  /// Whether its user is being looked up for that.
  var isBeingDecided = false
  /// In whose share it counts, while it is in the table.
  var share: Account?
  /// Whether it is among those that ``SessionShares`` looks at for one that holds nothing.
  var isQueuedAsEmpty = false
  /// The session's place in the ``WakeQueue``; nil while it need not be woken.
  var wakePlace: Int?

  init(key: SessionKey, profile: Profile, owner: SessionOwner, machine: SessionMachine) {
    self.key = key
    self.profile = profile
    self.owner = owner
    self.machine = machine
  }

  /// When it is to be woken.
  var nextWake: Instant { min(machine.nextWake, unattendedRenewal ?? .distantFuture) }

  /// When the next refresh starts, and why then, for people.
  var nextRefresh: (at: Instant?, reason: String) {
    let next = machine.nextRefresh
    guard next.at == nil, let at = unattendedRenewal else { return next }
    return (at, "keep_warm")
  }

  /// When it is renewed though nobody asks; nil where it is not.
  var unattendedRenewal: Instant? {
    let rule = profile.settings.keepWarm
    guard rule != .nobody, !isBeingDecided, rule.keeps(uid: key.uid, name: owner.name),
      let start = machine.unattendedStart(signingIn: rule != .everySession)
    else { return nil }
    return max(start, unattendedFrom)
  }

  /// Nil for a uid without a name.
  var userName: String? { owner.name }

  /// Whether the credentials are valid for that long.
  func lasts(_ time: Duration, _ now: Instant) -> Bool {
    machine.credentials.map { $0.expires - now >= time } ?? false
  }

  /// The answer to a `get`, rendered at the first `get` after a refresh; nil without credentials.
  var reply: RenderedReply? {
    if rendered == nil {
      rendered = machine.credentials.map { RenderedReply.credentials($0.credentials) }
    }
    return rendered
  }

  /// The answer of the endpoint on a connection that stays open.
  var endpointReply: EndpointReply? {
    if renderedForEndpoint == nil {
      renderedForEndpoint = machine.credentials.map {
        EndpointReply.credentials($0.credentials, closes: false)
      }
    }
    return renderedForEndpoint
  }

  /// Drops the rendered replies. Most sessions get one request, from a process that then keeps the
  /// credentials: a second copy is not needed.
  func dropReply() {
    rendered = nil
    renderedForEndpoint = nil
  }

  /// Call whenever the machine's credentials changed.
  ///
  /// - Parameter number: one that no credentials had before.
  func credentialsChanged(number: UInt64) {
    credentialsNumber = machine.credentials == nil ? 0 : number
    beginLedger()
    quietUntil = machine.quietUntil
    // The longer pause is for attempts that bring nothing.
    if machine.credentials != nil {
      unattendedFrom = max(
        Instant(nanoseconds: 0), unattendedFrom - (KeptSessions.pause - KeptSessions.interval))
    }
    dropReply()
  }

  /// A refused sign-in gives back the credentials that were there before it, and to whom they were given
  /// is known.
  private func beginLedger() {
    guard let held = machine.credentials else { return }
    let credentials = (key: held.credentials.accessKeyID, received: held.received)
    if let auditedCredentials, auditedCredentials == credentials { return }
    auditedCredentials = credentials
    audited.begin()
  }

  /// Drops everything that it holds. Code that still refers to it gets no answer from it.
  func end(_ now: Instant) {
    hasEnded = true
    machine = SessionMachine(plan: profile.plan, now: now)
    credentialsChanged(number: 0)
  }
}

/// The content of a sign-out for a backend, taken before the session drops it.
package struct BackendSignOut: Sendable {
  let id: CallID
  let key: SessionKey
  let profile: Profile
  let user: UnixUser
  let identityID: IdentityID?
  let backendSession: BackendSession?
  private(set) var poolSession: PoolSession?
  /// Whether the user is signed out on all hosts, or this session alone ends.
  let isGlobal: Bool

  /// Of a session's tokens that are not of its own sign-in, such as the linked one.
  init(_ id: CallID, _ session: Session, ofOther tokens: PoolSession, isGlobal: Bool) {
    let user = UnixUser(uid: session.key.uid, name: session.userName)
    let giver = session.profile.giving(tokens)
    self.init(id, session.key, giver, user, of: tokens, isGlobal: isGlobal)
  }

  /// Of tokens alone, wherever they were held.
  init(
    _ id: CallID, _ key: SessionKey, _ profile: Profile, _ user: UnixUser, of pool: PoolSession,
    isGlobal: Bool = false
  ) {
    (self.id, self.key, self.profile, self.user) = (id, key, profile, user)
    (identityID, backendSession, poolSession, self.isGlobal) = (nil, nil, pool, isGlobal)
  }

  /// - Parameters:
  ///   - tokens: those that are to end; nil for the session's own.
  ///   - profile: whose backend gave them; nil for the session's own.
  init(
    _ id: CallID, _ session: Session, isGlobal: Bool, tokens: PoolSession? = nil,
    of profile: Profile? = nil
  ) {
    self.id = id
    self.isGlobal = isGlobal
    poolSession = tokens ?? session.machine.state.poolSession
    key = session.key
    self.profile = profile ?? session.profile
    user = UnixUser(uid: session.key.uid, name: session.userName)
    identityID = session.machine.identityForBackend
    backendSession =
      switch session.machine.state {
      case .signedIn(.password(let known)), .tokensInvalid(.password(let known)): known
      default: nil
      }
  }
}

extension BackendSignOut {
  /// With the tokens that a renewal brought meanwhile.
  func continued(by outcome: UpstreamOutcome, at now: Instant) -> BackendSignOut {
    var next = self
    next.poolSession = poolSession?.continued(by: outcome, at: now)
    return next
  }
}

extension ProtocolError {
  /// The answer if the machine granted credentials that it does not hold, which cannot happen.
  static let nothingHeld = ProtocolError(
    .internal, "the session holds nothing to give; report this")
}
