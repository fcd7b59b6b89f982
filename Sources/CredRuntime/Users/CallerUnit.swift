internal import CLinux
internal import CSystemd
internal import Glibc

/// The systemd unit of a connected process.
enum CallerUnit {
  /// The unit, of the system's manager or else of the user's; nil where there is none, or where
  /// it cannot be told for sure.
  ///
  /// A pid alone may by now be another process's (spire#6035), so the kernel's pidfd of the peer
  /// must still be alive after the unit was read: then the pid was its own all the while. A kernel
  /// without such pidfds gives no unit, which fails closed.
  static func name(of peer: Peer, on descriptor: Int32) -> String? {
    let pidfd = credd_peer_pidfd(descriptor)
    guard pidfd >= 0 else { return nil }
    defer { credd_close(pidfd) }
    var unit: UnsafeMutablePointer<CChar>?
    // Processes of users all share the unit user@UID.service; their own unit says more.
    if unsafe sd_pid_get_user_unit(peer.pid, &unit) < 0 {
      guard unsafe sd_pid_get_unit(peer.pid, &unit) >= 0 else { return nil }
    }
    guard let found = unsafe unit else { return nil }
    defer { unsafe free(found) }
    guard credd_pidfd_alive(pidfd) == 1 else { return nil }
    return unsafe String(cString: found)
  }
}
