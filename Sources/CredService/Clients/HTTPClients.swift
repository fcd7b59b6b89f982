import CredCore

/// Requests at the endpoint, and the operation `endpoint`, which gives a client of the socket the
/// endpoint's address and a token.
final class HTTPClients {
  /// A request that waits until its caller is known.
  private struct Wait {
    let client: UInt64
    let until: Instant
  }

  /// Waiting requests in the order of their deadlines.
  private var waits: ArraySlice<Wait> = []
  private var timer: (any Timer)?
  private var given = GivenTokens()
  private var host: Host
  private let door: EndpointDoor
  private let clients: Clients
  private let sessions: SessionTable
  private let admittance: Admittance
  private let grants: Grants
  private let journal: Journal
  private let figures: Figures

  init(
    host: Host, door: EndpointDoor, clients: Clients, sessions: SessionTable,
    admittance: Admittance, grants: Grants, journal: Journal, figures: Figures
  ) {
    self.host = host
    self.door = door
    self.clients = clients
    self.sessions = sessions
    self.admittance = admittance
    self.grants = grants
    self.journal = journal
    self.figures = figures
    timer = host.clock.makeTimer { [unowned self] in stopWaiting() }
  }

  // MARK: Requests

  /// - Parameter route: carries out the `get` for which the HTTP request stands.
  func receive(
    _ request: EndpointRequest, from client: Client, arrived: Instant, now: Instant,
    route: (Turn) -> Void
  ) {
    figures.requestCame()
    guard let state = client.http else { return }
    state.closes = request.closes
    if giveAgain(request, client, state, now) { return }
    state.until = arrived + Limits.Endpoint.wait
    state.answered = nil
    switch request.path {
    case .credentialsOf(let profile):
      figures.httpDecided()
      state.request = request
      guard checkToken(of: request, for: profile, client, state) else { return }
      let get = GetRequest(profile: profile, wait: Limits.Endpoint.wait)
      route(Turn(Request(operation: .get(get)), of: client, at: now, in: clients))
    case .metrics:
      figures.httpDecided()
      route(Turn(Request(operation: .metrics), of: client, at: now, in: clients))
    case nil: clients.refuse(.unknownPath, asked: "get", client)
    }
    limitWait(client)
  }

  /// Answers a request that equals the last one, while session and access are unchanged.
  private func giveAgain(
    _ request: EndpointRequest, _ client: Client, _ state: HTTPState, _ now: Instant
  ) -> Bool {
    guard let last = state.answered, now < last.session.quietUntil, now < last.until,
      last.request == request, let reply = last.session.endpointReply(closes: request.closes)
    else { return false }
    if last.session.usedCredentials != last.session.credentialsNumber {
      sessions.markUsed(last.session, now)
    }
    if client.auditedCredentials != last.session.credentialsNumber {
      journal.credentialsGiven(
        last.session, to: Requester(client: client, purpose: nil), now)
    }
    figures.httpAnsweredAgain()
    client.sink.send(reply.bytes)
    return true
  }

  /// Whether the request's token opens the profile; if not, refuses the request.
  private func checkToken(
    of request: EndpointRequest, for profile: String, _ client: Client, _ state: HTTPState
  ) -> Bool {
    guard let lock = door.lock else {
      let error = ProtocolError(
        .timeout, "the endpoint is still being opened; try again", retryAfter: .seconds(1))
      clients.refuse(error, id: nil, asked: "get", client)
      return false
    }
    let token = request.token.flatMap { EndpointToken($0) }
    let verdict = token.map {
      lock.key.check(
        $0, ofUser: client.peer.uid, unit: client.unit(), for: profile, lock.digests)
    }
    guard let token, verdict == .opens else {
      // Only its owner, whom the kernel names, is told what a token is for.
      let own = token.flatMap {
        given.profile(of: $0, ofUser: client.peer.uid, unit: client.unit(), lock)
      }
      journal.tokenRefused(verdict, for: profile, client, isFor: own)
      clients.refuseToken(of: own, for: profile, client)
      return false
    }
    state.hasUnitToken = token.kind == .unit
    return true
  }

