package import CredCore

/// The answer to a line that the same user sent before. This is the hot path: it needs no parsing,
/// look-up or decision.
final class CachedAnswer {
  private let line: [UInt8]
  let session: Session
  /// The line's `purpose`.
  let purpose: String?
  /// After this time access is decided again.
  private let until: Instant

  init(line: [UInt8], session: Session, purpose: String?, until: Instant) {
    self.line = line
    self.session = session
    self.purpose = purpose
    self.until = until
  }

  /// Whether the session's reply answers this line now.
  func fits(_ line: borrowing Span<UInt8>, _ now: Instant) -> Bool {
    now < session.quietUntil && now < until && self.line.isEqual(to: line)
  }
}

/// Lines in, replies out.
extension SessionService: LineReceiving {
  package func account(of uid: UInt32) -> Account? { accounts.account(of: uid) }

  package func connected(_ facts: any PeerFacts, _ sink: any ReplySink) -> Client {
    let uid = facts.peer.uid
    let user = users[uid] ?? ClientUser(uid: uid, account: accounts.known(uid))
    users[uid] = user
    user.clientCount += 1
    lastClient += 1
    let client = Client(id: lastClient, user: user, facts: facts, sink: sink)
    clients[client.id] = client
    return client
  }

  package func receive(
    _ line: borrowing Span<UInt8>, from client: Client, now: Instant
  ) -> Duration {
    requests += 1
    if let cached = client.cachedAnswer ?? client.user.cachedAnswer, cached.fits(line, now),
      let reply = cached.session.reply
    {
      let session = cached.session
      if session.usedCredentials != session.credentialsNumber { markUsed(session, now) }
      if client.auditedCredentials != session.credentialsNumber {
        client.purpose = cached.purpose
        recordCredentialsGiven(session, client, now)
      }
      client.sink.send(reply.bytes)
      return .zero
    }
    let begun = host.clock.now
    parse(line, client, now)
    return host.clock.now - begun
  }

  package func left(_ client: Client) {
    stopWatching(client)
    executables.forget(client.id)
    abandonWait(client, host.clock.now)
    clients[client.id] = nil
    client.user.clientCount -= 1
    if client.user.clientCount == 0 { users[client.user.uid] = nil }
  }

  private func parse(_ line: borrowing Span<UInt8>, _ client: Client, _ now: Instant) {
    counters.parsedLines += 1
    let isFirst = client.isNew
    client.isNew = false
    if let known = parsedRequests.request(for: line) {
      return begin(known, line, client, now)
    }
    do throws(RequestError) {
      let request = try Request.parse(line.copied)
      parsedRequests.remember(request, for: line)
      begin(request, line, client, now)
    } catch {
      client.operation = error.operation ?? "invalid"
      refuse(error.error, id: error.id, client)
      // No request: perhaps a browser's, or one of a server that was tricked into sending it.
      if isFirst, !line.beginsObject { client.sink.finish() }
    }
  }

  private func begin(
    _ request: Request, _ line: borrowing Span<UInt8>, _ client: Client, _ now: Instant
  ) {
    client.cachedAnswer = nil
    client.purpose = request.purpose
    client.operation = request.operation.name
    client.nameSince = request.operation.joinsAccount ? now : nil
    if case .get(let get) = request.operation, get.isPlain, request.id == nil {
      client.cachedLine = line.copied
    }
    route(request, client, now)
  }

  /// Ends the wait of a client that has disconnected or may not wait any longer.
  func abandonWait(_ client: Client, _ now: Instant) {
    guard let waiting = endWait(client) else { return }
    abandonCheck(waiting)
    guard let session = waiting.session else { return }
    if let attempt = passwordAttempt(waiting.request, in: session) {
      passwordEnded(attempt, .signInFailed)
    }
    session.checks[client.id] = nil
    signInClientLeft(client.id, session.key)
    handle(.waiterLeft(client.id), session, now)
  }
}

extension Operation {
  /// Whether it may give an account to its user, or do something with one. The next person of a uid must
  /// not do this in the former one's session.
  var joinsAccount: Bool {
    switch self {
    case .login, .account: true
    case .respond(let respond):
      switch respond.input {
      case .cancel, .wait: false
      default: true
      }
    default: false
    }
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

// MARK: Replies

extension SessionService {
  func give(_ reply: RenderedReply, _ request: Request, _ client: Client) {
    countAnswer(request, client)
    guard let id = request.id else { return client.sink.send(reply.bytes) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(reply.bytes.count + id.json.count + 8)
    reply.append(to: &bytes, id: id)
    client.sink.send(bytes)
  }

  func refuse(_ error: ProtocolError, id: RequestID?, _ client: Client) {
    counters.answered(
      client.operation, isHTTP: client.endpoint != nil, error.code.rawValue)
    // Refused sign-ins and actions of accounts have entries of their own.
    if error.code == .tooManyRequests, !["login", "respond", "account"].contains(client.operation) {
      recordLimit(error, of: client.peer, unit: client.unit())
    }
    guard client.endpoint == nil else { return refuseAtEndpoint(error, client) }
    var bytes: [UInt8] = []
    RenderedReply.error(error).append(to: &bytes, id: id)
    client.sink.send(bytes)
  }

  func giveState(
    of session: Session, _ request: Request, _ client: Client, logoutURL: String? = nil
  ) {
    give(
      .session(
        profile: session.key.profile, state: session.machine.state.reported,
        identityID: session.machine.identityID, signedIn: signedIn(to: session),
        logoutURL: logoutURL),
      request, client)
  }
}

extension GetRequest {
  /// Whether any fresh credentials of the caller are an answer.
  var isPlain: Bool { minTTL == nil && !refresh && user == nil }
}

extension Request {
  /// The password that the request tries, so that a failure counts; nil for other requests, and at a
  /// user pool, where more than a password may be wrong.
  func passwordAttempt(in session: Session, account: UInt32) -> PasswordLimiter.Attempt? {
    guard case .login(let login) = operation, case .password(let username, _) = login.signIn,
      session.profile.plan.backend.issuer == nil, session.profile.poolProfile == nil
    else { return nil }
    return PasswordLimiter.Attempt(
      uid: session.key.uid, account: account, profile: session.key.profile, username: username)
  }
}
