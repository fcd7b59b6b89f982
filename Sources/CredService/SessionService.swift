package import CredCore

/// The status for systemd depends on sessions: the daemon is notified when they change.
package protocol SessionServiceDelegate: AnyObject {
  func sessionsChanged()
}

/// Answers requests. This class has the hot path, and the steps at the start and the end of the
/// daemon. Its parts own everything else: see ``ServiceOwners``.
///
/// Complete after `init`, and used on one thread. `Host` is its only access to the outside.
package final class SessionService {
  package weak var delegate: (any SessionServiceDelegate)?
  let clients: Clients
  let sessionTable: SessionTable
  let figures: Figures
  let journal: Journal
  let owners: ServiceOwners
  let base: ServiceBase
  private let router: Router
  private let actions: SessionActions
  var parsedRequests: ParsedRequestCache
  /// Whether no request waits any more: see ``endWaits()``.
  private var refusesWaits = false
  private let clock: any Clock
  /// Called when the account is known for which a uid's connections count.
  package var accountKnown: (_ uid: UInt32) -> Void = { _ in }

  package init(host: Host, configuration: ResolvedConfiguration) {
    var host = host
    let random = SharedRandom(host.random)
    host.random = random
    base = ServiceBase(host, configuration)
    clock = host.clock
    clients = base.clients
    sessionTable = base.sessions
    figures = base.figures
    journal = base.journal
    owners = ServiceOwners(base)
    router = Router(base, owners)
    actions = SessionActions(base, owners)
    parsedRequests = ParsedRequestCache(seed: random.next())
    sessionTable.setActing(actions)
    owners.grants.setCarrying(router)
    actions.changed = { [unowned self] in delegate?.sessionsChanged() }
    base.accounts.found = { [unowned self] in accountKnown($0) }
    base.accounts.rangesChanged = { [unowned sessionTable] in sessionTable.divideAgain() }
    host.upstream.requestEnded = { [weak figures] in figures?.ended($0) }
    owners.records.restore()
    owners.kept.makeNamedAnew()
  }
}

// MARK: - Lines

extension SessionService: LineReceiving {
  package func account(of uid: UInt32) -> Account? { base.accounts.account(of: uid) }

  package func refusal(at socket: ClientSocket) -> ProtocolError? {
    if case .closed = base.doors.door(of: socket) { Door.refusalOfAll } else { nil }
  }

  package func connected(
    _ facts: any PeerFacts, _ sink: any ReplySink, at socket: ClientSocket
  ) -> Client {
    clients.connect(facts, sink, by: .line, at: socket)
  }

  package func receive(
    _ line: borrowing Span<UInt8>, from client: Client, now: Instant
  ) -> Duration {
    figures.requestCame()
    if let cached = client.cachedAnswer ?? client.user.cachedAnswer, cached.fits(line, now),
      let reply = cached.session.reply
    {
      let session = cached.session
      if session.usedCredentials != session.credentialsNumber {
        sessionTable.markUsed(session, now)
      }
      if client.auditedCredentials != session.credentialsNumber {
        let requester = Requester(client: client, purpose: cached.purpose)
        journal.credentialsGiven(session, to: requester, now)
      }
      client.sink.send(reply.bytes)
      return .zero
    }
    let begun = clock.now
    parse(line, client, now)
    return clock.now - begun
  }

  package func left(_ client: Client) {
    owners.watches.stop(client)
    owners.admittance.executables.forget(client.id)
    router.abandonWait(of: client)
    clients.remove(client)
  }

  private func parse(_ line: borrowing Span<UInt8>, _ client: Client, _ now: Instant) {
    figures.lineParsed()
    let isFirst = client.isNew
    client.isNew = false
    do throws(RequestError) {
      begin(try request(in: line, of: client), line, client, now)
    } catch {
      clients.refuse(
        client.door.refusal(of: error), id: error.id, asked: error.operation ?? "invalid", client)
      // The line is no request of credd's protocol: a browser may have sent it, or a server that
      // was tricked into sending it.
      if isFirst, !line.beginsObject { client.sink.finish() }
    }
    // Its socket was open when it connected.
    if case .closed = client.door { client.sink.finish() }
  }

  /// At a socket with a cap the same line may mean another profile, so the cache is not for it.
  private func request(
    in line: borrowing Span<UInt8>, of client: Client
  ) throws(RequestError) -> Request {
    guard case .main = client.door else {
      return try Request.parse(line.copied, standardProfile: client.door.standardProfile)
    }
    if let known = parsedRequests.request(for: line) { return known }
    let request = try Request.parse(line.copied)
    parsedRequests.remember(request, for: line)
    return request
  }

  private func begin(
    _ request: Request, _ line: borrowing Span<UInt8>, _ client: Client, _ now: Instant
  ) {
    client.cachedAnswer = nil
    var turn = Turn(request, of: client, at: now, in: clients)
    if case .get(let get) = request.operation, get.isPlain, request.id == nil {
      turn.line = line.copied
    }
    if refusesWaits, request.operation.actsUpstream { return turn.refuse(Self.stopping) }
    router.route(turn)
    if refusesWaits, client.isWaiting { dismiss([client]) }
  }
}

extension Span<UInt8> {
  /// Whether the first byte after JSON's white space (RFC 8259 §2) begins an object.
  fileprivate var beginsObject: Bool {
    for index in indices {
      switch self[index] {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): continue
      case let byte: return byte == UInt8(ascii: "{")
      }
    }
    return false
  }
}

// MARK: - HTTP

extension SessionService: EndpointReceiving {
  package func connectedToEndpoint(_ facts: any PeerFacts, _ sink: any ReplySink) -> Client {
    clients.connect(facts, sink, by: .http(HTTPState()))
  }

