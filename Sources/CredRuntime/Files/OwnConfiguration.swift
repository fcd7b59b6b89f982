internal import CLinux
internal import CredCore
internal import Glibc

/// The configuration of a person's own credd (systemd/user/credd.service), which hides the host's credd
/// from that person's programs.
public enum OwnConfiguration {
  /// For a person who checks the host's configuration but runs a personal credd; else nil.
  public static var notice: String? {
    guard geteuid() != 0, !ServiceDirectory.isService, let path, unsafe access(path, F_OK) == 0
    else { return nil }
    return
      "\(DaemonCommandLine.hostConfig) is the host's; your own credd reads \(path): check that by "
      + "'credd --config \(path) --check-config'"
  }

  /// Whether the daemon with that command line would be a person's own: nobody else can connect to it.
  static func isOf(_ line: DaemonCommandLine) -> Bool {
    if let runtime = folder("XDG_RUNTIME_DIR"), line.socket.hasPrefix(runtime + "/") { return true }
    guard let path else { return false }
    return isSameFile(line.config, path)
  }

  private static func isSameFile(_ one: String, _ other: String) -> Bool {
    var (first, second) = (credd_file_facts(), credd_file_facts())
    guard unsafe credd_file_facts_at(one, &first) == 0,
      unsafe credd_file_facts_at(other, &second) == 0
    else { return false }
    return first.device == second.device && first.inode == second.inode
  }

  /// As systemd expands `%E` for a user's units.
  private static var path: String? {
    let folder = folder("XDG_CONFIG_HOME") ?? folder("HOME").map { $0 + "/.config" }
    return folder.map { $0 + "/credd/credd.conf" }
  }

  private static func folder(_ variable: String) -> String? {
    unsafe getenv(variable).map { unsafe String(cString: $0) }
      .flatMap { $0.hasPrefix("/") ? $0 : nil }
  }
}
