internal import CredCore
internal import Logging

/// `watch`: connections that hear what happens to sessions.
extension SessionService {
  /// Tells the present state, then every event. A watcher that does not listen is cut off when its
  /// backlog is full; nobody else notices.
  func watch(
    _ profile: String?, _ request: Request, _ connection: Connection, _ now: Instant
  ) {
    guard let profile else { return watchAll(request, connection) }
    withSession(profile, request, connection, now) { session in
      subscribe(connection, to: .profile(profile), request.id)
      noteGrant(of: session, toWatching: connection)
      tell(presentState(of: session), profile, connection)
    }
  }

  /// All of the caller's sessions; a profile open to everyone has one that nobody has used yet.
  private func watchAll(_ request: Request, _ connection: Connection) {
    subscribe(connection, to: .all, request.id)
    for (name, profile) in settings.profiles.sorted(by: { $0.key < $1.key }) {
      if let session = sessions[Session.Key(uid: connection.peer.uid, profile: name)] {
        tell(presentState(of: session), name, connection)
      } else if profile.access.isOpen, connection.peer.uid != overflowUID {
        tell(.state(.signedOut, identityID: nil), name, connection)
      }
    }
  }

  private func subscribe(_ connection: Connection, to scope: Watch.Scope, _ id: RequestID?) {
    connection.watch = Watch(scope: scope, id: id)
    watchers[connection.peer.uid, default: []].insert(connection.token)
  }

  /// A connection is gone.
  func forgetWatcher(_ connection: Connection) {
    guard connection.watch != nil else { return }
    let uid = connection.peer.uid
    watchers[uid]?.remove(connection.token)
    if watchers[uid]?.isEmpty ?? false { watchers[uid] = nil }
  }

  private func presentState(of session: Session) -> SessionEvent {
    .state(session.machine.state.reported, identityID: session.machine.identityID)
  }

  private func tell(_ event: SessionEvent, _ profile: String, _ connection: Connection) {
    var bytes: [UInt8] = []
    RenderedReply.event(event, profile: profile)
      .append(to: &bytes, id: connection.watch?.id)
    server.reply(bytes, to: connection)
  }

  /// Passes a session's news on to the watchers of its user.
  func tellWatchers(_ announcement: Announcement, _ session: Session) {
    guard let tokens = watchers[session.key.uid], let event = event(announcement, session) else {
      return
    }
    for token in tokens {
      guard let connection = server.connection(token), let watch = connection.watch,
        watch.covers(session.key.profile)
      else { continue }
      tell(event, session.key.profile, connection)
    }
  }

  private func event(_ announcement: Announcement, _ session: Session) -> SessionEvent? {
    let machine = session.machine
    switch announcement {
    case .state(let standing):
      return .state(standing.reported, identityID: machine.identityID)
    case .identityChanged(let previous, let current?):
      return .identityChanged(previous: previous, current: current)
    case .identityChanged(_, nil):
      // The state event that goes with it says so.
      return nil
    case .refreshed(let expiration):
      guard let identity = machine.identityID else { return nil }
      let now = loop.now
      let next = machine.credentials.map { loop.wallTime + ($0.refreshAt - now) }
      return .refreshed(identityID: identity, expiration: expiration, nextRefresh: next)
    case .degraded(let failure):
      return .degraded(
        failure.protocolError, expiration: machine.credentials?.credentials.expiration)
    case .failed:
      // Whoever asked is told; there is nothing that could be degraded.
      return nil
    case .expiring(let error):
      return .degraded(error, expiration: machine.credentials?.credentials.expiration)
    }
  }
}
