internal import CLinux
internal import CSystemd
internal import CredCore
internal import CredService
internal import Glibc

extension Peer {
  /// The peer, as the kernel recorded it at `connect`.
  static func connected(to descriptor: Int32) throws(SystemError) -> Peer {
    var peer = credd_peer()
    unsafe try SystemError.check(
      credd_peer_credentials(descriptor, &peer), "read peer credentials")
    return Peer(uid: peer.uid, gid: peer.gid, pid: peer.pid)
  }

  /// The peer's primary and supplementary groups at `connect`; needs no directory service.
  static func groups(of descriptor: Int32, primary: UInt32) -> [UInt32] {
    // NGROUPS_MAX of Linux is 65,536, but nearly every process has fewer than 64 groups.
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

/// The systemd unit of a connected process.
enum CallerUnit {
  /// The unit, such as `billing.service`; nil if there is none or it is uncertain. A unit of a
  /// user's own manager follows the manager's unit: `user@1000.service/app.service`. Users choose
  /// such names, so they must never look like a system unit.
  ///
  /// Another process may have the peer's pid by now (spire#6035). With the kernel's pidfd of the
  /// peer (Linux 6.5), credd checks after the reading that the peer still lives. Without a pidfd,
  /// the process of that pid must belong to the peer's user and be older than the connection,
  /// before and after the reading. credd does not notice if another process of the same user got
  /// the pid between `connect` and `accept`.
  ///
  /// - Parameter accepted: when the connection was accepted.
  static func name(of peer: Peer, on descriptor: Int32, accepted: Instant) -> String? {
    // The peer is outside this daemon's pid namespace: it has no pid here.
    guard peer.pid > 0 else { return nil }
    var pidfd = credd_peer_pidfd(descriptor)
    let isCertain = pidfd >= 0
    if !isCertain { pidfd = credd_pidfd_open(peer.pid) }
    guard pidfd >= 0 else { return nil }
    defer { credd_close(pidfd) }
    guard isCertain || isOlder(peer, than: accepted) else { return nil }
    let unit = unit(ofProcess: peer.pid)
    return credd_pidfd_alive(pidfd) == 1 ? unit : nil
  }

  private static func unit(ofProcess pid: pid_t) -> String? {
    guard let unit = unsafe text({ unsafe sd_pid_get_unit(pid, &$0) }) else { return nil }
    return unsafe text { unsafe sd_pid_get_user_unit(pid, &$0) }.map { "\(unit)/\($0)" } ?? unit
  }

  private static func text(
    _ read: (inout UnsafeMutablePointer<CChar>?) -> Int32
  ) -> String? {
    var found: UnsafeMutablePointer<CChar>?
    guard unsafe read(&found) >= 0, let found = unsafe found else { return nil }
    defer { unsafe free(found) }
    return unsafe String(cString: found)
  }

  /// Whether the present process of the peer's pid belongs to the peer's user and began before
  /// `accepted`.
  static func isOlder(_ peer: Peer, than accepted: Instant) -> Bool {
    started(peer).map { $0 <= accepted } ?? false
  }

  /// When the present process of the peer's pid began; nil if it belongs to another user.
  static func started(_ peer: Peer) -> Instant? {
    var uid: uid_t = 0
    var started: Int64 = 0
    guard unsafe credd_process_facts(peer.pid, &uid, &started) == 0, uid == peer.uid else {
      return nil
    }
    return Instant(nanoseconds: started)
  }
}
