import CredCore

/// The part that carries out requests. It stands above the parts that decide about access.
protocol RequestCarrying: AnyObject {
  /// Carries out a request, perhaps a second time when the caller is known.
  func route(_ turn: Turn)
  /// Ends the wait of a client that has disconnected or may not wait any longer.
  func abandonWait(of client: Client)
}

/// The access of clients that watch or wait. It ends when the client's next request would be
/// refused.
final class Grants {
  private var timer: (any Timer)?
  private(set) var nextCheck = Instant.distantFuture
  private unowned var carrying: (any RequestCarrying)?
  private let clock: any Clock
  private let configuration: ConfigurationInForce
  private let clients: Clients
  private let sessions: SessionTable
  private let admittance: Admittance
  private let watches: Watches

  init(
    clock: any Clock, configuration: ConfigurationInForce, clients: Clients,
    sessions: SessionTable, admittance: Admittance, watches: Watches
  ) {
    self.clock = clock
    self.configuration = configuration
    self.clients = clients
    self.sessions = sessions
    self.admittance = admittance
    self.watches = watches
    timer = clock.makeTimer { [unowned self] in recheckAll() }
    admittance.callerFound = { [unowned self] in callerFound($0) }
    watches.undecided = { [unowned self] in check(at: clock.now) }
  }

  /// Call it once, before there is a client.
  func setCarrying(_ carrying: any RequestCarrying) { self.carrying = carrying }

  // MARK: Requests

  /// Lets a request wait for an answer of the session, as long as its client may use the session.
  ///
  /// - Parameter account: the account's owner, for a request about an account.
  func ask(
    _ waiter: Waiter, in session: Session, _ turn: Turn, about account: AccountOwner? = nil
  ) {
    if let error = clients.refusalOfWait(in: session, turn.client) { return turn.refuse(error) }
    turn.wait(for: session, about: account)
    sessions.handle(.asked(waiter), session, turn.now)
    grantWait(of: turn.client, in: session)
  }

  /// `watch`: sends the present state, then every event. The server disconnects a watcher that does not
  /// read when its backlog is full.
  func watch(_ profile: String?, _ turn: Turn) {
    guard let profile else { return watchAll(turn) }
    admittance.withSession(profile, turn, .answer) { session in
      watches.subscribe(
        turn.client, Watch(.profile(profile), of: session.owner, id: turn.request.id))
      grantWatch(of: turn.client)
      watches.sendPresentState(of: session, turn.client)
    }
  }

  /// All of the caller's sessions in profiles that it may use. A profile that is open to every user
  /// counts as a session even before its first use.
  private func watchAll(_ turn: Turn) {
    let client = turn.client
    switch admittance.caller(client, admittance.needsOfAll(client), turn.now) {
    case .pending: turn.waitForCaller()
    case .unknown(let error): turn.refuse(error)
    case .known(let caller):
      let own = admittance.claimSessions(of: caller, behind: turn.door, turn.now)
      watches.subscribe(
        client, Watch(.all, of: SessionOwner(name: caller.userName), id: turn.request.id))
      grantWatch(of: client, to: caller)
      for name in admittance.profiles(of: caller, behind: turn.door) {
        if let session = own.first(where: { $0.key.profile == name }) {
          watches.sendPresentState(of: session, client)
        } else if configuration[name]?.access.isOpen ?? false {
          watches.send(.state(.signedOut, identityID: nil), name, client)
        }
      }
    }
  }

  // MARK: Grants

  /// Makes a request wait in a session, unless the session has answered it at once.
  func grantWait(of client: Client, in session: Session) {
    guard let waiting = client.waiting, waiting.session === session else { return }
    waiting.allowedUntil = accessEnd(client)
    waiting.isUndecided = false
  }

  /// Starts or renews a client's watch of one profile.
  func grantWatch(of client: Client) { watches.allow(client, until: accessEnd(client)) }

  /// Starts or renews a client's watch of all of its sessions.
  func grantWatch(of client: Client, to caller: Caller) {
    client.watch?.visible = Set(admittance.profiles(of: caller, behind: client.door))
    watches.allow(client, until: accessEnd(client))
  }

  /// How long the present decision is valid. Access is decided again then, even in a profile that
  /// is open to every user: the uid may belong to another person by then.
  private func accessEnd(_ client: Client) -> Instant {
    let (now, end) = (clock.now, client.decision.until)
    // While a disk hangs, the answer about the client's program may be valid for no time at all.
    let until = end > now ? end : now + UserDirectory.failureKeptFor
    check(at: until)
    return until
  }

