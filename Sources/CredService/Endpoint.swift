package import CredCore

/// The service, as the endpoint's server sees it. One authority decides for the socket and the
/// endpoint: a request to the endpoint becomes a `get`, with the same rules, sessions and refreshes.
package protocol EndpointReceiving: AnyObject {
  /// In whose share a user's connections count; nil while the user is looked up.
  func account(of uid: UInt32) -> Account?
  /// - Parameter facts: of a connection that the kernel has attested. It has no pid.
  func connectedToEndpoint(_ facts: any PeerFacts, _ sink: any ReplySink) -> Client
  /// Answers a request through the client's sink, at once or later. The server has made sure of its
  /// form, its `Host` and its path: see ``EndpointRequest/refusal(at:isAttested:)``.
  ///
  /// - Parameter arrived: when its head had ended. The caller's unit may have been looked for since.
  func receive(_ request: EndpointRequest, from client: Client, arrived: Instant, now: Instant)
  /// Counts a request that the server has refused by itself, and says whose it was where it hit a limit.
  func refused(_ refusal: EndpointRefusal, of peer: Peer)
  /// Removes a client that has disconnected.
  func left(_ client: Client)
}

/// What checks the tokens of the endpoint. It is there once the crypto library is loaded and the key
/// of this boot is read.
package struct EndpointLock: Sendable {
  /// Where the endpoint is, for clients that look for it.
  package struct Place: Sendable {
    let address: EndpointAddress
    /// The cookie of the listener's network namespace; nil before Linux 5.14.
    let networkNamespace: UInt64?

    package init(address: EndpointAddress, networkNamespace: UInt64?) {
      self.address = address
      self.networkNamespace = networkNamespace
    }
  }

  let key: TokenKey
  let digests: any Digests
  /// Nil where nothing listens.
  let place: Place?

  package init(key: TokenKey, digests: any Digests, place: Place?) {
    self.key = key
    self.digests = digests
    self.place = place
  }

  func token(
    of owner: TokenOwner, for profile: String, at time: WallTime,
    _ random: inout any RandomNumberGenerator
  ) -> EndpointToken {
    key.token(of: owner, for: profile, at: time, &random, digests)
  }
}

/// A client's state at the endpoint. A class, so that clients of the socket need no room for it.
final class EndpointState {
  /// Whether the token of the last request was given to its unit.
  var hasUnitToken = false
  /// Whether the connection is closed after the next answer.
  var closes = false
  /// The last request that got credentials, with the session and how long access is decided.
  var answered: (request: EndpointRequest, session: Session, until: Instant)?
  /// The request that is being answered.
  var request: EndpointRequest?
  /// When it is answered at the latest.
  var until = Instant.distantFuture
}

/// A request at the endpoint that waits until its caller is known.
struct EndpointWait {
  let client: UInt64
  let until: Instant
}

extension SessionService: EndpointReceiving {
  package func connectedToEndpoint(_ facts: any PeerFacts, _ sink: any ReplySink) -> Client {
    let client = connected(facts, sink)
    client.endpoint = EndpointState()
    return client
  }

  package func receive(
    _ request: EndpointRequest, from client: Client, arrived: Instant, now: Instant
  ) {
    requests += 1
    client.endpoint?.closes = request.closes
    if giveAgain(request, client, now) { return }
    client.endpoint?.until = arrived + Limits.Endpoint.wait
    decide(request, client, now)
    limitWait(client)
  }

  private func decide(_ request: EndpointRequest, _ client: Client, _ now: Instant) {
    switch request.path {
    case .credentialsOf(let profile): giveCredentials(of: profile, request, client, now)
    case .metrics:
      counters.decidedHTTP += 1
      client.operation = "metrics"
      client.endpoint?.answered = nil
      route(Request(operation: .metrics), client, now)
    case nil: refuse(.unknownPath, client)
    }
  }

  /// A session limits the wait for its answer. The user database has a limit of its own, for which no
  /// SDK waits.
  private func limitWait(_ client: Client) {
    guard client.waiting?.isForCaller ?? false, let until = client.endpoint?.until else { return }
    // Younger requests come first where this one's unit took long to find.
    let earlier = endpointWaits.lastIndex { $0.until <= until }
    endpointWaits.insert(
      EndpointWait(client: client.id, until: until),
      at: earlier.map { $0 + 1 } ?? endpointWaits.startIndex)
    if earlier == nil { endpointTimer?.arm(at: until) }
  }

