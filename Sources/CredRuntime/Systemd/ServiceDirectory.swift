internal import Glibc

/// Where the service may keep files: the first directory of its kind that the service manager made;
/// nil where it made none (systemd.exec(5)).
public enum ServiceDirectory {
  /// `StateDirectory=`: on disk.
  public static var state: String? { path("STATE_DIRECTORY") }
  /// `RuntimeDirectory=`: in memory.
  public static var runtime: String? { path("RUNTIME_DIRECTORY") }

  /// Lets a person check a configuration that names `${CREDENTIALS_DIRECTORY}`, which systemd sets
  /// for the service alone: it is taken for the directory that the service would have. Nothing
  /// changes within a service: there a missing `LoadCredential=` is an error.
  public static func assumeCredentials() {
    let isService = unsafe getenv("SYSTEMD_EXEC_PID").map { unsafe atoi($0) } == getpid()
    guard !isService else { return }
    unsafe setenv("CREDENTIALS_DIRECTORY", "/run/credentials/credd.service", 0)
  }

  private static func path(_ variable: String) -> String? {
    guard let value = unsafe getenv(variable) else { return nil }
    // Several are separated by colons.
    let first = unsafe String(cString: value).prefix { $0 != ":" }
    return first.hasPrefix("/") ? String(first) : nil
  }
}
