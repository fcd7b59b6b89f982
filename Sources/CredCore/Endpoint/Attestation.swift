/// The kernel's report about the other end of a TCP connection, from its table of sockets
/// (sock_diag(7)).
public struct SocketReport: Sendable, Equatable {
  /// Whether the report has the requested ports and addresses. If the other end is gone, the kernel
  /// may report our own listener.
  public var isOfOtherEnd: Bool
  /// A value of `enum tcp_state`.
  public var state: UInt8
  public var uid: UInt32
  /// 0 if no process has the socket any more; then the uid means nothing.
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

/// The user who made a TCP connection, as the kernel says.
public struct AttestedPeer: Sendable, Equatable {
  public let uid: UInt32
  /// See ``SocketReport/controlGroup``.
  public let controlGroup: UInt64?

  /// `TCP_ESTABLISHED`.
  private static let established: UInt8 = 1

  /// Judges a report.
  ///
  /// - Parameter ownState: the state of our own end after the report came. If it is established,
  ///   the report cannot be about a later connection from the same port. After a reset, another
  ///   user could get that port at once.
  public init(_ report: SocketReport, ownState: UInt8?) throws(AttestationFailure) {
    guard report.isOfOtherEnd else { throw .anotherSocket }
    guard report.inode != 0 else { throw .closed }
    guard report.state == Self.established else { throw .notEstablished }
    guard ownState == Self.established else { throw .ownEndClosed }
    uid = report.uid
    controlGroup = report.controlGroup
  }
}