  func stopWaitingAtEndpoint() {
    let now = host.clock.now
    while let first = endpointWaits.first, first.until <= now {
      endpointWaits.removeFirst()
      guard let client = clients[first.client], client.waiting?.isForCaller ?? false,
        client.endpoint?.until == first.until
      else { continue }
      endWait(client)
      refuse(Self.unidentified("who uid \(client.peer.uid) is"), id: nil, client)
    }
    endpointTimer?.arm(at: endpointWaits.first?.until)
  }

  package func refused(_ refusal: EndpointRefusal, of peer: Peer) {
    counters.answered("none", isHTTP: true, refusal.rawValue)
    guard [.tooManyConnections, .headTooSlow].contains(refusal) else { return }
    recordLimit(ProtocolError(.tooManyRequests, refusal.message), of: peer)
  }

  /// Answers the same request as the last one, while its session and its access stay as they are.
  private func giveAgain(
    _ request: EndpointRequest, _ client: Client, _ now: Instant
  ) -> Bool {
    guard let last = client.endpoint?.answered, now < last.session.quietUntil, now < last.until,
      last.request == request, let reply = last.session.endpointReply
    else { return false }
    if last.session.usedCredentials != last.session.credentialsNumber {
      markUsed(last.session, now)
    }
    if client.auditedCredentials != last.session.credentialsNumber {
      recordCredentialsGiven(last.session, client, now)
    }
    counters.cachedHTTP += 1
    client.sink.send(reply.bytes)
    return true
  }

  private func giveCredentials(
    of profile: String, _ request: EndpointRequest, _ client: Client, _ now: Instant
  ) {
    counters.decidedHTTP += 1
    client.operation = "get"
    client.endpoint?.answered = nil
    client.endpoint?.request = request
    guard let lock = endpointLock else {
      let error = ProtocolError(
        .timeout, "the endpoint is still being opened; try again", retryAfter: .seconds(1))
      return refuse(error, id: nil, client)
    }
    let token = request.token.flatMap { EndpointToken($0) }
    let verdict = token.map {
      lock.key.check(
        $0, ofUser: client.peer.uid, unit: client.unit(), for: profile, lock.digests)
    }
    guard let token, verdict == .opens else {
      recordTokenRefusal(verdict, client, now)
      return refuse(.token, client)
    }
    client.endpoint?.hasUnitToken = token.kind == .unit
    route(
      Request(operation: .get(GetRequest(profile: profile, wait: Limits.Endpoint.wait))), client,
      now)
  }

  private func refuse(_ refusal: EndpointRefusal, _ client: Client) {
    counters.answered(client.operation, isHTTP: true, refusal.rawValue)
    client.sink.send(EndpointReply.refusal(refusal).bytes)
    client.sink.finish()
  }

  /// Sends what the service refuses in the form of the endpoint.
  func refuseAtEndpoint(_ error: ProtocolError, _ client: Client) {
    client.sink.send(EndpointReply.error(error).bytes)
    client.sink.finish()
  }

  /// Sends a session's credentials in the form that the client's transport has.
  func give(
    _ reply: RenderedReply, of session: Session, _ request: Request, _ client: Client
  ) {
    guard let endpoint = client.endpoint else { return give(reply, request, client) }
    guard let credentials = session.machine.credentials?.credentials,
      let reply = endpoint.closes
        ? EndpointReply.credentials(credentials, closes: true) : session.endpointReply
    else { return refuseAtEndpoint(.nothingHeld, client) }
    countAnswer(request, client)
    client.sink.send(reply.bytes)
    if endpoint.closes { client.sink.finish() }
  }

  /// The next request with the same bytes on this connection needs no decision.
  func rememberAnswer(of session: Session, atEndpoint client: Client) {
    guard let request = client.endpoint?.request, !request.closes else { return }
    client.endpoint?.answered = (request, session, client.decision.until)
  }

  /// Whether a profile that admits the caller on the socket is not served to it at the endpoint.
  ///
  /// Forwarders often run as root, and lend its uid to all behind them. So root counts where a list
  /// names it, or where its unit's token says that it is no forwarder. The kernel names no program
  /// for a TCP connection.
  func isClosed(_ profile: Profile, to caller: Caller, _ client: Client) -> Bool {
    guard let endpoint = client.endpoint else { return false }
    if profile.access.needsExecutable { return true }
    return caller.uid == 0 && !endpoint.hasUnitToken && !profile.access.names(caller)
  }
}
