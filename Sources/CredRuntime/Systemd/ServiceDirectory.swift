internal import Glibc

/// The service's directories. Each is the first one of its kind that the service manager made, or
/// nil (systemd.exec(5)).
public enum ServiceDirectory {
  /// `StateDirectory=`: on disk.
  public static var state: String? { path("STATE_DIRECTORY") }
  /// `RuntimeDirectory=`: in memory.
  public static var runtime: String? { path("RUNTIME_DIRECTORY") }
  /// The files that `LoadCredential=` and similar settings gave to the service: in memory, and only
  /// for it.
  public static var credentials: String? {
    // There is only one directory, whose name may contain a colon.
    unsafe getenv("CREDENTIALS_DIRECTORY").map { unsafe String(cString: $0) }
      .flatMap { $0.hasPrefix("/") ? $0 : nil }
  }

  /// Whether systemd started this process for a unit, by `ExecStart=` or by `ExecReload=`.
  static var isService: Bool {
    unsafe getenv("SYSTEMD_EXEC_PID").map { unsafe atoi($0) } == getpid()
  }

  /// The command that makes this process read its configuration again.
  static var reload: String {
    guard ServiceNotification.isHeard else { return "kill -HUP \(getpid())" }
    // A user's manager gives its services this variable (user@.service(5)).
    let hasFolder = unsafe getenv("XDG_RUNTIME_DIR") != nil
    return hasFolder && geteuid() != 0
      ? "systemctl --user reload credd" : "sudo systemctl reload credd"
  }

  /// Sets `${CREDENTIALS_DIRECTORY}` to the service's directory, for --check-config, if it is not
  /// set. systemd shows the credentials only to `ExecStart=`. For `ExecReload=`, version 252 sets
  /// the variable, but the directory is not accessible if the unit has a mount namespace (systemd
  /// issue 35227). Version 257 does not set the variable.
  ///
  /// - Returns: the directory, unless this process can see its files. The daemon itself looks at
  ///   them.
  public static func assumeCredentials() -> String? {
    if isService, let folder = credentials, unsafe access(folder, X_OK) == 0 { return nil }
    unsafe setenv("CREDENTIALS_DIRECTORY", "/run/credentials/credd.service", 0)
    return unsafe getenv("CREDENTIALS_DIRECTORY").map { unsafe String(cString: $0) }
  }

  private static func path(_ variable: String) -> String? {
    guard let value = unsafe getenv(variable) else { return nil }
    // The variable may list several directories, separated by colons.
    let first = unsafe String(cString: value).prefix { $0 != ":" }
    return first.hasPrefix("/") ? String(first) : nil
  }
}
