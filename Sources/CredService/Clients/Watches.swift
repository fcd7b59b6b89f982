import CredCore

/// Clients that watch, and the events that they get.
final class Watches {
  /// The ids of watching clients, by user.
  private(set) var byUser: [UInt32: Set<UInt64>] = [:]
  private let clock: any Clock
  private let clients: Clients
  private let sessions: SessionTable
  /// Called when a client's access must be decided before it gets an event.
  var undecided: () -> Void = {}

  init(clock: any Clock, clients: Clients, sessions: SessionTable) {
    self.clock = clock
    self.clients = clients
    self.sessions = sessions
  }

  func subscribe(_ client: Client, _ watch: Watch) {
    client.watch = watch
    byUser[client.peer.uid, default: []].insert(client.id)
  }

  func stop(_ client: Client) {
    guard client.watch != nil else { return }
    client.watch = nil
    let uid = client.peer.uid
    byUser[uid]?.remove(client.id)
    if byUser[uid]?.isEmpty ?? false { byUser[uid] = nil }
  }

  /// Ends a watch that is not allowed any more.
  func end(_ client: Client, _ error: ProtocolError) {
    clients.refuse(error, id: client.watch?.id, asked: "watch", client)
    stop(client)
  }

  func sendPresentState(of session: Session, _ client: Client) {
    let machine = session.machine
    send(
      .state(
        machine.state.reported, identityID: machine.identityID,
        signedIn: clients.signedIn(to: session)),
      session.key.profile, client)
  }

  func send(_ event: SessionEvent, _ profile: String, _ client: Client) {
    var bytes: [UInt8] = []
    RenderedReply.event(event.worded(for: client.door), profile: profile)
      .append(to: &bytes, id: client.watch?.id)
    client.sink.send(bytes)
  }

  /// Lets a client continue to watch, and sends the events that came while access was decided
  /// again.
  func allow(_ client: Client, until time: Instant) {
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

  /// Sends an event of a session to the clients that watch its user.
  func announce(_ announcement: Announcement, _ session: Session) {
    guard byUser[session.key.uid] != nil, let event = event(announcement, session) else { return }
    send(event, of: session)
  }

  func send(_ event: SessionEvent, of session: Session) {
    guard let ids = byUser[session.key.uid] else { return }
    for id in ids.sorted() {
      guard let client = clients[id], let watch = client.watch,
        watch.covers(session.key.profile), watch.isOf(session.owner)
      else { continue }
      if clock.now < watch.allowedUntil {
        send(event, session.key.profile, client)
      } else {
        // Access is decided first: the validity of the decision may have ended while the host
        // slept.
        client.watch?.hold(event, session.key.profile)
        undecided()
      }
    }
  }

  private func event(_ announcement: Announcement, _ session: Session) -> SessionEvent? {
    let machine = session.machine
    switch announcement {
    case .state(let state):
      return .state(
        state.reported, identityID: machine.identityID, signedIn: clients.signedIn(to: session))
    case .identityChanged(let previous, let current?):
      return .identityChanged(previous: previous, current: current)
    case .identityChanged(_, nil):
      // The state event that comes with it says this already.
      return nil
    case .refreshed(let expiration):
      let now = clock.now
      let next = machine.refreshAt.map { clock.wallTime + ($0 - now) }
      return .refreshed(
        identityID: machine.identityID, expiration: expiration, nextRefresh: next)
    case .degraded(let failure), .failed(let failure):
      // A watcher also hears of a session that never had credentials.
      return .degraded(failure.protocolError, expiration: machine.expiration)
    case .signInFailed:
      // The client that signed in gets the error. The session has not changed.
      return nil
    case .expiring(let error):
      return .degraded(error, expiration: machine.expiration)
    }
  }
}

extension SessionEvent {
  /// The event in the words for a door.
  fileprivate func worded(for door: Door) -> SessionEvent {
    guard case .degraded(let error, let expiration) = self else { return self }
    return .degraded(door.worded(error), expiration: expiration)
  }
}