  // MARK: Waits

  /// A session limits the wait for its answer. The user database has a longer limit, and no SDK
  /// waits that long.
  private func limitWait(_ client: Client) {
    guard client.waiting?.isForCaller ?? false, let until = client.http?.until else { return }
    // If the search for this request's unit took long, later requests may end before it.
    let earlier = waits.lastIndex { $0.until <= until }
    waits.insert(
      Wait(client: client.id, until: until),
      at: earlier.map { $0 + 1 } ?? waits.startIndex)
    if earlier == nil { timer?.arm(at: until) }
  }

  private func stopWaiting() {
    let now = host.clock.now
    while let first = waits.first, first.until <= now {
      waits.removeFirst()
      guard let client = clients[first.client], client.waiting?.isForCaller ?? false,
        client.http?.until == first.until, let waiting = clients.endWait(client)
      else { continue }
      clients.turn(waiting, client).refuse(
        Admittance.unidentified("who uid \(client.peer.uid) is"))
    }
    timer?.arm(at: waits.first?.until)
  }

  /// Counts a request that the server has refused by itself. If the request hit a limit, logs its
  /// user.
  func refused(_ refusal: EndpointRefusal, of peer: Peer) {
    figures.answered("none", isHTTP: true, refusal.rawValue)
    guard [.tooManyConnections, .headTooSlow].contains(refusal) else { return }
    journal.limitHit(ProtocolError(.tooManyRequests, refusal.message), of: peer)
  }

  // MARK: Tokens that were given

  /// Called after a token was given at the token socket, which asks nobody whether there is such a
  /// profile.
  func tokenGiven(for profile: String, to owner: TokenOwner, suggestion: String?) {
    given.note(profile, to: owner)
    if let suggestion { journal.tokenOfNoProfile(profile, owner, suggestion) }
  }

  // MARK: The operation `endpoint`

  func giveEndpoint(of name: String, _ turn: Turn) {
    switch admittance.decide(name, for: turn.requester, turn.now) {
    case .admitted where door.isStarting: turn.waitForCaller()
    case .admitted(let profile, let caller):
      switch endpointAccess(to: profile, caller) {
      case .success(let place): give(place, of: name, caller, turn)
      case .failure(let error): turn.refuse(error)
      }
    case .refused(let error): turn.refuse(error)
    case .pending: turn.waitForCaller()
    }
  }

  /// Answers the clients that asked before the endpoint had its lock. Such a request may even have
  /// started the daemon.
  ///
  /// - Parameter lock: nil if the lock cannot be made.
  func started(_ lock: EndpointLock?) {
    door.started(lock)
    for client in clients.inOrder {
      if let waiting = client.waiting, waiting.isForCaller,
        case .endpoint = waiting.request.operation
      {
        grants.routeAgain(waiting, client)
      }
    }
  }

  /// Where the endpoint is, if the caller could use the endpoint with a token.
  private func endpointAccess(
    to profile: Profile, _ caller: Caller
  ) -> Result<EndpointLock.Place, ProtocolError> {
    if let error = profile.refusalOfCredentials { return .failure(error) }
    guard let place = door.lock?.place else {
      return .failure(
        ProtocolError(
          .endpointOff,
          "this credd serves no HTTP clients: enable credd-endpoint.socket, then stop credd.service "
            + "and start its sockets"))
    }
    if let error = Admittance.refusalAtEndpoint(of: profile, to: caller, hasUnitToken: false) {
      return .failure(error)
    }
    return .success(place)
  }

  private func give(
    _ place: EndpointLock.Place, of name: String, _ caller: Caller, _ turn: Turn
  ) {
    guard let lock = door.lock else { return turn.refuse(.nothingHeld) }
    let token = lock.token(
      of: .user(caller.uid), for: name, at: host.clock.wallTime, &host.random)
    given.note(name, to: .user(caller.uid))
    turn.give(
      .endpoint(
        url: place.address.url(ofProfile: name), token: token.text,
        networkNamespace: place.networkNamespace))
  }
}
