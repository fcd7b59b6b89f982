internal import CSystemd
internal import Glibc

/// What the service manager is told (sd_notify(3)); nothing happens outside a service.
enum ServiceNotification {
  /// Whether anybody listens.
  static var isHeard: Bool { unsafe getenv("NOTIFY_SOCKET") != nil }

  static func send(_ state: String) {
    unsafe sd_notify(0, state)
  }

  /// Leaves a descriptor with the service manager under a name, for the next process of the service.
  ///
  /// - Throws: where the message could not be sent. Whether the unit lets anything be stored is not
  ///   told.
  static func store(_ descriptor: Int32, as name: String) throws(SystemError) {
    // A file in memory is always ready, so there is nothing to poll it for.
    var descriptor = descriptor
    unsafe try SystemError.check(
      sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nFDNAME=\(name)\nFDPOLL=0", &descriptor, 1),
      "leave the sessions with the service manager")
  }

  /// Has the service manager close everything of that name.
  static func remove(_ name: String) {
    send("FDSTOREREMOVE=1\nFDNAME=\(name)")
  }
}

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
