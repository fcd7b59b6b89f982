internal import CLinux
public import CredCore
internal import Glibc

/// The users who made TCP connections of this host, as the kernel says (sock_diag(7)). The kernel
/// is asked over a netlink socket that stays open.
public final class LoopbackConnections {
  public let descriptor: Int32
  private var sequence: UInt32 = 0

  /// - Parameter descriptor: a socket of inet-diag, which this object closes.
  public init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { credd_close(descriptor) }

  /// The user who made a connection to this process.
  public func maker(of connection: Int32) -> Result<AttestedPeer, AttestationFailure> {
    var found = credd_socket_report()
    switch ask(connection, &found) {
    case 0: break
    case -ENOENT, -ECONNREFUSED: return .failure(.unknown)
    case -ENOTCONN: return .failure(.ownEndClosed)
    default: return .failure(.noAnswer)
    }
    let report = SocketReport(
      isOfOtherEnd: found.is_of_other_end, state: found.state, uid: found.uid, inode: found.inode,
      controlGroup: found.has_control_group ? found.control_group : nil)
    // Read after the report came: see ``AttestedPeer``.
    let state = UInt8(exactly: credd_tcp_state(connection))
    return Result { () throws(AttestationFailure) in
      try AttestedPeer(report, ownState: state)
    }
  }

  /// Whether the kernel answers a question about a connection. If its modules for such
  /// questions are missing, the kernel answers "no such socket" or "no such protocol".
  ///
  /// - Returns: 0 or -errno.
  public func answer(about connection: Int32) -> Int32 {
    var found = credd_socket_report()
    return ask(connection, &found)
  }

  private func ask(_ connection: Int32, _ found: inout credd_socket_report) -> Int32 {
    sequence &+= 1
    return unsafe credd_ask_other_end(descriptor, sequence, connection, &found)
  }
}
