internal import CredCore

/// Where each operation goes, and what `get` and `token` ask of a session.
extension SessionService {
  /// Answers a request, perhaps for the second time: once the caller is known.
  func route(_ request: Request, _ client: Client, _ now: Instant) {
    switch request.operation {
    case .get(let get):
      withSession(get.profile, inNameOf: get.user, request, client, now) {
        giveCredentials(get, $0, request, client, now)
      }
    case .token(let token):
      withSession(token.profile, request, client, now) {
        giveToken(token, $0, request, client, now)
      }
    case .identity(let profile):
      withSession(profile, request, client, now, .answer) { giveState(of: $0, request, client) }
    case .status(let status): giveStatus(status, request, client, now)
    case .ping:
      give(.ping(version: Version.current, pid: host.process.pid), request, client)
    case .login(let login):
      withSession(login.profile, request, client, now) { signIn(login, $0, request, client, now) }
    case .respond(let respond): self.respond(respond, request, client, now)
    case .account(let account):
      withSession(account.profile, request, client, now) {
        self.account(account, $0, request, client, now)
      }
    case .logout(let profile, let global, let revoke):
      let need = needOfSignOut(from: profile, client, global: global)
      withSession(profile, request, client, now, need) {
        signOut(global: global, revoke: revoke, $0, request, client, now)
      }
    case .clear(let profile, let scope):
      let need: SessionNeed = devices[client.peer.uid] == nil ? .change : .session
      withSession(profile, request, client, now, need) { clear(scope, $0, request, client, now) }
    case .release(let profile):
      withSession(profile, request, client, now) { release($0, request, client, now) }
    case .watch(let profile): watch(profile, request, client, now)
    case .metrics: giveMetrics(request, client, now)
    case .check(let profile?): check(profile, request, client, now)
    case .check(nil): checkAll(request, client, now)
    case .endpoint(let profile): giveEndpoint(of: profile, request, client, now)
    }
  }

  private func giveCredentials(
    _ get: GetRequest, _ session: Session, _ request: Request, _ client: Client, _ now: Instant
  ) {
    if get.isPlain, now < session.quietUntil, let reply = session.reply {
      if session.usedCredentials != session.credentialsNumber { markUsed(session, now) }
      if request.id == nil { cacheAnswer(session, client) }
      if client.auditedCredentials != session.credentialsNumber {
        recordCredentialsGiven(session, client, now)
      }
      return give(reply, of: session, request, client)
    }
    if get.refresh || get.minTTL.map({ !session.lasts($0, now) }) ?? false,
      let error = callLimitError(session.key.uid, now)
    {
      return refuse(error, id: request.id, client)
    }
    ask(
      Waiter(
        id: client.id, want: .credentials, minimumLife: get.minTTL, mustRefresh: get.refresh,
        arrived: now, wait: client.endpoint.map { max(.zero, $0.until - now) } ?? get.wait),
      in: session, request, client, now)
  }

  private func giveToken(
    _ token: TokenRequest, _ session: Session, _ request: Request, _ client: Client, _ now: Instant
  ) {
    if token.refresh, let error = callLimitError(session.key.uid, now) {
      return refuse(error, id: request.id, client)
    }
    let kind: TokenKind
    do throws(ProtocolError) {
      kind = try session.profile.tokenKind(
        token.kind, holdsToken: session.machine.state.method == .developerToken)
    } catch {
      return refuse(error, id: request.id, client)
    }
    ask(
      Waiter(
        id: client.id, want: kind.want, minimumLife: token.minTTL, mustRefresh: token.refresh,
        arrived: now, wait: token.wait),
      in: session, request, client, now)
  }

  /// The next such line takes the hot path.
  private func cacheAnswer(_ session: Session, _ client: Client) {
    guard client.endpoint == nil else { return rememberAnswer(of: session, atEndpoint: client) }
    let cached = CachedAnswer(
      line: client.cachedLine, session: session, purpose: client.purpose,
      until: client.decision.until)
    client.cachedAnswer = cached
    if client.decision.isOfUser { client.user.cachedAnswer = cached }
  }

  /// - Parameter account: for a request about the account, whose it is.
  func ask(
    _ waiter: Waiter, in session: Session, _ request: Request, _ client: Client, _ now: Instant,
    about account: AccountOwner? = nil
  ) {
    if let error = waitLimitError(session, client) {
      return refuse(error, id: request.id, client)
    }
    let waiting = WaitingRequest(request, for: .session(session))
    waiting.account = account
    wait(client, for: waiting)
    session.askedBy = client.id
    handle(.asked(waiter), session, now)
    recordAccess(to: session, ofWaiting: client)
  }
}
