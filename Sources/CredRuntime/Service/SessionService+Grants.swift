internal import CredCore

/// Grants to those who ask nothing more, because they watch or wait: each ends when the next request
/// of the same connection would be refused.
extension SessionService {
  /// A request waits in a session, unless it was answered at once.
  func noteGrant(of session: Session, toWaiting connection: Connection) {
    guard let parked = connection.parked, parked.session === session else { return }
    connection.parked?.grantedUntil = grantEnd(
      of: session.profile, connection, inNameOf: parked.request.otherUser)
  }

  /// A connection watches a session.
  func noteGrant(of session: Session, toWatching connection: Connection) {
    connection.watch?.grantedUntil = grantEnd(of: session.profile, connection, inNameOf: nil)
  }

  /// Until when what was just decided counts; sees to it that it is decided anew then.
  private func grantEnd(
    of profile: Profile, _ connection: Connection, inNameOf other: String?
  ) -> Instant {
    // Nobody loses what everybody has.
    if profile.access.isOpen, !profile.needsUserName, other == nil { return .distantFuture }
    reviewLater(at: connection.decision.until)
    return connection.decision.until
  }

  private func reviewLater(at time: Instant) {
    guard time < nextReview else { return }
    nextReview = time
    reviewTimer?.arm(at: time)
  }

  /// Looks at every grant whose time is over.
  func reviewGrants(_ now: Instant) {
    nextReview = .distantFuture
    for connection in server.connections { review(connection, now) }
    server.finishTurn()
  }

  /// Call ``ClientServer/finishTurn()`` afterwards.
  func review(_ connection: Connection, _ now: Instant) {
    reviewWatch(connection, now)
    reviewWaiting(connection, now)
    if let next = [connection.watch?.grantedUntil, connection.parked?.grantedUntil]
      .compactMap({ $0 }).min(), next > now
    {
      reviewLater(at: next)
    }
  }

  private func reviewWatch(_ connection: Connection, _ now: Instant) {
    guard let watch = connection.watch, watch.grantedUntil <= now,
      case .profile(let name) = watch.scope
    else { return }
    switch resolve(name, connection, now) {
    case .session(let session): noteGrant(of: session, toWatching: connection)
    case .refused(let error) where error.endsGrants: endWatch(connection, error, watch.id)
    case .refused: connection.watch?.grantedUntil = now + UserDirectory.failureKeptFor
    // Comes back when more is known.
    case .pending: break
    }
  }

  private func reviewWaiting(_ connection: Connection, _ now: Instant) {
    guard let parked = connection.parked, let session = parked.session, parked.grantedUntil <= now
    else { return }
    switch resolve(session.key.profile, inNameOf: parked.request.otherUser, connection, now) {
    case .session: noteGrant(of: session, toWaiting: connection)
    case .refused(let error) where error.endsGrants:
      forgetWaiter(connection, now)
      refuse(error, id: parked.request.id, connection)
    case .refused: connection.parked?.grantedUntil = now + UserDirectory.failureKeptFor
    case .pending: break
    }
  }

  func endWatch(_ connection: Connection, _ error: ProtocolError, _ id: RequestID?) {
    refuse(error, id: id, connection)
    forgetWatcher(connection)
    connection.watch = nil
  }
}

extension ProtocolError {
  /// Whether it says that the caller may not, and not that something is amiss.
  fileprivate var endsGrants: Bool { code == .accessDenied || code == .unknownProfile }
}

extension Request {
  /// In whose name it is asked, where that is not the caller's.
  fileprivate var otherUser: String? {
    if case .get(let get) = operation { get.user } else { nil }
  }
}
