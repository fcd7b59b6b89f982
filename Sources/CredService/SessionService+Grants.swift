import CredCore

/// The access of clients that watch or wait. It ends when the client's next request would be
/// refused.
extension SessionService {
  /// Makes a request wait in a session, unless it was answered at once.
  func recordAccess(to session: Session, ofWaiting client: Client) {
    guard let waiting = client.waiting, waiting.session === session else { return }
    waiting.allowedUntil = accessEnd(client)
    waiting.isUndecided = false
  }

  /// Starts or renews a client's watch of one profile.
  func recordAccess(ofWatching client: Client) {
    allowWatch(of: client, until: accessEnd(client))
  }

  /// How long the present decision is valid. It is checked again then, also in a profile that is open
  /// to every user: the uid may be another person's by then.
  private func accessEnd(_ client: Client) -> Instant {
    let (now, end) = (host.clock.now, client.decision.until)
    // What was found of the client's program may hold for no time at all, while a disk hangs.
    let until = end > now ? end : now + UserDirectory.failureKeptFor
    checkAccess(at: until)
    return until
  }

  func checkAccess(at time: Instant) {
    guard time < nextAccessCheck else { return }
    nextAccessCheck = time
    accessTimer?.arm(at: time)
  }

  /// Decides again about every client whose last decision is no longer valid.
  func recheckAccess(_ now: Instant) {
    nextAccessCheck = .distantFuture
    for client in clientsInOrder { recheckAccess(of: client, now) }
  }

  func recheckAccess(of client: Client, _ now: Instant) {
    recheckWatch(client, now)
    recheckWait(client, now)
    let next = [client.watch?.allowedUntil, client.waiting?.allowedUntil].compactMap(\.self).min()
    if let next, next > now { checkAccess(at: next) }
  }

  private func recheckWatch(_ client: Client, _ now: Instant) {
    guard let watch = client.watch, watch.allowedUntil <= now else { return }
    guard case .profile(let name) = watch.scope else { return recheckWatchOfAll(client, now) }
    // A watch makes no session: one that nobody uses stays forgotten.
    switch decideAccess(to: name, client, now) {
    case .admitted(_, let caller): renewWatch(of: client, in: name, by: caller, now)
    case .refused(let error) where error.endsAccess || watch.isUndecided:
      endWatch(client, error, watch.id)
    case .refused: allowWatch(of: client, until: now + UserDirectory.failureKeptFor)
    // The check runs again when the look-up ends.
    case .pending: break
    }
  }

  private func renewWatch(
    of client: Client, in name: String, by caller: Caller, _ now: Instant
  ) {
    if let session = sessions[SessionKey(uid: caller.uid, profile: name)] {
      // Drops what belonged to another person.
      _ = isOwned(session, by: SessionOwner(name: caller.userName), now)
    }
    guard let watch = client.watch else { return }
    if let error = refusal(ofWatchBy: caller, client) { return endWatch(client, error, watch.id) }
    recordAccess(ofWatching: client)
  }

  private func recheckWatchOfAll(_ client: Client, _ now: Instant) {
    switch caller(client, configuration.needs.own, now) {
    case .known(let caller):
      let before = client.watch?.visible ?? []
      // Drops what belonged to another person.
      let own = sessions(of: caller, now)
      guard client.watch != nil else { return }
      if let error = refusal(ofWatchBy: caller, client) {
        return endWatch(client, error, client.watch?.id)
      }
      recordAccess(ofWatching: client, caller)
      for session in own where !before.contains(session.key.profile) {
        sendPresentState(of: session, client)
      }
    case .unknown(let error) where error.endsAccess: endWatch(client, error, client.watch?.id)
    case .unknown: allowWatch(of: client, until: now + UserDirectory.failureKeptFor)
    case .pending: break
    }
  }

  /// Why a caller is not the person any more who began to watch; nil if it is.
  private func refusal(ofWatchBy caller: Caller, _ client: Client) -> ProtocolError? {
    switch client.watch?.owner.successor(SessionOwner(name: caller.userName)) {
    case .samePerson, .firstSeen, nil: nil
    case .anotherPerson: ProtocolError(.accessDenied, SessionMachine.uidPassedOn)
    case .nameless:
      ProtocolError(.accessDenied, "uid \(caller.uid) has no user name on this host any more")
    }
  }

  /// Starts or renews a client's watch of all of its sessions.
  func recordAccess(ofWatching client: Client, _ caller: Caller) {
    client.watch?.visible = Set(profiles(of: caller))
    allowWatch(of: client, until: accessEnd(client))
  }

  private func recheckWait(_ client: Client, _ now: Instant) {
    guard let waiting = client.waiting, waiting.allowedUntil <= now else { return }
    guard let session = waiting.session else { return routeAgain(waiting, client, now) }
    switch resolve(session.key.profile, inNameOf: waiting.request.otherUser, client, now) {
    case .session:
      if let error = waiting.request.tokenRefusal(in: session) {
        abandonWait(client, now)
        return refuse(error, id: waiting.request.id, client)
      }
      recordAccess(to: session, ofWaiting: client)
    case .refused(let error) where error.endsAccess || waiting.isUndecided:
      abandonWait(client, now)
      refuse(error, id: waiting.request.id, client)
    case .refused: waiting.allowedUntil = now + UserDirectory.failureKeptFor
    case .pending: break
    }
  }

  /// Makes a client ask again whose answer comes while access is decided anew, as after a reload: it
  /// must not get the answer by a decision that is over.
  ///
  /// - Parameter operation: what it asks; nil for the same again. With `identity` a sign-in has
  ///   succeeded.
  /// - Returns: false if the decision still holds.
  func asksAnew(
    _ waiter: UInt64, in session: Session, for operation: Operation? = nil
  ) -> Bool {
    let now = host.clock.now
    guard let client = clients[waiter], let waiting = client.waiting, waiting.session === session,
      waiting.allowedUntil <= now
    else { return false }
    endWait(client)
    forgetCheck(of: client, in: session)
    var request = waiting.request
    if let operation { request.operation = operation }
    client.nameSince = request.operation.joinsAccount ? now : nil
    let again = WaitingRequest(request, for: .caller)
    if case .identity? = operation, !waiting.isUndecided { again.signedInTo = session }
    again.account = waiting.account
    again.allowedUntil = now
    wait(client, for: again)
    // Not here: the session is about to carry out further actions.
    checkAccess(at: now)
    return true
  }

  func endWatch(_ client: Client, _ error: ProtocolError, _ id: RequestID?) {
    refuse(error, id: id, client)
    stopWatching(client)
  }
}

extension ProtocolError {
  /// Whether the error denies access; other errors are failures.
  var endsAccess: Bool { code == .accessDenied || code == .unknownProfile }
}

extension Request {
  /// The user for whom the caller asks, if not the caller.
  var otherUser: String? {
    if case .get(let get) = operation { get.user } else { nil }
  }

  /// Why the profile, as it is now, does not give the token that is asked for; nil if it does.
  func tokenRefusal(in session: Session) -> ProtocolError? {
    guard case .token(let token) = operation else { return nil }
    do throws(ProtocolError) {
      _ = try session.profile.tokenKind(token.kind, holdsToken: true)
      return nil
    } catch {
      return error
    }
  }
}
