internal import CredCore

/// What the server grants its clients.
public struct ServerLimits: Sendable, Equatable {
  /// Open connections in all, and for one user.
  public var connections: Int
  public var connectionsPerUser: Int

  /// A client that began a line and does not end it is cut off after this long.
  var partialLine: Duration = Limits.partialLineTime
  /// A client that does not take its replies for this long is cut off.
  var blockedWrite: Duration = .seconds(30)
  /// How often deadlines of stalled clients are looked at, while there are any.
  var stallCheck: Duration = .seconds(1)
  /// When descriptors or memory ran out, nobody is accepted for this long.
  var acceptPause: Duration = .milliseconds(100)

  public init(connections: Int, connectionsPerUser: Int) {
    self.connections = connections
    self.connectionsPerUser = connectionsPerUser
  }

  init(_ settings: DaemonSettings) {
    self.init(
      connections: settings.maxConnections, connectionsPerUser: settings.maxConnectionsPerUser)
  }

  /// Read from one connection in one turn: enough for 400 pipelined requests, little enough that
  /// a client who floods delays the others by a millisecond.
  static let readSize = 16 << 10
  /// Replies gathered before they are written.
  static let writeSize = 256 << 10
  /// Connections accepted in one turn.
  static let acceptsPerTurn = 64
  /// Turns in which a daemon that ends answers what was asked.
  static let lastTurns = 256
  /// How long a daemon that ends waits for what clients it has accepted are about to ask.
  static let lastWords: Duration = .milliseconds(100)
  /// Ready clients taken in one turn.
  static let clientsPerTurn = 256
}
