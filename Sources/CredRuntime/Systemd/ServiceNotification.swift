internal import CSystemd
internal import Glibc

/// Messages to the service manager (sd_notify(3)). Outside a service they have no effect.
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
    // A file in memory is always ready, so the service manager need not poll it.
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

/// Tells the service manager why the daemon cannot start.
public enum ServiceFailure {
  /// - Parameters:
  ///   - text: shown by `systemctl status`; it is made one line.
  ///   - number: the errno that caused the failure, if there is one.
  public static func tell(_ text: String, number: Int32?) {
    var state = "STATUS=\(text.onOneLine)"
    if let number { state += "\nERRNO=\(number)" }
    ServiceNotification.send(state)
  }
}
