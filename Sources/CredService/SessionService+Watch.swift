import CredCore
import Logging

/// `watch`: sends events of sessions to clients.
extension SessionService {
  /// Sends the present state, then every event. The server disconnects a watcher that does not read
  /// when its backlog is full.
  func watch(
    _ profile: String?, _ request: Request, _ client: Client, _ now: Instant
  ) {
    guard let profile else { return watchAll(request, client, now) }
    withSession(profile, request, client, now, .answer) { session in
      subscribe(client, Watch(.profile(profile), of: session.owner, id: request.id))
      recordAccess(ofWatching: client)
      sendPresentState(of: session, client)
    }
  }

  /// All of the caller's sessions in profiles that it may use. A profile that is open to every user
  /// counts as a session even before its first use.
  private func watchAll(_ request: Request, _ client: Client, _ now: Instant) {
    switch caller(client, configuration.needs.own, now) {
    case .pending: wait(client, for: WaitingRequest(request, for: .caller))
    case .unknown(let error): refuse(error, id: request.id, client)
    case .known(let caller):
      let own = sessions(of: caller, now)
      subscribe(client, Watch(.all, of: SessionOwner(name: caller.userName), id: request.id))
      recordAccess(ofWatching: client, caller)
      for name in profiles(of: caller) {
        if let session = own.first(where: { $0.key.profile == name }) {
          sendPresentState(of: session, client)
        } else if configuration.profiles[name]?.access.isOpen ?? false {
          send(.state(.signedOut, identityID: nil), name, client)
        }
      }
    }
  }

  private func subscribe(_ client: Client, _ watch: Watch) {
    client.watch = watch
    watchers[client.peer.uid, default: []].insert(client.id)
  }

  func stopWatching(_ client: Client) {
    guard client.watch != nil else { return }
    client.watch = nil
    let uid = client.peer.uid
    watchers[uid]?.remove(client.id)
    if watchers[uid]?.isEmpty ?? false { watchers[uid] = nil }
  }

  func sendPresentState(of session: Session, _ client: Client) {
    let machine = session.machine
    send(
      .state(
        machine.state.reported, identityID: machine.identityID, signedIn: signedIn(to: session)),
      session.key.profile, client)
  }

  private func send(_ event: SessionEvent, _ profile: String, _ client: Client) {
    var bytes: [UInt8] = []
    RenderedReply.event(event, profile: profile)
      .append(to: &bytes, id: client.watch?.id)
    client.sink.send(bytes)
  }

  /// Lets a client watch on, and sends what happened while access was decided again.
  func allowWatch(of client: Client, until time: Instant) {
    client.watch?.allowedUntil = time
    client.watch?.isUndecided = false
    guard let watch = client.watch, watch.holdsAny else { return }
    client.watch?.dropHeld()
    for (profile, event) in watch.held where watch.covers(profile) {
      send(event, profile, client)
    }
    for profile in watch.missed.sorted() where watch.covers(profile) {
      let session = sessions[SessionKey(uid: client.peer.uid, profile: profile)]
      if let session, watch.isOf(session.owner) {
        sendPresentState(of: session, client)
      } else {
        send(.state(.signedOut, identityID: nil), profile, client)
      }
    }
  }

  /// Sends an event of a session to the watchers of its user.
  func sendEvent(_ announcement: Announcement, _ session: Session) {
    guard watchers[session.key.uid] != nil, let event = event(announcement, session) else { return }
    sendEvent(event, session)
  }

  func sendEvent(_ event: SessionEvent, _ session: Session) {
    guard let ids = watchers[session.key.uid] else { return }
    for id in ids.sorted() {
      guard let client = clients[id], let watch = client.watch,
        watch.covers(session.key.profile), watch.isOf(session.owner)
      else { continue }
      if host.clock.now < watch.allowedUntil {
        send(event, session.key.profile, client)
      } else {
        // Access is decided first: the decision may have ended while the host slept.
        client.watch?.hold(event, session.key.profile)
        checkAccess(at: host.clock.now)
      }
    }
  }

  private func event(_ announcement: Announcement, _ session: Session) -> SessionEvent? {
    let machine = session.machine
    switch announcement {
    case .state(let state):
      return .state(
        state.reported, identityID: machine.identityID, signedIn: signedIn(to: session))
    case .identityChanged(let previous, let current?):
      return .identityChanged(previous: previous, current: current)
    case .identityChanged(_, nil):
      // The state event that goes with it says so.
      return nil
    case .refreshed(let expiration):
      guard let identity = machine.identityID else { return nil }
      let now = host.clock.now
      let next = machine.credentials.map { host.clock.wallTime + ($0.refreshAt - now) }
      return .refreshed(identityID: identity, expiration: expiration, nextRefresh: next)
    case .degraded(let failure), .failed(let failure):
      // A watcher also hears of a session that never had credentials.
      return .degraded(
        failure.protocolError, expiration: machine.credentials?.credentials.expiration)
    case .signInFailed:
      // The client that signed in gets the error. The session has changed in nothing.
      return nil
    case .expiring(let error):
      return .degraded(error, expiration: machine.credentials?.credentials.expiration)
    }
  }
}