  package func receive(
    _ request: EndpointRequest, from client: Client, arrived: Instant, now: Instant
  ) {
    owners.http.receive(request, from: client, arrived: arrived, now: now, route: router.route)
  }

  package func refused(_ refusal: EndpointRefusal, of peer: Peer) {
    owners.http.refused(refusal, of: peer)
  }

  /// Called when the endpoint's lock is being made. Requests for the endpoint wait for it.
  package func endpointStarts() { owners.door.start() }

  /// - Parameter lock: nil if the lock cannot be made.
  package func endpointStarted(_ lock: EndpointLock?) { owners.http.started(lock) }

  /// Called after the token socket has given a token.
  package func tokenGiven(for profile: String, to owner: TokenOwner) {
    let isKnown = configuration.profiles[profile] != nil
    owners.http.tokenGiven(
      for: profile, to: owner,
      suggestion: isKnown ? nil : configuration.nameIndex.suggestion(for: profile))
  }

  /// The problem of the endpoint's port; nil if there is none.
  package var endpointProblem: String? {
    get { owners.door.problem }
    set { owners.door.problem = newValue }
  }
}

// MARK: - The daemon

extension SessionService {
  package var sessions: [SessionKey: Session] { sessionTable.byKey }

  package var configuration: ResolvedConfiguration { base.configuration.current }

  /// Applies another configuration. Sessions of unchanged profiles are not affected.
  @discardableResult
  package func apply(_ next: ResolvedConfiguration) -> ReloadOutcome {
    owners.checks.configurationChanged()
    return owners.reloads.apply(next)
  }

  /// Keeps the configuration that is in force: a newer one has errors.
  package func refuseConfiguration(_ problems: [String]) { owners.reloads.refuse(problems) }

  /// The status for systemd.
  package var summary: ServiceStatus { owners.reports.summary }

  /// The number of open sign-ins. While there is one, the daemon counts as in use.
  package var openSignIns: Int { owners.signIns.openCount }

  /// Until when guesses and messages of users count. A daemon that ends by itself before would forget
  /// them, and a program could go on guessing at the next one.
  package var countsUntil: Instant? {
    [owners.guesses.end, base.limits.end].compactMap(\.self).max()
  }

  /// Why a socket refuses everybody, and what to do; nil if it does not.
  ///
  /// - Parameter passed: all Unix sockets that the service manager has passed.
  package func problem(of socket: ClientSocket, among passed: [ClientSocket]) -> String? {
    base.doors.problem(of: socket, among: passed)
  }

  /// Where clients connect.
  package var listeners: [ListenerReport] {
    get { owners.reports.listeners }
    set { owners.reports.listeners = newValue }
  }

  /// Lets clients be told when files of the configuration have changed since they were read.
  ///
  /// - Parameters:
  ///   - command: makes credd read them again.
  ///   - haveChanged: blocks.
  package func watchFiles(
    reloadedBy command: String, haveChanged: @escaping @Sendable () -> Bool
  ) {
    owners.changedFiles.watch(reloadedBy: command, haveChanged: haveChanged)
  }

  /// How often the kernel did not say who an HTTP client is.
  package func setAttestationFailures(_ count: @escaping () -> [AttestationFailure: Int]) {
    owners.reports.attestationFailures = count
  }

  /// How often the limits of connections were hit.
  package func setConnectionLimitHits(_ count: @escaping () -> [HitLimit: Int]) {
    owners.reports.connectionLimitHits = count
  }

  /// Logs that a limit refuses connections, once a minute for each account.
  package func recordLimit(_ error: ProtocolError, of peer: Peer) {
    journal.limitHit(error, of: peer)
  }

  /// From now on no session begins a call.
  package func stop() { owners.tokens.stop() }

  /// Calls `body` once: when the renewals that were sent have ended and their tokens are stored, or
  /// after `limit`.
  package func afterRenewals(atMost limit: Duration, _ body: @escaping () -> Void) {
    owners.tokens.afterRenewals(atMost: limit, body)
  }

  /// Refuses every waiting client at the end of the daemon.
  package func dismissWaiters() { dismiss(clients.inOrder) }

  /// The same, and from now on every request that would wait is refused at once. So the lines behind it
  /// have their answers, too, before the connection ends. A request that acts upstream does not begin:
  /// the refusal says that it may be made again.
  package func endWaits() {
    refusesWaits = true
    dismissWaiters()
  }

  /// Refuses the clients that wait.
  ///
  /// Sessions forget their waiters before a client gets its answer. So an outcome that comes later
  /// answers only callers that asked after this.
  private func dismiss(_ those: [Client]) {
    let waits = those.compactMap { client in
      clients.endWait(client).map { (client, $0) }
    }
    var dismissed: Set<SessionKey> = []
    let now = clock.now
    for (_, waiting) in waits {
      guard let session = waiting.session, dismissed.insert(session.key).inserted else { continue }
      sessionTable.handle(.waitersDismissed, session, now)
    }
    owners.signIns.recordAccepted()
    owners.signIns.endAll()
    for (client, waiting) in waits { dismiss(client, waiting) }
  }

  private func dismiss(_ client: Client, _ waiting: WaitingRequest) {
    owners.checks.abandon(waiting)
    let turn = clients.turn(waiting, client)
    // A sign-in that has happened must not be made again.
    if let session = waiting.signedInTo, !session.hasEnded { return turn.giveState(of: session) }
    turn.refuse(Self.stopping)
  }

  private static let stopping = ProtocolError(.shuttingDown, "the daemon is stopping; try again")
}
