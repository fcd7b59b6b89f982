import CredCore

/// A session's machine, with the state that the service has beside it.
package final class Session {
  let key: SessionKey
  /// The profile in the present configuration.
  var profile: Profile
  /// The person to whom the session belongs.
  var owner: SessionOwner
  var machine: SessionMachine
  /// The session of the same user from which this session is derived; nil if it is not derived. The
  /// source ends after this session.
  private(set) var source: Session?

  /// The state that was saved last for the next process.
  struct Saved {
    let snapshot: SessionSnapshot
    let owner: SessionOwner
  }

  /// State of requests and checks that is kept with their session.
  struct Asking {
    /// The client that was the last to wait here.
    var client: UInt64 = 0
    /// The asker of each sign-in under way, by its number. There are two while a later sign-in
    /// takes the place of an earlier one.
    var signIns: [UInt64: SignInAsker] = [:]
    /// Whether its user was admitted to the profile itself, not only to a profile that is derived
    /// from it.
    var wasAdmitted = false
    /// The clients that check the session and wait for its renewal.
    var checks: [UInt64: CheckRun] = [:]
  }

  /// When `keep_warm` renews the session.
  struct Unattended {
    /// The pause after an attempt that brought no credentials, or after the user was refused or
    /// unknown. The session's own back-off applies too.
    static let pause: Duration = .seconds(60)
    /// The least time between two attempts, whatever the first attempt brought. An upstream's
    /// credentials may last a second. Without a pause, credd would ask it every second for each
    /// unused session. AWS grants 15 minutes at least.
    static let interval: Duration = .seconds(10)

    /// The earliest time of the next attempt.
    var from = Instant(nanoseconds: 0)
    /// Whether the user is being looked up for the renewal.
    var isBeingDecided = false
  }

  /// The session's state in the ``SessionTable`` and in ``Forgetting``.
  struct Registration {
    /// The account for which the session counts, while it is in the table.
    var share: Account?
    /// Whether it is in the queue of ``SessionShares`` for sessions that may hold nothing.
    var isQueuedAsEmpty = false
    /// Its index in the ``WakeQueue``; nil if it need not be woken.
    var inWakeQueue: Int?
    /// Whether it counts as a session with a failed last refresh.
    var isDegraded = false
    /// Whether ``Forgetting`` has looked at it since it was made.
    var wasLookedAt = false
    /// Whether it was removed from the service. Cached answers may still refer to it.
    var hasEnded = false
  }

  /// The rendered answers; nil for an answer that is not rendered yet.
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
  /// The number of the last credentials with a recorded use.
  var usedCredentials: UInt64 = 0
  /// The processes that got these credentials.
  var audited = AuditLedger()
  var asking = Asking()
  /// The call that the machine waits for, and whether it was prioritised for a caller.
  var call: (id: CallID, isInPerson: Bool)?
  var unattended = Unattended()
  var registration = Registration()

  init(
    key: SessionKey, profile: Profile, owner: SessionOwner, machine: SessionMachine,
    source: Session? = nil
  ) {
    self.source = source
    self.key = key
    self.profile = profile
    self.owner = owner
    self.machine = machine
  }

  /// When the session must be woken.
  var nextWake: Instant { min(machine.nextWake, unattendedRenewal ?? .distantFuture) }

  /// When the next refresh starts, and why then, for people.
  var nextRefresh: (at: Instant?, reason: String) {
    let next = machine.nextRefresh
    guard next.at == nil, let at = unattendedRenewal else { return next }
    return (at, "keep_warm")
  }

  /// When `keep_warm` renews the session without a request; nil if it does not.
  var unattendedRenewal: Instant? {
    let rule = profile.settings.keepWarm
    guard rule != .nobody, !unattended.isBeingDecided, rule.keeps(uid: key.uid, name: owner.name),
      let start = machine.unattendedStart(signingIn: rule != .everySession)
    else { return nil }
    return max(start, unattended.from)
  }

  /// The user's name; nil for a uid without a name.
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

  /// The answer of the endpoint; nil without credentials.
  ///
  /// - Parameter closes: whether the connection is closed after it.
  func endpointReply(closes: Bool) -> EndpointReply? {
    if replies.http?.closes != closes {
      replies.http = machine.credentials.map {
        EndpointReply.credentials($0.credentials, closes: closes)
      }
    }
    return replies.http
  }

  /// Drops the rendered replies. Most sessions get one request, from a process that then keeps the
  /// credentials, so credd needs no second copy.
  func dropReply() { replies = Replies() }

  /// Call whenever the machine's credentials changed.
  ///
  /// - Parameter number: a number that no credentials had before.
  func credentialsChanged(number: UInt64) {
    credentialsNumber = machine.credentials == nil ? 0 : number
    // A refused sign-in restores the former credentials. The ledger still knows the processes that
    // got them.
    if let held = machine.credentials {
      audited.begin(held.credentials.accessKeyID, received: held.received)
    }
    quietUntil = machine.quietUntil
    // The longer pause is for attempts that bring no credentials.
    if machine.credentials != nil {
      unattended.from = max(
        Instant(nanoseconds: 0), unattended.from - (Unattended.pause - Unattended.interval))
    }
    dropReply()
  }

  var hasEnded: Bool { registration.hasEnded }

  /// The session with the sign-in.
  var root: Session { source?.root ?? self }

  /// Whether it is tied to the session of its profile's source.
  var followsSource: Bool { source != nil }

  /// Ties a session that came from the store to its source, or a profile's session to another one.
  func follow(_ source: Session?) { self.source = source }

  /// Drops everything that the session holds. Code that still refers to it gets no answer.
  func end(_ now: Instant) {
    registration.hasEnded = true
    source = nil
    machine = SessionMachine(plan: profile.plan, now: now)
    credentialsChanged(number: 0)
  }
}

extension ProtocolError {
  /// The answer for a case that cannot happen: the machine grants credentials that it does not
  /// hold.
  static let nothingHeld = ProtocolError(
    .internal, "the session holds nothing to give; report this")
}
