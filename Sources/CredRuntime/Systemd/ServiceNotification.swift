internal import CSystemd

/// What the service manager is told (sd_notify(3)); nothing happens outside a service.
enum ServiceNotification {
  static func send(_ state: String) {
    unsafe sd_notify(0, state)
  }
}
