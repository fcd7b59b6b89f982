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

  /// What requests and checks of a session leave with it.
  struct Asking {
    /// The client whose request was the last to wait here.
    var client: UInt64 = 0
    /// Who asked for the sign-in that is being carried out, by its number; two while the later one takes
    /// the place of the earlier.
    var signIns: [UInt64: SignInAsker] = [:]
    /// The clients that check it and wait for its renewal.
    var checks: [UInt64: CheckRun] = [:]
  }

  /// When `keep_warm` renews it.
  struct Unattended {
    /// The pause after an attempt that brought no credentials, or a user who is refused or unknown. The
    /// session's own back-off holds beside it.
    static let pause: Duration = .seconds(60)
    /// From one attempt to the next, whatever the first one brought: an upstream whose credentials last a
    /// second is not asked every second for each session that nobody uses. AWS grants 15 minutes at least.
    static let interval: Duration = .seconds(10)

    /// At the earliest.
    var from = Instant(nanoseconds: 0)
    /// Whether its user is being looked up for that.
    var isBeingDecided = false
  }

  /// What the ``SessionTable`` and ``Forgetting`` know of it.
  struct Place {
    /// In whose share it counts, while it is in the table.
    var share: Account?
    /// Whether it is among those that ``SessionShares`` looks at for one that holds nothing.
    var isQueuedAsEmpty = false
    /// Its place in the ``WakeQueue``; nil while it need not be woken.
    var inWakeQueue: Int?
    /// Whether it is counted among sessions whose last refresh failed.
    var isDegraded = false
    /// Whether ``Forgetting`` looked at it since it was made.
    var wasLookedAt = false
    /// Whether it was removed from the service. Cached answers may refer to it still.
    var hasEnded = false
  }

  /// The rendered answers; nil where there is none yet.
  private struct Replies {
    var line: RenderedReply?
    var http: EndpointReply?
  }

  var saved: Saved?
  private var replies = Replies()
  /// Until this time ``reply`` answers a plain `get`, without the machine.
  private(set) var quietUntil = Instant(nanoseconds: .min)
  /// The number of these credentials, unique in the life of the daemon; 0 if there are none.
  private(set) var credentialsNumber: UInt64 = 0
  /// The number of the last credentials whose use was recorded.
  var usedCredentials: UInt64 = 0
  /// The processes that got these credentials.
  var audited = AuditLedger()
  var asking = Asking()
  /// The call that the machine waits for, and whether it was prioritised for a caller.
  var call: (id: CallID, isInPerson: Bool)?
  var unattended = Unattended()
  var place = Place()

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
    guard rule != .nobody, !unattended.isBeingDecided, rule.keeps(uid: key.uid, name: owner.name),
      let start = machine.unattendedStart(signingIn: rule != .everySession)
    else { return nil }
    return max(start, unattended.from)
  }

  /// Nil for a uid without a name.
  var userName: String? { owner.name }

  /// Whether the credentials are valid for that long.
  func lasts(_ time: Duration, _ now: Instant) -> Bool {
    machine.credentials.map { $0.expires - now >= time } ?? false
  }

  /// The answer to a `get`, rendered at the first `get` after a refresh; nil without credentials.
  var reply: RenderedReply? {
    if replies.line == nil {
      replies.line = machine.credentials.map { RenderedReply.credentials($0.credentials) }
    }
    return replies.line
  }

  /// The answer of the endpoint on a connection that stays open.
  var endpointReply: EndpointReply? {
    if replies.http == nil {
      replies.http = machine.credentials.map {
        EndpointReply.credentials($0.credentials, closes: false)
      }
    }
    return replies.http
  }

  /// Drops the rendered replies. Most sessions get one request, from a process that then keeps the
  /// credentials: a second copy is not needed.
  func dropReply() { replies = Replies() }

  /// Call whenever the machine's credentials changed.
  ///
  /// - Parameter number: one that no credentials had before.
  func credentialsChanged(number: UInt64) {
    credentialsNumber = machine.credentials == nil ? 0 : number
    // A refused sign-in gives back the credentials that were there before it, and to whom they were given
    // is known.
    if let held = machine.credentials {
      audited.begin(held.credentials.accessKeyID, received: held.received)
    }
    quietUntil = machine.quietUntil
    // The longer pause is for attempts that bring nothing.
    if machine.credentials != nil {
      unattended.from = max(
        Instant(nanoseconds: 0), unattended.from - (Unattended.pause - Unattended.interval))
    }
    dropReply()
  }

  var hasEnded: Bool { place.hasEnded }

  /// Drops everything that it holds. Code that still refers to it gets no answer from it.
  func end(_ now: Instant) {
    place.hasEnded = true
    machine = SessionMachine(plan: profile.plan, now: now)
    credentialsChanged(number: 0)
  }
}

extension ProtocolError {
  /// The answer if the machine granted credentials that it does not hold, which cannot happen.
  static let nothingHeld = ProtocolError(
    .internal, "the session holds nothing to give; report this")
}
