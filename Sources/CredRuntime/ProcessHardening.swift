internal import CLinux
internal import Glibc

/// What a process that holds secrets does first.
public enum ProcessHardening {
  /// Standard streams that exist, no core dumps, no tracing by others of the same user, as many
  /// descriptors as allowed; a peer that leaves is no reason to die, and who asks the daemon to
  /// stop while it starts is heard as soon as the loop turns: a bound socket is never left behind.
  ///
  /// - Throws: where the kernel refuses; a daemon that cannot protect its secrets does not start.
  public static func apply() throws(SystemError) {
    try SystemError.check(credd_open_standard_streams(), "open /dev/null")
    try SystemError.check(credd_harden(), "forbid core dumps")
    try SystemError.check(credd_raise_descriptor_limit(), "raise the descriptor limit")
    signal(SIGPIPE, SIG_IGN)
    for signal in [SIGTERM, SIGINT, SIGHUP] { EventLoop.block(signal) }
  }

  /// Keeps every page that this process uses out of swap, those of libraries and stacks included.
  ///
  /// - Throws: where the kernel refuses, as it does in a user's service: the limit is 8 MiB there.
  public static func lockMemory() throws(SystemError) {
    try SystemError.check(credd_lock_memory(), "lock memory")
  }

  /// Whether this process may serve every user of the host, and so lets every user connect.
  public static var isRoot: Bool { geteuid() == 0 }
}
