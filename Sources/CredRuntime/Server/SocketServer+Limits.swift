internal import CredCore
internal import CredService
internal import Glibc

/// Limits the number of connections of all users and of one.
extension SocketServer {
  /// The limit that a user's connections are beyond; nil if there is none.
  ///
  /// - Parameter new: how many are not in the table yet.
  func excess(of place: UserPlace, in account: Account?, with new: Int) -> ProtocolError? {
    // Over a socket with a cap nobody is an administrator.
    let isReserved = place.allowance == nil && limits.reservedUsers.contains(place.uid)
    let most = limits.connections + (isReserved ? Limits.Client.reservedConnections : 0)
    guard table.count + new <= most else {
      return Self.tooMany("daemon", limits.connections, "max_connections")
    }
    // Their own limit keeps root's programs from taking the last ones.
    guard table.count(of: place) + new <= limits.connectionsPerUser else {
      return Self.tooMany("user", limits.connectionsPerUser, "max_connections_per_user")
    }
    guard !isReserved else { return nil }
    let (whose, limit) = limits.share(of: account)
    guard table.count(of: account, at: place.allowance) + new <= limit else {
      let key = limit == limits.connectionsPerUser ? "max_connections_per_user" : "max_connections"
      return Self.tooMany(whose, limit, key)
    }
    return nil
  }

  private static func tooMany(_ whose: String, _ limit: Int, _ key: String) -> ProtocolError {
    ProtocolError(
      .tooManyRequests, "this \(whose) has too many connections: more than \(limit) (\(key))")
  }

  func count(_ hit: HitLimit, _ error: ProtocolError, _ peer: Peer) {
    limitHits[hit, default: 0] += 1
    limitWasHit(error, peer)
  }

  /// Called when the account of a uid's connections is known. Closes connections for which the
  /// account has no room.
  func accountKnown(_ uid: UInt32) {
    let account = receiver.account(of: uid)
    for allowance in listeners.allowances.union([nil]) {
      let place = UserPlace(uid: uid, allowance: allowance)
      guard table.move(place, to: account),
        table.count(of: account, at: allowance) > limits.share(of: account).limit
      else { continue }
      refuseExcess(of: place, in: account)
    }
  }

  private func refuseExcess(of place: UserPlace, in account: Account?) {
    for connection in connections where connection.user.place == place {
      guard let error = excess(of: place, in: account, with: 0) else { return }
      count(.connections, error, connection.peer)
      refuse(connection, with: connection.refusal(error))
    }
  }
}

/// Limits the time and memory that one user's connections take.
extension SocketServer {
  /// Closes the connection that took its user over a limit.
  func enforceShare(_ connection: any FramedConnection) {
    connection.countBytes()
    let user = connection.user
    guard !connection.isClosing else { return }
    if connection.partialBytes > 0, user.unfinishedBytes > Limits.Client.unfinishedBytesPerUser {
      cut(
        connection, .unfinishedLines, "unfinished request lines",
        Limits.Client.unfinishedBytesPerUser)
    } else if connection.backlog > 0,
      user.backlogBytes - connection.backlog > Limits.Client.backlogBytesPerUser
    {
      cut(connection, .unreadReplies, "unread replies", Limits.Client.backlogBytesPerUser)
    }
  }

  /// The replies before the refusal are still delivered.
  private func cut(
    _ connection: any FramedConnection, _ hit: HitLimit, _ what: String, _ limit: Int
  ) {
    connection.isClosing = true
    connection.dropInput()
    let error = ProtocolError(
      .tooManyRequests, "this user's connections hold more than \(limit) bytes of \(what)")
    count(hit, error, connection.peer)
    reply(connection.refusal(error), to: connection)
    flush(connection)
    if !connection.isClosed { connection.countBytes() }
  }
}

/// Limits the time that a client may take for each phase of its connection.
extension SocketServer {
  /// Sets the deadline of the phase in which the connection is, if that has just begun. One that goes on
  /// keeps its deadline.
  func updateDeadline(_ connection: any FramedConnection, _ now: Instant) {
    let phase: ServerLimits.Phase =
      if connection.backlog > 0 {
        .blocked
      } else if connection.partialBytes > 0 {
        .partial
      } else {
        connection.hasSentData ? .idle : .accepted
      }
    guard phase != connection.timedPhase else { return }
    connection.timedPhase = phase
    deadlines.set(limits.time(of: phase).map { now + $0 }, of: connection.token)
  }

  /// Gives the connection's phase a new deadline at the end of the turn, because a request has ended or
  /// the client has taken a part of its replies.
  func clearDeadline(_ connection: any FramedConnection) { connection.timedPhase = nil }

  /// Ends the connection of that token, because its phase takes too long.
  func endOverdue(_ token: UInt64) {
    guard let connection = table[token] else { return }
    guard connection.timedPhase == .partial else { return close(connection) }
    refuse(connection, with: connection.refusalOfLate())
  }
}
