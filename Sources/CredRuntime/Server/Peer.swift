internal import CLinux

/// Who is at the other end of a connection, as the kernel recorded it at `connect`.
struct Peer: Sendable {
  let uid: UInt32
  let gid: UInt32
  let pid: Int32

  init(uid: UInt32, gid: UInt32, pid: Int32) {
    self.uid = uid
    self.gid = gid
    self.pid = pid
  }

  init(of descriptor: Int32) throws(SystemError) {
    var peer = credd_peer()
    unsafe try SystemError.check(
      credd_peer_credentials(descriptor, &peer), "read peer credentials")
    uid = peer.uid
    gid = peer.gid
    pid = peer.pid
  }

  /// The peer's primary and supplementary groups at `connect`; needs no directory service.
  static func groups(of descriptor: Int32, primary: UInt32) -> [UInt32] {
    // NGROUPS_MAX of Linux is 65,536; nearly every process has fewer than 64.
    for capacity in [64, 65_536] {
      var groups = [UInt32](repeating: 0, count: capacity)
      var count = UInt32(capacity)
      if unsafe credd_peer_groups(descriptor, &groups, &count) == 0 {
        return [primary] + groups.prefix(Int(count))
      }
    }
    return [primary]
  }
}
