internal import CLinux
internal import CredCore
internal import Glibc
internal import Logging

/// Answers requests: finds out who asks, whether they may, which session is meant; asks its machine
/// and performs what the machine decides.
///
/// Owned by ``Daemon`` and used on the loop's thread alone.
final class SessionService: RequestHandler {
  let loop: EventLoop
  /// The configuration in force.
  var settings: ActiveConfiguration
  let directory: UserDirectory
  let executables: ExecutableDirectory
  /// The uid of all whom the kernel has no number for.
  let overflowUID = credd_overflow_uid()
  let clock: WallClock
  let log: Logger
  private(set) var sessions: [Session.Key: Session] = [:]
  private var schedule = WakeSchedule()
  private var timer: EventSource?
  private var memo: RequestMemo
  var random = SystemRandomNumberGenerator()
  let started: Instant
  /// Since when the configuration is in force.
  var configured: WallTime
  /// Why a newer one is not.
  var reloadProblem: String?
  /// What outlives this process; filled by ``restore(_:folder:)``.
  var state = DurableState()
  /// The counters of `status`.
  var requests = 0
  var backendCalls = 0
  var exchanges = 0
  /// Connections that watch, by their user.
  var watchers: [UInt32: Set<UInt64>] = [:]
  /// When grants are looked at again: see ``reviewGrants(_:)``.
  var reviewTimer: EventSource?
  var nextReview = Instant.distantFuture
  var signIns = PasswordLimiter()
  var allowance = CallAllowance()
  /// Users whose password is being checked.
  var passwordsUnderWay: Set<UInt32> = []
  /// The audit's notices, of which a few a minute pass, and refusals, of which one does.
  var givings = NoticeLimiter(burst: 20)
  var refusals = NoticeLimiter(burst: 1)
  /// Failures of refreshes.
  var failures = NoticeLimiter(burst: 1)
  /// Credentials that were received since the start.
  private var issues: UInt64 = 0
  /// Sessions whose last refresh failed.
  private(set) var degraded = 0
  /// The sessions whose upstream calls are under way.
  var calls: [CallID: Session] = [:]
  private var callIDs = CallIDs()
  /// Called when `status` would say something else.
  var changed: () -> Void = {}
  var sendFarewell: (Farewell, UInt64) -> Void = { _, _ in }
  /// Set right after creation: each needs the other, and the daemon owns both.
  // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
  var server: ClientServer!
  var startCall: (SessionCall) -> CallID = { $0.id }
  var changeCall: (Admission.Event, CallID) -> Void = { _, _ in }

  init(
    loop: EventLoop, settings: ActiveConfiguration, log: Logger
  ) throws(SystemError) {
    self.loop = loop
    self.settings = settings
    self.log = log
    directory = try UserDirectory(loop: loop)
    executables = try ExecutableDirectory(loop: loop)
    clock = try WallClock(loop: loop, log: log)
    var random = SystemRandomNumberGenerator()
    memo = RequestMemo(seed: random.next())
    started = loop.now
    configured = loop.wallTime
    timer = try loop.timer { [unowned self] _ in self.wakeSessions() }
    reviewTimer = try loop.timer { [unowned self] _ in self.reviewGrants(loop.now) }
  }

  // MARK: Lines

  func handle(_ line: borrowing Span<UInt8>, from connection: Connection, now: Instant) {
    requests += 1
    // The hot path: the same question as before, and an answer that is good for a while.
    if let quick = connection.quickAnswer ?? connection.user.quickAnswer, quick.fits(line, now),
      let reply = quick.session.reply
    {
      let session = quick.session
      if session.usedIssue != session.issue { noteUse(of: session, now) }
      if connection.auditedIssue != session.issue { audit(session, connection, now) }
      return server.reply(reply.bytes, to: connection)
    }
    let begun = loop.now
    defer { server.charge(loop.now - begun) }
    if let known = memo.request(for: line) {
      return answer(known, line, connection, now)
    }
    do throws(RequestError) {
      let request = try Request.parse(line.copied)
      memo.remember(request, for: line)
      answer(request, line, connection, now)
    } catch {
      refuse(error.error, id: error.id, connection)
    }
  }

  func closed(_ connection: Connection) {
    forgetWatcher(connection)
    forgetWaiter(connection, loop.now)
  }

