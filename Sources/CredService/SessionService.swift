package import CredCore
import Logging

/// The status for systemd depends on sessions: the daemon is notified when they change.
package protocol SessionServiceDelegate: AnyObject {
  func sessionsChanged()
}

/// Answers requests: identifies the caller, checks its access, finds the session, asks the
/// session's machine and carries out its decisions.
///
/// Complete after `init`, and used on one thread. `Host` is its only access to the outside.
package final class SessionService {
  // Host and configuration.
  var host: Host
  package private(set) var configuration: ResolvedConfiguration
  package weak var delegate: (any SessionServiceDelegate)?

  // Sessions.
  package private(set) var sessions: [SessionKey: Session] = [:]
  /// The same sessions, for what goes through them.
  private(set) var sessionOrder = SessionOrder()
  private var wakeQueue = WakeQueue()
  private var wakeTimer: (any Timer)?
  var callIDs = CallIDs()
  var renewals = RenewalsUnderWay()
  var renewalTimer: (any Timer)?
  var forgetting = Forgetting()
  var forgetTimer: (any Timer)?
  /// Credentials that were received since the start.
  private var credentialsCount: UInt64 = 0
  /// Owners of sessions whose profile was removed; they are told so.
  var removedSessions: [SessionKey: SessionOwner] = [:]
  /// The devices that user pools remember, by uid.
  var devices: [UInt32: RememberedDevices] = [:]
  /// How many sessions each account has, and which sessions hold nothing.
  var shares = SessionShares()
  /// Sessions in which requests wait, by the account of their users.
  var waitingSessions: [Account: Int] = [:]
  /// Sessions whose last refresh failed.
  package private(set) var degraded = 0

  // Clients.
  var clients: [UInt64: Client] = [:]
  var lastClient: UInt64 = 0
  /// All clients by id, so that work for many has the same order in every process.
  var clientsInOrder: [Client] { clients.values.sorted { $0.id < $1.id } }
  /// Users with a client.
  var users: [UInt32: ClientUser] = [:]
  /// Clients that watch, by their user.
  var watchers: [UInt32: Set<UInt64>] = [:]
  var parsedRequests: ParsedRequestCache
  let directory: UserDirectory
  let executables: ExecutableDirectory
  let accounts: AccountDirectory
  /// Told when it is known in whose share a uid's connections count.
  package var accountKnown: (_ uid: UInt32) -> Void = { _ in }
  private var groups: GroupDirectory?
  /// When access is decided again for clients that wait or watch: see ``recheckAccess(_:)``.
  var accessTimer: (any Timer)?
  var nextAccessCheck = Instant.distantFuture

  // What one user may cause.
  var passwordLimiter = PasswordLimiter()
  var callAllowance = CallAllowance()
  var accountLimiter = AccountLimiter()
  var codeLimiter = AccountLimiter.ofCodes

  // Sessions that are renewed though nobody asks.
  var kept = KeptSessions()
  var keptTimer: (any Timer)?

  // Sign-ins at user pools and providers.
  var signIns = SignInBook()
  var signInTimer: (any Timer)?

  /// The profiles before a reload, while it is carried out.
  var profilesBefore: [String: Profile] = [:]

  /// Sessions for which a password or a code is being checked.
  var passwordsUnderWay: Set<SessionKey> = []

  // Limits of log entries in a minute.
  var auditLimiter = NoticeLimiter(burst: 20)
  var refusalLimiter = NoticeLimiter(burst: 1)
  var failureLimiter = NoticeLimiter(burst: 1)
  /// Of what happens to sessions: a refresh a second is the most that one user can demand.
  var eventLimiter = NoticeLimiter(burst: 60)
  /// Backends that refuse this host: that is logged once for all users.
  var hostRefusals: Set<String> = []

  /// Nil while the endpoint is not open.
  package var endpointLock: EndpointLock?
  /// Whether the endpoint's lock is being made: libcrypto is loaded for it.
  package var isEndpointStarting = false
  var counters = ServiceCounters()
  /// How often the kernel's word about an HTTP client was missing.
  package var attestationFailures: () -> [AttestationFailure: Int] = { [:] }
  /// Requests at the endpoint whose callers are being looked up, in the order of their ends.
  var endpointWaits: ArraySlice<EndpointWait> = []
  var endpointTimer: (any Timer)?
  /// What is wrong with the endpoint's port; nil if nothing is.
  package var endpointProblem: String?
  /// The last `check` of each user and profile.
  var checks: [CheckKey: CheckRun] = [:]
  /// How often the limits of connections were hit.
  package var connectionLimitHits: () -> [HitLimit: Int] = { [:] }

  // What `status` says.
  let started: Instant
  /// Where clients connect.
  package var listeners: [ListenerReport] = []
  /// Since when the configuration is in force.
  var configured: WallTime
  /// Why a newer configuration was refused.
  var reloadProblem: String?
  var requests = 0
  var backendCalls = 0
  var exchanges = 0

  package init(host: Host, configuration: ResolvedConfiguration) {
    self.host = host
    self.configuration = configuration
    let clock = host.clock
    directory = UserDirectory(clock: clock, background: host.background, queries: host.queries)
    executables = ExecutableDirectory(
      clock: clock, background: host.background, queries: host.queries)
    accounts = AccountDirectory(
      clock: clock, background: host.background, queries: host.queries, directory: directory,
      log: host.log)
    parsedRequests = ParsedRequestCache(seed: self.host.random.next())
    started = clock.now
    configured = clock.wallTime
    wakeTimer = clock.makeTimer { [unowned self] in self.wakeSessions() }
    forgetTimer = clock.makeTimer { [unowned self] in self.forgetUnused() }
    endpointTimer = clock.makeTimer { [unowned self] in self.stopWaitingAtEndpoint() }
    signInTimer = clock.makeTimer { [unowned self] in self.expireSignIns() }
    renewalTimer = clock.makeTimer { [unowned self] in self.stopWaitingForRenewals() }
    accessTimer = clock.makeTimer { [unowned self] in self.recheckAccess(clock.now) }
    groups = GroupDirectory(
      clock: clock, background: host.background, queries: host.queries
    ) { [unowned self] in self.groupsFound($0) }
    accounts.found = { [unowned self] in accountKnown($0) }
    accounts.rangesChanged = { [unowned self] in divideAgain() }
    directory.ownerChanged = { [unowned self] in self.forgetCachedAnswers(of: $0) }
    groups?.lookUpLater(configuration.unansweredGroups)
    host.upstream.requestEnded = { [weak self] in self?.counters.ended($0) }
    restoreDevices()
    restore()
    keptTimer = clock.makeTimer { [unowned self] in self.makeNamedSessions() }
    makeNamedSessionsAnew()
  }

  var log: Logger { host.log }

  // MARK: Sessions

  /// Passes an event to a session's machine and carries out its decisions. A session that has ended
  /// decides nothing any more.
  func handle(_ event: SessionMachine.Event, _ session: Session, _ now: Instant) {
    guard !session.hasEnded else { return }
    let actions = session.machine.handle(
      event, now: now, callIDs: &callIDs, random: &host.random)
    perform(actions, session)
  }

  /// Saves the session's state before a request is sent: a call may use up a token.
  private func perform(_ actions: [SessionMachine.Action], _ session: Session) {
    save(session)
    for action in actions {
      switch action {
      case .call(let id, let call): start(call, id, session)
      case .credentialsChanged: credentialsChanged(session)
      case .giveCredentials(let waiter): giveCredentials(of: session, to: waiter)
      case .giveToken(let waiter): giveToken(of: session, to: waiter)
      case .lendToken(let waiter, let token, let isNew):
        tokenLent(token, isNew: isNew, of: session, to: waiter)
      case .abandon(let tokens): revoke(tokens, of: session)
      case .giveState(let waiter): giveState(of: session, to: waiter)
      case .signInEnded(let number, let error): recordSignIn(number, session, error)
      case .refuse(let waiter, let error): refuse(waiter, error, session)
      case .announce(let announcement): announce(announcement, session)
      }
    }
    session.dropReply()
    updateCall(of: session)
    reschedule(session)
    countDegraded(session)
    noteEmpty(session)
    delegate?.sessionsChanged()
  }

  func credentialsChanged(_ session: Session) {
    credentialsCount += 1
    session.credentialsChanged(number: credentialsCount)
  }

  /// Adds a session to the table and the wake queue.
  func insert(_ session: Session) {
    sessions[session.key] = session
    sessionOrder.insert(session)
    shares.insert(session, of: share(of: session))
    noteEmpty(session)
    armForgetting()
    reschedule(session)
    countDegraded(session)
  }

  /// Removes the session from the table, the store and the wake queue, and empties it.
  func remove(_ session: Session) {
    cancelCall(of: session)
    let error = ProtocolError(.signInFailed, "the session has ended; sign in again")
    recordSignIns(endingWith: session, error)
    endSignIn(of: session.key, error)
    sessions[session.key] = nil
    sessionOrder.remove(session)
    shares.remove(session)
    host.store?.remove(session.key)
    wakeQueue.remove(session)
    if session.isDegraded { degraded -= 1 }
    session.end(host.clock.now)
  }

  func replaceConfiguration(_ next: ResolvedConfiguration) {
    configuration = next
    groups?.lookUpLater(next.unansweredGroups)
  }

  private static let turnTime: Duration = .milliseconds(1)

  /// Thousands may be due at once, after a suspension for example: clients are served in between. What is
  /// due again at once waits for the next turn.
  private func wakeSessions() {
    let now = host.clock.now
    for _ in 0..<wakeQueue.count {
      guard let session = wakeQueue.pop(now) else { break }
      handle(.timePassed, session, now)
      if let due = session.unattendedRenewal, due <= now { renewUnattended(session, now) }
      if host.clock.now - now >= Self.turnTime { break }
    }
    wakeTimer?.arm(at: wakeQueue.next)
  }

  /// The session that is woken next.
  var nextDue: Session? { wakeQueue.first }

  /// When the next refresh of a session starts, as far as that is known.
  var nextRefresh: Instant? { wakeQueue.earliest { $0.nextRefresh.at } }

  func reschedule(_ session: Session) {
    let before = wakeQueue.next
    wakeQueue.update(session)
    if wakeQueue.next != before { wakeTimer?.arm(at: wakeQueue.next) }
  }

  private func countDegraded(_ session: Session) {
    let isDegraded = session.machine.failures > 0
    guard isDegraded != session.isDegraded else { return }
    session.isDegraded = isDegraded
    degraded += isDegraded ? 1 : -1
  }

  /// The first use since a refresh makes the next refresh due in time.
  func markUsed(_ session: Session, _ now: Instant) {
    let wasInUse = session.machine.isInUse
    session.machine.lastAsked = now
    // From the second use on there is nothing to record.
    if session.machine.isInUse { session.usedCredentials = session.credentialsNumber }
    guard !wasInUse else { return }
    reschedule(session)
    save(session)
  }

  /// Refuses every waiting client at the end of the daemon.
  ///
  /// Sessions forget their waiters before a client gets its answer: an outcome that comes later
  /// answers only who asked after this.
  package func dismissWaiters() {
    let waits = clientsInOrder.compactMap { client in endWait(client).map { (client, $0) } }
    var dismissed: Set<SessionKey> = []
    let now = host.clock.now
    for (_, waiting) in waits {
      guard let session = waiting.session, dismissed.insert(session.key).inserted else { continue }
      handle(.waitersDismissed, session, now)
    }
    recordAcceptedSignIns()
    endAllSignIns()
    passwordsUnderWay = []
    for (client, waiting) in waits {
      abandonCheck(waiting)
      // A sign-in that has happened is not to be made again.
      if let session = waiting.signedInTo, !session.hasEnded {
        giveState(of: session, waiting.request, client)
        continue
      }
      refuse(
        ProtocolError(.shuttingDown, "the daemon is stopping; try again"), id: waiting.request.id,
        client)
    }
  }
}