  // MARK: Checks

  private func check(at time: Instant) {
    guard time < nextCheck else { return }
    nextCheck = time
    timer?.arm(at: time)
  }

  /// Decides again about every client with a decision that is no longer valid.
  private func recheckAll() {
    let now = clock.now
    nextCheck = .distantFuture
    for client in clients.inOrder { recheck(client, now) }
  }

  func recheck(_ client: Client, _ now: Instant) {
    recheckWatch(client, now)
    recheckWait(client, now)
    let next = [client.watch?.allowedUntil, client.waiting?.allowedUntil].compactMap(\.self).min()
    if let next, next > now { check(at: next) }
  }

  /// Continues after a look-up of the caller, successful or not.
  private func callerFound(_ id: UInt64) {
    guard let client = clients[id] else { return }
    if let waiting = client.waiting, waiting.isForCaller { routeAgain(waiting, client) }
    recheck(client, clock.now)
  }

  /// Routes a request that waited for the decision about its caller.
  func routeAgain(_ waiting: WaitingRequest, _ client: Client) {
    clients.endWait(client)
    carrying?.route(clients.turn(waiting, client))
  }

  // MARK: Watches

  private func recheckWatch(_ client: Client, _ now: Instant) {
    guard let watch = client.watch, watch.allowedUntil <= now else { return }
    if let error = client.door.refusal(of: .watch(profile: nil)) {
      return watches.end(client, error)
    }
    guard case .profile(let name) = watch.scope else { return recheckWatchOfAll(client, now) }
    // A watch makes no session, so an unused session stays forgotten.
    switch admittance.decide(name, for: Requester(client: client, purpose: nil), now) {
    case .admitted(_, let caller): renewWatch(of: client, in: name, by: caller, now)
    case .refused(let error) where error.endsAccess || watch.isUndecided:
      watches.end(client, error)
    case .refused: watches.allow(client, until: now + UserDirectory.failureKeptFor)
    // The check runs again when the look-up ends.
    case .pending: break
    }
  }

  private func renewWatch(
    of client: Client, in name: String, by caller: Caller, _ now: Instant
  ) {
    if let session = sessions[SessionKey(uid: caller.uid, profile: name)] {
      // Drops the session if it belonged to another person.
      _ = admittance.claim(session, for: SessionOwner(name: caller.userName), now)
    }
    guard client.watch != nil else { return }
    if let error = refusal(ofWatchBy: caller, client) { return watches.end(client, error) }
    grantWatch(of: client)
  }

  private func recheckWatchOfAll(_ client: Client, _ now: Instant) {
    switch admittance.caller(client, admittance.needsOfAll(client), now) {
    case .known(let caller):
      let before = client.watch?.visible ?? []
      // Drops sessions that belonged to another person.
      let own = admittance.claimSessions(of: caller, behind: client.door, now)
      guard client.watch != nil else { return }
      if let error = refusal(ofWatchBy: caller, client) { return watches.end(client, error) }
      grantWatch(of: client, to: caller)
      for session in own where !before.contains(session.key.profile) {
        watches.sendPresentState(of: session, client)
      }
    case .unknown(let error) where error.endsAccess: watches.end(client, error)
    case .unknown: watches.allow(client, until: now + UserDirectory.failureKeptFor)
    case .pending: break
    }
  }

  /// The refusal of a caller who is not the person that began to watch; nil if it is the same
  /// person.
  private func refusal(ofWatchBy caller: Caller, _ client: Client) -> ProtocolError? {
    switch client.watch?.owner.successor(SessionOwner(name: caller.userName)) {
    case .samePerson, .firstSeen, nil: nil
    case .anotherPerson: ProtocolError(.accessDenied, SessionMachine.uidPassedOn)
    case .nameless:
      ProtocolError(.accessDenied, "uid \(caller.uid) has no user name on this host any more")
    }
  }

  // MARK: Waits

  private func recheckWait(_ client: Client, _ now: Instant) {
    guard let waiting = client.waiting, waiting.allowedUntil <= now else { return }
    // A session that has ended, with its source perhaps, answers nobody.
    guard let session = waiting.session, !session.hasEnded else {
      return routeAgain(waiting, client)
    }
    let turn = clients.turn(waiting, client)
    if let error = turn.door.refusal(of: turn.request.operation) { return refuseWait(turn, error) }
    let resolution = admittance.resolve(
      session.key.profile, inNameOf: waiting.request.otherUser, for: turn.requester, now)
    switch resolution {
    case .session:
      if let error = waiting.request.tokenRefusal(in: session) {
        return refuseWait(turn, error)
      }
      grantWait(of: client, in: session)
    case .refused(let error) where error.endsAccess || waiting.isUndecided:
      refuseWait(turn, error)
    case .refused: waiting.allowedUntil = now + UserDirectory.failureKeptFor
    case .pending: break
    }
  }

