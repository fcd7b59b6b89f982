import CredCore

/// The parts that carry out the decisions of the session table's machines.
protocol SessionActing: AnyObject {
  func perform(_ action: SessionMachine.Action, _ session: Session, _ cause: Cause)
  /// The actions of an event were carried out: a call may not be needed any more.
  func settle(_ session: Session)
  /// A session's first use since a refresh was recorded.
  func used(_ session: Session, _ now: Instant)
  func added(_ session: Session)
  /// The session is about to leave the table with all that it holds.
  func ending(_ session: Session)
  func renewUnattended(_ session: Session, _ now: Instant)
  /// Whether a sign-in of the session is open, or a password of it is being checked.
  func isSigningIn(_ key: SessionKey) -> Bool
  func sessionsChanged()
}

/// All sessions: their machines, their wake times, and how many each account has.
final class SessionTable {
  private(set) var byKey: [SessionKey: Session] = [:]
  /// The same sessions in order, for code that goes through them.
  private(set) var order = SessionOrder()
  /// Sessions with a failed last refresh.
  private(set) var degraded = 0
  var shares = SessionShares()
  private var wakeQueue = WakeQueue()
  private var wakeTimer: (any Timer)?
  private var callIDs = CallIDs()
  /// How many credentials were received since the start.
  private var credentialsCount: UInt64 = 0
  private unowned var acting: (any SessionActing)?
  private var host: Host
  let configuration: ConfigurationInForce
  let accounts: AccountDirectory
  let figures: Figures

  init(
    host: Host, configuration: ConfigurationInForce, accounts: AccountDirectory, figures: Figures
  ) {
    self.host = host
    self.configuration = configuration
    self.accounts = accounts
    self.figures = figures
    wakeTimer = host.clock.makeTimer { [unowned self] in wakeSessions() }
  }

  /// Call it once, before there is a session.
  func setActing(_ acting: any SessionActing) { self.acting = acting }

  // MARK: Sessions

  subscript(_ key: SessionKey) -> Session? { byKey[key] }

  var count: Int { byKey.count }

  var store: (any SessionStoring)? { host.store }

  func contains(_ session: Session) -> Bool { byKey[session.key] === session }

  /// The sessions of a uid, by profile.
  func sessions(of uid: UInt32) -> [Session] { order.sessions(of: uid) }

  func nextCallID() -> CallID { callIDs.next() }

  func isSigningIn(_ key: SessionKey) -> Bool { acting?.isSigningIn(key) ?? false }

  // MARK: Events

  /// Passes an event to a session's machine and carries out its decisions. A session that has ended
  /// ignores events.
  func handle(
    _ event: SessionMachine.Event, _ session: Session, _ now: Instant, _ cause: Cause = .own
  ) {
    guard !session.hasEnded else { return }
    let actions = session.machine.handle(
      event, now: now, callIDs: &callIDs, random: &host.random)
    // Saved before a request is sent, because a call may use up a token.
    save(session)
    if case .asked = event { acting?.used(session, now) }
    for action in actions {
      if case .credentialsChanged = action {
        credentialsChanged(session)
      } else {
        acting?.perform(action, session, cause)
      }
    }
    session.dropReply()
    acting?.settle(session)
    reschedule(session)
    countDegraded(session)
    noteEmpty(session)
    acting?.sessionsChanged()
  }

  /// Tells watchers and the journal.
  func announce(_ announcement: Announcement, _ session: Session) {
    acting?.perform(.announce(announcement), session, .own)
  }

  func credentialsChanged(_ session: Session) {
    credentialsCount += 1
    session.credentialsChanged(number: credentialsCount)
  }

  /// Marks the first use since a refresh: only used credentials are renewed.
  func markUsed(_ session: Session, _ now: Instant) {
    let wasInUse = session.machine.isInUse
    session.machine.lastAsked = now
    // Later uses need no record.
    if session.machine.isInUse { session.usedCredentials = session.credentialsNumber }
    acting?.used(session, now)
    guard !wasInUse else { return }
    reschedule(session)
    save(session)
  }

  // MARK: Beginning and end

  /// Adds a session to the table and the wake queue.
  func insert(_ session: Session) {
    byKey[session.key] = session
    order.insert(session)
    shares.insert(session, of: share(of: session))
    noteEmpty(session)
    acting?.added(session)
    reschedule(session)
    countDegraded(session)
  }

  /// Removes the session from the table, the store and the wake queue, and empties it.
  func remove(_ session: Session) {
    acting?.ending(session)
    byKey[session.key] = nil
    order.remove(session)
    shares.remove(session)
    host.store?.remove(session.key)
    wakeQueue.remove(session)
    if session.registration.isDegraded { degraded -= 1 }
    session.end(host.clock.now)
  }

  /// Ends a session that nobody uses, or that has no profile any more. Its IdentityId stays known:
  /// the profile or the user may come back.
  func end(_ session: Session) {
    if session.machine.state.reported != .signedOut {
      announce(.state(.signedOut(byUser: false)), session)
    }
    remove(session)
  }

  /// Sets the owner of a session that had none before.
  func setOwner(_ owner: SessionOwner, of session: Session) {
    session.owner = owner
    shares.remove(session)
    shares.insert(session, of: share(of: session))
    noteEmpty(session)
    save(session)
  }

  // MARK: Time

  private static let iterationTime: Duration = .milliseconds(1)

  /// Thousands of sessions may be due at once, for example after a suspension: clients are served
  /// in between. A session that is due again at once waits for the next iteration.
  private func wakeSessions() {
    let now = host.clock.now
    for _ in 0..<wakeQueue.count {
      guard let session = wakeQueue.pop(now) else { break }
      handle(.timePassed, session, now)
      if let due = session.unattendedRenewal, due <= now { acting?.renewUnattended(session, now) }
      if host.clock.now - now >= Self.iterationTime { break }
    }
    wakeTimer?.arm(at: wakeQueue.next)
  }

  /// The session that is woken next.
  var nextDue: Session? { wakeQueue.first }

  /// When the next refresh of any session starts, as far as that is known.
  var nextRefresh: Instant? { wakeQueue.earliest { $0.nextRefresh.at } }

  func reschedule(_ session: Session) {
    let before = wakeQueue.next
    wakeQueue.update(session)
    if wakeQueue.next != before { wakeTimer?.arm(at: wakeQueue.next) }
  }

  private func countDegraded(_ session: Session) {
    let isDegraded = session.machine.failures > 0
    guard isDegraded != session.registration.isDegraded else { return }
    session.registration.isDegraded = isDegraded
    degraded += isDegraded ? 1 : -1
  }

  // MARK: Storage

  /// Stores the changes that an event made, for the next process.
  func save(_ session: Session) {
    guard let store = host.store else { return }
    let snapshot = session.machine.snapshot
    if let saved = session.saved, saved.owner == session.owner,
      saved.snapshot.isDurablyEqual(to: snapshot)
    {
      return
    }
    session.saved = Session.Saved(snapshot: snapshot, owner: session.owner)
    let (uid, owner, profile) = (session.key.uid, session.owner, session.profile)
    // A derived session has the identity of its source. The source keeps it.
    if profile.hasSignIn {
      store.setIdentity(
        KnownIdentity(uid: uid, owner: owner, profile: profile, snapshot: snapshot),
        for: session.key)
    }
    guard snapshot.isWorthKeeping else { return store.remove(session.key) }
    store.save(
      SessionRecord(uid: uid, owner: owner, profile: profile, snapshot: snapshot), for: session.key)
  }
}