  /// Whoever waits on a connection waits no more.
  func forgetWaiter(_ connection: Connection, _ now: Instant) {
    guard let parked = connection.parked, let session = parked.session else { return }
    connection.parked = nil
    if parked.request.isPasswordSignIn { passwordEnded(session.key.uid, .signInFailed) }
    handle(.waiterLeft(connection.token), session, now)
  }

  private func answer(
    _ request: Request, _ line: borrowing Span<UInt8>, _ connection: Connection, _ now: Instant
  ) {
    connection.quickAnswer = nil
    if case .get(let get) = request.operation, get.isPlain, request.id == nil {
      connection.quickLine = line.copied
    }
    answer(request, connection, now)
  }

  /// Answers a request, perhaps for the second time: once the caller's name is known.
  func answer(_ request: Request, _ connection: Connection, _ now: Instant) {
    switch request.operation {
    case .get(let get):
      withSession(get.profile, inNameOf: get.user, request, connection, now) {
        answer(get, $0, request, connection, now)
      }
    case .token(let token):
      withSession(token.profile, request, connection, now) {
        wait(
          Waiter(
            id: connection.token, want: .token, minimumLife: token.minTTL, arrived: now,
            wait: token.wait), in: $0, request, connection, now)
      }
    case .identity(let profile):
      withSession(profile, request, connection, now) {
        give(
          .session(
            profile: profile, state: $0.machine.state.reported,
            identityID: $0.machine.identityID), request, connection)
      }
    case .status(let all): answerStatus(all: all, request, connection, now)
    case .ping: give(.ping(version: Version.current, pid: getpid()), request, connection)
    case .login(let login):
      withSession(login.profile, request, connection, now) {
        answer(login, $0, request, connection, now)
      }
    case .logout(let profile, let global):
      withSession(profile, request, connection, now) {
        logout(global: global, $0, request, connection, now)
      }
    case .clear(let profile, let scope):
      withSession(profile, request, connection, now) {
        clear(scope, $0, request, connection, now)
      }
    case .release(let profile):
      withSession(profile, request, connection, now) { release($0, request, connection, now) }
    case .watch(let profile): watch(profile, request, connection, now)
    }
  }

  private func answer(
    _ get: GetRequest, _ session: Session, _ request: Request, _ connection: Connection,
    _ now: Instant
  ) {
    if get.isPlain, now < session.quietUntil, let reply = session.reply {
      if session.usedIssue != session.issue { noteUse(of: session, now) }
      if request.id == nil {
        // The next such line takes the hot path.
        let quick = QuickAnswer(
          line: connection.quickLine, session: session, until: connection.decision.until)
        connection.quickAnswer = quick
        if connection.decision.isOfUser { connection.user.quickAnswer = quick }
      }
      if connection.auditedIssue != session.issue { audit(session, connection, now) }
      return give(reply, request, connection)
    }
    if get.refresh || get.minTTL.map({ !session.lasts($0, now) }) ?? false,
      let error = excess(of: session.key.uid, now)
    {
      return refuse(error, id: request.id, connection)
    }
    wait(
      Waiter(
        id: connection.token, want: .credentials, minimumLife: get.minTTL,
        mustRefresh: get.refresh, arrived: now, wait: get.wait),
      in: session, request, connection, now)
  }

  private func wait(
    _ waiter: Waiter, in session: Session, _ request: Request, _ connection: Connection,
    _ now: Instant
  ) {
    if let error = crowding(of: session, connection) {
      return refuse(error, id: request.id, connection)
    }
    connection.parked = ParkedRequest(request: request, session: session)
    handle(.asked(waiter), session, now)
    noteGrant(of: session, toWaiting: connection)
  }

  /// Hands an event to a session's machine and does what it decides.
  func handle(_ event: SessionMachine.Event, _ session: Session, _ now: Instant) {
    perform(
      session.machine.handle(event, now: now, callIDs: &callIDs, random: &random), session)
  }

  // MARK: Sessions

  /// Runs `body` with the caller's session, at once or when their name is known, or refuses.
  ///
  /// - Parameter other: whose session it is instead, if the caller may act for them.
  func withSession(
    _ profile: String, inNameOf other: String? = nil, _ request: Request, _ connection: Connection,
    _ now: Instant, _ body: (Session) -> Void
  ) {
    switch resolve(profile, inNameOf: other, connection, now) {
    case .session(let session): body(session)
    case .refused(let error): refuse(error, id: request.id, connection)
    case .pending: connection.parked = ParkedRequest(request: request, awaitsName: true)
    }
  }