  private func refuseWait(_ turn: Turn, _ error: ProtocolError) {
    carrying?.abandonWait(of: turn.client)
    turn.refuse(error)
  }

  /// Called when an answer comes while access is decided anew, for example after a reload. The old
  /// decision is not valid any more, so the client's request starts again.
  ///
  /// - Parameter operation: the new request; nil for the same request again. With `identity`, a
  ///   sign-in has succeeded.
  /// - Returns: false if the decision still holds, and the client goes on waiting.
  func askAnew(
    _ waiter: UInt64, in session: Session, for operation: Operation? = nil
  ) -> Bool {
    let now = clock.now
    guard let client = clients[waiter], let waiting = client.waiting, waiting.session === session,
      waiting.allowedUntil <= now
    else { return false }
    clients.endWait(client)
    session.asking.checks.removeValue(forKey: client.id)?.forget()
    var request = waiting.request
    if let operation { request.operation = operation }
    let again = WaitingRequest(
      request, for: .caller, asked: waiting.asked,
      nameSince: request.operation.joinsAccount ? now : nil)
    if case .identity? = operation, !waiting.isUndecided { again.signedInTo = session }
    if operation == nil { again.line = waiting.line }
    again.account = waiting.account
    again.allowedUntil = now
    clients.wait(client, for: again)
    // Not within this call: the session is about to carry out further actions.
    check(at: now)
    return true
  }

  // MARK: A reload

  /// Ends waits and watches that the new rules do not allow.
  ///
  /// - Parameter withdrawn: profiles that may be closed to users now. Clients that watch all of
  ///   their sessions get their events again once access was decided.
  ///   - moved: clients for whom there is something else now, at a socket with a cap.
  func decideAnew(
    _ profiles: Set<String>, withdrawn: Set<String>, moved: [Client], _ now: Instant
  ) {
    for user in clients.users.values { user.cachedAnswer = nil }
    for client in moved { decideAnew(client, now) }
    for client in clients.inOrder {
      client.forgetAnswers()
      decideWaitAnew(client.waiting, profiles, withdrawn: withdrawn, now)
      decideWatchAnew(client, profiles, withdrawn: withdrawn, now)
      recheck(client, now)
    }
  }

  /// For a client on a socket with another cap than before, or with none.
  private func decideAnew(_ client: Client, _ now: Instant) {
    client.waiting?.allowedUntil = now
    client.waiting?.isUndecided = true
    client.watch?.visible.formIntersection(client.door.cap?.profileNames ?? [])
    client.watch?.allowedUntil = now
    client.watch?.isUndecided = true
  }

  private func decideWaitAnew(
    _ waiting: WaitingRequest?, _ profiles: Set<String>, withdrawn: Set<String>, _ now: Instant
  ) {
    if let name = waiting?.session?.key.profile, profiles.contains(name) {
      waiting?.allowedUntil = now
      if withdrawn.contains(name) { waiting?.isUndecided = true }
    }
    if let name = waiting?.signedInTo?.key.profile, withdrawn.contains(name) {
      waiting?.signedInTo = nil
    }
  }

  private func decideWatchAnew(
    _ client: Client, _ profiles: Set<String>, withdrawn: Set<String>, _ now: Instant
  ) {
    switch client.watch?.scope {
    case .all?:
      client.watch?.visible.subtract(withdrawn)
      client.watch?.allowedUntil = now
    case .profile(let name)? where profiles.contains(name):
      client.watch?.allowedUntil = now
      if withdrawn.contains(name) { client.watch?.isUndecided = true }
      if configuration[name] == nil { watches.end(client, Admittance.removed(name)) }
    case .profile?, nil: break
    }
  }
}

extension Request {
  /// The user for whom the caller asks, if not the caller.
  fileprivate var otherUser: String? {
    if case .get(let get) = operation { get.user } else { nil }
  }

  /// Why the present profile does not give the requested token; nil if it does.
  fileprivate func tokenRefusal(in session: Session) -> ProtocolError? {
    guard case .token(let token) = operation else { return nil }
    do throws(ProtocolError) {
      _ = try session.profile.tokenKind(token.kind, holdsToken: true)
      return nil
    } catch {
      return error
    }
  }
}
