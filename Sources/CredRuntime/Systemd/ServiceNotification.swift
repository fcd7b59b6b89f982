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
