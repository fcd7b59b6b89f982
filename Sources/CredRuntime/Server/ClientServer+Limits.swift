internal import CredCore
internal import CredService
internal import Glibc

/// Limits the number of connections of all users and of one.
extension ClientServer {
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

  func countExcess(_ error: ProtocolError, of peer: Peer) {
    limitHits[.connections, default: 0] += 1
    limitWasHit(error, peer)
  }

  /// Called when the account of a uid's connections is known. Closes connections for which the
  /// account has no room.
  func accountKnown(_ uid: UInt32) {
    let account = receiver.account(of: uid)
    for allowance in Set(listeners.map(\.socket.allowance)).union([nil]) {
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
      countExcess(error, of: connection.peer)
      refuse(connection, error)
    }
  }
}

/// Limits the time and memory that one user's connections take.
extension ClientServer {
  /// Closes the connection that took its user over a limit.
  func enforceShare(_ connection: Connection) {
    connection.countBytes()
    let user = connection.user
    guard !connection.isClosing else { return }
    if connection.holdsPartialLine, user.unfinishedBytes > Limits.Client.unfinishedBytesPerUser {
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
  private func cut(_ connection: Connection, _ hit: HitLimit, _ what: String, _ limit: Int) {
    limitHits[hit, default: 0] += 1
    connection.isClosing = true
    connection.dropLines()
    let error = ProtocolError(
      .tooManyRequests, "this user's connections hold more than \(limit) bytes of \(what)")
    limitWasHit(error, connection.peer)
    reply(RenderedReply.error(error).bytes, to: connection)
    flush(connection)
    if !connection.isClosed { connection.countBytes() }
  }
}

/// Clients that do not finish a line, or do not take replies.
extension ClientServer {
  /// Sets a deadline for such a client, or clears it.
  func updateStallDeadline(_ connection: Connection, _ now: Instant) {
    let isBlocked = connection.backlog > 0
    guard isBlocked || (!connection.isWaiting && connection.holdsPartialLine) else {
      clearStallDeadline(connection)
      return
    }
    guard !connection.isStalled else { return }
    connection.isStalled = true
    if stalled.isEmpty { stallTimer?.arm(at: now + limits.stallCheck) }
    stalled[connection.token] =
      now + (isBlocked ? limits.blockedWrite : limits.partialLine)
  }

  func clearStallDeadline(_ connection: Connection) {
    guard connection.isStalled else { return }
    connection.isStalled = false
    stalled[connection.token] = nil
  }

  func closeStalled() {
    let now = loop.now
    for (token, deadline) in stalled where deadline <= now {
      stalled[token] = nil
      guard let connection = table[token] else { continue }
      guard connection.backlog == 0 else {
        close(connection)
        continue
      }
      refuse(connection, ProtocolError(.timeout, "the request line was not finished in time"))
    }
    stallTimer?.arm(at: stalled.isEmpty ? nil : now + limits.stallCheck)
  }
}

/// The server's limits for its clients.
public struct ServerLimits: Sendable, Equatable {
  /// Open connections in all, and for one user.
  public var connections: Int
  public var connectionsPerUser: Int
  /// Users who have some connections beyond `connections`: root and the daemon's own.
  var reservedUsers: Set<UInt32> = []

  /// A client must end a line within this time, or it is disconnected.
  var partialLine: Duration = Limits.Line.time
  /// A client must take its replies within this time, or it is disconnected.
  var blockedWrite: Duration = .seconds(30)
  /// How often the deadlines of stalled clients are checked, while there are any.
  var stallCheck: Duration = .seconds(1)
  /// How long an ending daemon waits for the first request of each accepted client.
  var drainTime: Duration = .milliseconds(500)
  /// When descriptors or memory ran out, no client is accepted for this long.
  var acceptPause: Duration = .milliseconds(100)

  public init(connections: Int, connectionsPerUser: Int) {
    self.connections = connections
    self.connectionsPerUser = connectionsPerUser
  }

  init(_ settings: DaemonSettings) {
    self.init(
      connections: settings.maxConnections, connectionsPerUser: settings.maxConnectionsPerUser)
    reservedUsers = [0, geteuid()]
  }

  /// The most connections of an account, and a text that names the account.
  func share(of account: Account?) -> (whose: String, limit: Int) {
    // Never less than the limit of one user.
    let least = min(connections, connectionsPerUser)
    return switch account {
    case .user, .range: ("user", connectionsPerUser)
    case .ownerless:
      ("group of uids without a name", max(connections / Limits.Client.ownerlessPart, least))
    case nil:
      (
        "group of users that are being looked up",
        max(connections / Limits.Client.unknownPart, least)
      )
    }
  }

  /// Bytes of one read: enough for 400 pipelined requests. They are answered ``turnLines`` at a
  /// time.
  static let readSize = 16 << 10
  /// The time of one user's turn, for all the user's connections. It bounds the delay that one user
  /// can cause another. After each round the loop polls, which takes less than 1 µs.
  static let turnTime: Duration = .microseconds(25)
  /// Requests of one connection that are answered in one turn. A slower request than a cached `get`
  /// counts as several: its time divided by `lineTime`.
  static let turnLines = 32
  static let lineTime: Duration = .nanoseconds(600)
  /// Replies gathered before they are written.
  static let writeSize = 256 << 10
  /// Connections accepted at once, which takes 25 µs too. They are then served in turns, as others.
  /// Those that are refused do not count: it goes on with them for ``turnTime``.
  static let acceptsPerTurn = 4
  /// How long a daemon that cannot start answers its clients before it ends. systemd allows a
  /// socket 20 starts in 2 s: a second stays far below that limit. A person who waits for
  /// `systemctl restart` to fail can wait a second.
  static let refusalNanoseconds: Int64 = 1_000_000_000
  /// How many clients of one socket it answers before it looks at the time and at the other
  /// sockets: as many as can wait there. So clients that connect without end cannot keep it busy.
  static let refusalsAtOnce = 4096
  /// How often an ending daemon checks whether the accepted clients have sent something.
  static let drainCheck: Duration = .milliseconds(2)
}