  /// The session of a caller who may use a profile, made where there is none yet.
  func session(of profile: Profile, for caller: Caller, now: Instant) -> Session? {
    let key = Session.Key(uid: caller.uid, profile: profile.settings.name)
    if let session = sessions[key] {
      if let name = caller.userName { rename(session, name, now) }
      return session
    }
    guard sessions.count < settings.daemon.maxSessions else { return nil }
    let session = Session(
      key: key, profile: profile, userName: caller.userName,
      machine: newMachine(key, profile, caller.userName, now))
    adopt(session)
    return session
  }

  /// Takes a session into the table, and its time into the schedule.
  func adopt(_ session: Session) {
    sessions[session.key] = session
    reschedule(session)
    count(session)
  }

  /// A uid that was given to somebody else must not bring them the identity of the one before.
  private func rename(_ session: Session, _ name: String, _ now: Instant) {
    let known = session.userName
    guard known != name else { return }
    session.userName = name
    guard known != nil else { return }
    log.notice(
      "a uid has another name now: its session begins anew",
      metadata: ["profile": "\(session.key.profile)", "uid": "\(session.key.uid)"])
    handle(.userChanged, session, now)
  }

  /// The session is none any more.
  func remove(_ session: Session) {
    sessions[session.key] = nil
    state.remove(session.key)
    schedule.remove(session)
    if session.isDegraded { degraded -= 1 }
  }

  private func wakeSessions() {
    let now = loop.now
    while let session = schedule.pop(now) {
      handle(.timePassed, session, now)
    }
    timer?.arm(at: schedule.next)
    server.finishTurn()
  }

  private func perform(_ actions: [SessionMachine.Action], _ session: Session) {
    for action in actions {
      switch action {
      case .call(let id, let call): start(call, id, session)
      case .credentialsChanged: render(session)
      case .giveCredentials(let waiter): giveCredentials(of: session, to: waiter)
      case .giveToken(let waiter): giveToken(of: session, to: waiter)
      case .giveState(let waiter):
        guard let (connection, request) = unpark(waiter) else { continue }
        if request.isPasswordSignIn { passwordEnded(session.key.uid, nil) }
        giveState(of: session, request, connection)
      case .refuse(let waiter, let error):
        guard let (connection, request) = unpark(waiter) else { continue }
        if request.isPasswordSignIn { passwordEnded(session.key.uid, error.code) }
        refuse(error, id: request.id, connection)
      case .announce(let announcement): announce(announcement, session)
      }
    }
    session.dropReply()
    followCall(of: session)
    reschedule(session)
    keep(session)
    count(session)
    changed()
  }

  func render(_ session: Session) {
    issues += 1
    session.render(issue: issues)
  }

  private func count(_ session: Session) {
    let isDegraded = session.machine.failures > 0
    guard isDegraded != session.isDegraded else { return }
    session.isDegraded = isDegraded
    degraded += isDegraded ? 1 : -1
  }

  /// The session that will be woken next.
  var nextDue: Session? { schedule.first }

  /// The first use since a refresh is what makes the next one due in time.
  private func noteUse(of session: Session, _ now: Instant) {
    let wasInUse = session.machine.isInUse
    session.machine.lastAsked = now
    // From the second use on there is nothing to note.
    if session.machine.isInUse { session.usedIssue = session.issue }
    guard !wasInUse else { return }
    reschedule(session)
    keep(session)
  }

  private func reschedule(_ session: Session) {
    let before = schedule.next
    schedule.note(session)
    if schedule.next != before { timer?.arm(at: schedule.next) }
  }
}

extension SessionService {
  /// Counts an upstream call for `status`.
  func count(_ call: UpstreamCall) {
    switch call {
    case .tokenCallback: backendCalls += 1
    case .getCredentials, .assumeRole: exchanges += 1
    case .signIn, .readTokenFile, .getID, .getOpenIDToken: break
    }
  }

  /// Tells everyone who waits that the daemon ends.
  func dismissWaiters() {
    for connection in server.connections {
      guard let parked = connection.parked else { continue }
      connection.parked = nil
      refuse(
        ProtocolError(.shuttingDown, "the daemon is stopping; try again"), id: parked.request.id,
        connection)
    }
    server.finishTurn()
  }
}
