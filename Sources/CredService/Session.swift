import CredCore

/// A session's machine with what the service keeps beside it.
package final class Session {
  let key: SessionKey
  /// As the configuration has it now.
  var profile: Profile
  /// Nil for a uid without a name.
  var userName: String?
  var machine: SessionMachine

  /// What was last saved for the next process.
  struct Saved {
    let snapshot: SessionSnapshot
    let userName: String?
  }

  var saved: Saved?
  private var rendered: RenderedReply?
  /// Until then a plain `get` is answered by ``reply`` without asking the machine.
  private(set) var quietUntil = Instant(nanoseconds: .min)
  /// Tells these credentials from all others that the daemon ever held; 0 where there are none.
  private(set) var credentialsNumber: UInt64 = 0
  /// The number of the credentials that are known to be in use.
  var usedCredentials: UInt64 = 0
  /// The processes that were given these credentials.
  var audited = AuditLedger()
  /// Counted by the service among those whose last refresh failed.
  var isDegraded = false
  /// The call that the machine waits for, and whether upstream knows that a caller waits.
  var call: (id: CallID, isInPerson: Bool)?
  /// The session's place in the ``WakeQueue``; nil while it need not be woken.
  var wakePlace: Int?

  init(key: SessionKey, profile: Profile, userName: String?, machine: SessionMachine) {
    self.key = key
    self.profile = profile
    self.userName = userName
    self.machine = machine
  }

  /// Whether the credentials last that long.
  func lasts(_ time: Duration, _ now: Instant) -> Bool {
    machine.credentials.map { $0.expires - now >= time } ?? false
  }

  /// The answer to a `get`, rendered once for each refresh and only if somebody asks; nil without
  /// credentials.
  var reply: RenderedReply? {
    if rendered == nil {
      rendered = machine.credentials.map { RenderedReply.credentials($0.credentials) }
    }
    return rendered
  }

  /// Forgets the rendered reply. Most sessions are asked once, by a process that then keeps the
  /// credentials: they need no second copy.
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
}

/// What a backend is told when a user signs out everywhere: taken before the session forgets it.
package struct GlobalSignOut: Sendable {
  let id: CallID
  let key: SessionKey
  let profile: Profile
  let user: UnixUser
  let identityID: IdentityID?
  let backendSession: BackendSession?

  init(_ id: CallID, _ session: Session) {
    self.id = id
    key = session.key
    profile = session.profile
    user = UnixUser(uid: session.key.uid, name: session.userName)
    identityID = session.machine.identityID
    backendSession =
      switch session.machine.state {
      case .signedIn(.password(let known)), .tokensInvalid(.password(let known)): known
      default: nil
      }
  }
}

extension ProtocolError {
  /// For what cannot happen: the machine gives only what it holds. The caller is answered all the
  /// same.
  static let nothingHeld = ProtocolError(
    .internal, "the session holds nothing to give; report this")
}
