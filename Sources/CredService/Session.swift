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
  /// The client whose request is being carried out, and whether it is a `logout`.
  weak var requester: Client?
  var isBeingSignedOut = false
  /// Whether the service counts it among sessions whose last refresh failed.
  var isDegraded = false
  /// The call that the machine waits for, and whether it was prioritised for a caller.
  var call: (id: CallID, isInPerson: Bool)?
  /// Whether it was removed from the service. Cached answers may refer to it still.
  private(set) var hasEnded = false
  /// The session's place in the ``WakeQueue``; nil while it need not be woken.
  var wakePlace: Int?

  init(key: SessionKey, profile: Profile, owner: SessionOwner, machine: SessionMachine) {
    self.key = key
    self.profile = profile
    self.owner = owner
    self.machine = machine
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

  /// Drops the rendered reply. Most sessions get one request, from a process that then keeps the
  /// credentials: a second copy is not needed.
  func dropReply() { rendered = nil }

  /// Call whenever the machine's credentials changed.
  ///
  /// - Parameter number: one that no credentials had before.
  func credentialsChanged(number: UInt64) {
    credentialsNumber = machine.credentials == nil ? 0 : number
    audited.begin()
    quietUntil = machine.quietUntil
    rendered = nil
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
  let poolSession: PoolSession?
  /// Whether the user is signed out on all hosts, or this session alone ends.
  let isGlobal: Bool

  init(_ id: CallID, _ session: Session, isGlobal: Bool) {
    self.id = id
    self.isGlobal = isGlobal
    poolSession = session.machine.state.poolSession
    key = session.key
    profile = session.profile
    user = UnixUser(uid: session.key.uid, name: session.userName)
    identityID = session.machine.identityForBackend
    backendSession =
      switch session.machine.state {
      case .signedIn(.password(let known)), .tokensInvalid(.password(let known)): known
      default: nil
      }
  }
}

extension ProtocolError {
  /// The answer if the machine granted credentials that it does not hold, which cannot happen.
  static let nothingHeld = ProtocolError(
    .internal, "the session holds nothing to give; report this")
}
