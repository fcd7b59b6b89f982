/// What the kernel's table of sockets says of the other end of a TCP connection (sock_diag(7)).
public struct SocketReport: Sendable, Equatable {
  /// Whether the ports and addresses are those that were asked for. Where the other end is gone, the
  /// kernel may report our own listener.
  public var isOfOtherEnd: Bool
  /// Of `enum tcp_state`.
  public var state: UInt8
  public var uid: UInt32
  /// 0 where no process holds the socket any more; the uid then says nothing.
  public var inode: UInt32
  /// The control group of the process that made the socket; nil before Linux 5.9.
  public var controlGroup: UInt64?

  public init(
    isOfOtherEnd: Bool, state: UInt8, uid: UInt32, inode: UInt32, controlGroup: UInt64?
  ) {
    self.isOfOtherEnd = isOfOtherEnd
    self.state = state
    self.uid = uid
    self.inode = inode
    self.controlGroup = controlGroup
  }
}

/// Who made a TCP connection, by the word of the kernel.
public struct AttestedPeer: Sendable, Equatable {
  public let uid: UInt32
  /// See ``SocketReport/controlGroup``.
  public let controlGroup: UInt64?

  /// `TCP_ESTABLISHED`.
  private static let established: UInt8 = 1

  /// Judges a report.
  ///
  /// - Parameter ownState: the state of our own end after the report came. While it is established,
  ///   the report cannot be about a later connection from the same port: after a reset, another user
  ///   may have it at once.
  public init(_ report: SocketReport, ownState: UInt8?) throws(AttestationFailure) {
    guard report.isOfOtherEnd else { throw .anotherSocket }
    guard report.inode != 0 else { throw .closed }
    guard report.state == Self.established else { throw .notEstablished }
    guard ownState == Self.established else { throw .ownEndClosed }
    uid = report.uid
    controlGroup = report.controlGroup
  }
}

/// Why the kernel's word about a connection was missing or worth nothing.
public enum AttestationFailure: String, Error, Sendable, CaseIterable {
  /// The kernel was asked and did not answer, or answered something else.
  case noAnswer = "no_answer"
  /// It knows no such socket: the other end is in another network namespace, or gone.
  case unknown
  case anotherSocket = "another_socket"
  /// No process holds the other end any more.
  case closed
  case notEstablished = "not_established"
  case ownEndClosed = "own_end_closed"
}
