internal import CLinux
internal import CSystemd
internal import Glibc

/// The listening sockets that the service manager passed (sd_listen_fds(3)).
public enum PassedSockets {
  /// Empty where none were passed. They are never unlinked, never changed: they belong to systemd,
  /// which keeps listening on them after this process (gitsign#830).
  ///
  /// - Throws: where something else than a listening Unix stream socket was passed.
  public static func take() throws(SystemError) -> [Int32] {
    let count = try SystemError.check(sd_listen_fds(1), "take the sockets passed by systemd")
    var descriptors: [Int32] = []
    for descriptor in SD_LISTEN_FDS_START..<(SD_LISTEN_FDS_START + count) {
      let isListener = try SystemError.check(
        credd_is_unix_listener(descriptor), "inspect passed descriptor \(descriptor)")
      guard isListener == 1 else {
        throw SystemError(
          "use passed descriptor \(descriptor), no listening Unix stream socket", number: EINVAL)
      }
      // systemd may pass blocking sockets; accepting must never wait.
      try SystemError.check(credd_set_nonblocking(descriptor), "prepare a passed socket")
      descriptors.append(descriptor)
    }
    return descriptors
  }
}
