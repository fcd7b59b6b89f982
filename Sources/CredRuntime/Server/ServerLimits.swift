internal import CredCore
internal import CredService
internal import Glibc

/// The server's limits for its clients.
public struct ServerLimits: Sendable, Equatable {
  /// Open connections in all, and for one user.
  public var connections: Int
  public var connectionsPerUser: Int
  /// Users who have some connections beyond `connections`: root and the daemon's own.
  var reservedUsers: Set<UInt32> = []

  /// A client must end a request within this time, or it is disconnected.
  var partialLine: Duration = Limits.Line.time
  /// A client must take its replies within this time, or it is disconnected.
  var blockedWrite: Duration = .seconds(30)
  /// A client must begin its first request within this time, if there is a limit.
  var accepted: Duration?
  /// A client must begin its next request within this time after the last one, or after its answer, if
  /// there is a limit.
  var idle: Duration?
  /// How often deadlines are checked, while there are any.
  var stallCheck: Duration = .seconds(1)
  /// How long an ending daemon waits for the first request of each accepted client.
  var drainTime: Duration = .milliseconds(500)

  public init(connections: Int, connectionsPerUser: Int) {
    self.connections = connections
    self.connectionsPerUser = connectionsPerUser
  }

  init(_ settings: DaemonSettings) {
    self.init(
      connections: settings.maxConnections, connectionsPerUser: settings.maxConnectionsPerUser)
    reservedUsers = [0, geteuid()]
  }

  /// What a connection does.
  enum Phase {
    /// The client has sent nothing yet.
    case accepted
    /// A request has begun and has not ended.
    case partial
    /// The client does not take its replies.
    case blocked
    /// All requests have their answers, or will get them.
    case idle
  }

  /// The most time for a phase; nil if there is no limit.
  func time(of phase: Phase) -> Duration? {
    switch phase {
    case .accepted: accepted
    case .partial: partialLine
    case .blocked: blockedWrite
    case .idle: idle
    }
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
  /// When descriptors or memory ran out, no client is accepted for this long.
  static let acceptPause: Duration = .milliseconds(100)
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
