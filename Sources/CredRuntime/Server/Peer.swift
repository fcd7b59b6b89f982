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

/// The process that connected, by the kernel's own word.
enum PeerProcess: Equatable {
  /// A pidfd of it, which the caller closes.
  case known(Int32)
  /// The kernel has no pidfds of peers (before Linux 6.5).
  case unnamed
  /// It has ended. Its pid may be another process's, of which nothing counts.
  case gone

  init(of descriptor: Int32) { self.init(answer: credd_peer_pidfd(descriptor)) }

  /// - Parameter answer: a pidfd, or -errno.
  init(answer: Int32) {
    self =
      switch answer {
      case 0...: .known(answer)
      case -ENOPROTOOPT: .unnamed
      default: .gone
      }
  }
}

/// The systemd unit of a connected process.
enum CallerUnit {
  /// The unit, such as `billing.service`; nil if there is none or it is uncertain. A unit of a
  /// user's own manager follows the manager's unit: `user@1000.service/app.service`. Users choose
  /// such names, so they must never look like a system unit.
  ///
  /// Another process may have the peer's pid by now (spire#6035). With the kernel's pidfd of the
  /// peer (Linux 6.5), credd checks after the reading that the peer still lives. On an older kernel the
  /// pid's process must belong to the peer's user and be older than the connection, before and
  /// after the reading; a pid that the same user's next process got between `connect` and `accept`
  /// goes unnoticed.
  ///
  /// - Parameter accepted: when the connection was accepted.
  static func name(of peer: Peer, on descriptor: Int32, accepted: Instant) -> String? {
    // The peer is outside this daemon's pid namespace: it has no pid here.
    guard peer.pid > 0 else { return nil }
    let pidfd: Int32
    switch PeerProcess(of: descriptor) {
    case .known(let peers): pidfd = peers
    case .unnamed:
      pidfd = credd_pidfd_open(peer.pid)
      guard pidfd >= 0 else { return nil }
      guard isOlder(peer, than: accepted) else {
        credd_close(pidfd)
        return nil
      }
    case .gone: return nil
    }
    defer { credd_close(pidfd) }
    let unit = unit(ofProcess: peer.pid)
    return credd_pidfd_alive(pidfd) == 1 ? unit : nil
  }

  /// Whether the kernel hides the control group of a living peer, as it does where /proc is mounted with
  /// `hidepid=`.
  static func isHidden(_ peer: Peer) -> Bool {
    guard peer.pid > 0 else { return false }
    return isHidden(unsafe access("/proc/\(peer.pid)/cgroup", R_OK) == 0 ? 0 : errno) {
      // Without a signal: that another user's process is there, it says by EPERM.
      kill(peer.pid, 0) == 0 || errno == EPERM
    }
  }

  /// - Parameters:
  ///   - number: the errno of a look at the file; 0 if it can be read.
  ///   - isThere: whether there is such a process. `hidepid=invisible` shows none of it in /proc.
  static func isHidden(_ number: Int32, isThere: () -> Bool) -> Bool {
    switch number {
    case EACCES, EPERM: true
    case ENOENT, ESRCH: isThere()
    default: false
    }
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
