/// The other end of a connection, as the kernel recorded it at `connect`.
package struct Peer: Sendable {
  /// The user to whom the peer belongs.
  package let uid: UInt32
  /// The primary group.
  package let gid: UInt32
  /// 0 outside this daemon's pid namespace.
  package let pid: Int32

  package init(uid: UInt32, gid: UInt32, pid: Int32) {
    self.uid = uid
    self.gid = gid
    self.pid = pid
  }
}
