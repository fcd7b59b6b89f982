internal import CredCore

/// Limits the time and memory that one user's connections take.
extension ClientServer {
  /// Ends a connection with which its user holds more than the share. It is the one that grew: other
  /// connections of the user are left alone.
  func enforceShare(_ connection: Connection) {
    connection.account()
    let user = connection.user
    guard !connection.isClosing else { return }
    if connection.holdsPartialLine, user.unfinishedBytes > Limits.Client.unfinishedBytesPerUser {
      cut(connection, "unfinished request lines", Limits.Client.unfinishedBytesPerUser)
    } else if connection.backlog > 0,
      user.backlogBytes - connection.backlog > Limits.Client.backlogBytesPerUser
    {
      cut(connection, "unread replies", Limits.Client.backlogBytesPerUser)
    }
  }

  /// The replies before the refusal are still delivered.
  private func cut(_ connection: Connection, _ what: String, _ limit: Int) {
    connection.isClosing = true
    connection.dropLines()
    let error = ProtocolError(
      .tooManyRequests, "this user's connections hold more than \(limit) bytes of \(what)")
    reply(RenderedReply.error(error).bytes, to: connection)
    flush(connection)
    if !connection.isClosed { connection.account() }
  }
}

/// Clients that do not end a line, or do not take replies.
extension ClientServer {
  /// Such a client has a deadline.
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

/// What the server grants its clients.
public struct ServerLimits: Sendable, Equatable {
  /// Open connections in all, and for one user.
  public var connections: Int
  public var connectionsPerUser: Int

  /// A client that began a line and does not end it is cut off after this long.
  var partialLine: Duration = Limits.Line.time
  /// A client that does not take its replies for this long is cut off.
  var blockedWrite: Duration = .seconds(30)
  /// How often deadlines of stalled clients are looked at, while there are any.
  var stallCheck: Duration = .seconds(1)
  /// How long a daemon that ends waits for the first bytes of the clients that it has accepted: they
  /// have connected, so their request is under way.
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
  }

  /// Read from one connection at once: enough for 400 pipelined requests, which are then answered
  /// ``turnLines`` at a time.
  static let readSize = 16 << 10
  /// How long one user is served before the next one is, over all of the user's connections: what a
  /// flood of one user adds to another's answer. After each round the loop polls, which takes less
  /// than 1 µs.
  static let turnTime: Duration = .microseconds(25)
  /// Requests of one connection that are answered at once, by the time that a cached `get` takes;
  /// others count as many of them as fit into their time.
  static let turnLines = 32
  static let lineTime: Duration = .nanoseconds(600)
  /// Replies gathered before they are written.
  static let writeSize = 256 << 10
  /// Connections accepted at once, some 25 µs too; they are served afterwards, by turns as others.
  static let acceptsPerTurn = 4
  /// How long a daemon that cannot start answers its clients before it ends: long enough that
  /// systemd, which allows 20 starts by a socket in 2 s, is never near its limit; short enough for
  /// a person who waits for `systemctl restart` to fail.
  static let refusalNanoseconds: Int64 = 1_000_000_000
  /// How often it looks whether they have sent something.
  static let drainCheck: Duration = .milliseconds(2)
}
