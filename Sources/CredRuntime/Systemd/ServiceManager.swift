internal import CSystemd
internal import Glibc

/// Messages to the service manager (sd_notify(3)); outside a service they have no effect.
enum ServiceNotification {
  /// Whether a service manager listens.
  static var isHeard: Bool { unsafe getenv("NOTIFY_SOCKET") != nil }

  static func send(_ state: String) {
    unsafe sd_notify(0, state)
  }

  /// Stores a descriptor under a name in the service manager, for the next process of the service.
  ///
  /// - Throws: if the message could not be sent. systemd does not say whether the unit allows
  ///   storing.
  static func store(_ descriptor: Int32, as name: String) throws(SystemError) {
    // A file in memory is always ready, so there is nothing to poll it for.
    var descriptor = descriptor
    unsafe try SystemError.check(
      sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nFDNAME=\(name)\nFDPOLL=0", &descriptor, 1),
      "leave the sessions with the service manager")
  }

  /// Tells the service manager to close every stored descriptor of that name.
  static func remove(_ name: String) {
    send("FDSTOREREMOVE=1\nFDNAME=\(name)")
  }
}

/// The service's directories. Each is the first one of its kind that the service manager made, or
/// nil (systemd.exec(5)).
public enum ServiceDirectory {
  /// `StateDirectory=`: on disk.
  public static var state: String? { path("STATE_DIRECTORY") }
  /// `RuntimeDirectory=`: in memory.
  public static var runtime: String? { path("RUNTIME_DIRECTORY") }
  /// What `LoadCredential=` and its like gave to the service: in memory, and for it alone.
  public static var credentials: String? {
    // One directory, whose name may hold a colon.
    unsafe getenv("CREDENTIALS_DIRECTORY").map { unsafe String(cString: $0) }
      .flatMap { $0.hasPrefix("/") ? $0 : nil }
  }

  /// Whether systemd started this process for a unit, by `ExecStart=` or by `ExecReload=`.
  static var isService: Bool {
    unsafe getenv("SYSTEMD_EXEC_PID").map { unsafe atoi($0) } == getpid()
  }

  /// Sets `${CREDENTIALS_DIRECTORY}` to the service's directory, for --check-config where it is not
  /// set. systemd shows the credentials to `ExecStart=` alone: to `ExecReload=`, version 252 names the
  /// directory and closes it where the unit has a mount namespace (systemd issue 35227), and version
  /// 257 does not name it.
  ///
  /// - Returns: the directory, unless this process sees what is in it. The daemon looks itself.
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

/// Tells the service manager why the daemon cannot start.
public enum ServiceFailure {
  /// - Parameters:
  ///   - text: shown by `systemctl status`; made one line.
  ///   - number: the errno behind it, where there is one.
  public static func tell(_ text: String, number: Int32?) {
    var state = "STATUS=\(text.onOneLine)"
    if let number { state += "\nERRNO=\(number)" }
    ServiceNotification.send(state)
  }
}
