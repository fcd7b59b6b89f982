internal import CredCore

/// Keeps the line that `systemctl status` shows, without a message for every event.
final class StatusNotice {
  /// Messages are at least so far apart.
  static let interval: Duration = .seconds(5)

  private let loop: EventLoop
  private let present: () -> ServiceStatus
  private var timer: EventSource?
  private var isArmed = false
  private var quietUntil = Instant(nanoseconds: .min)
  private var shown: ServiceStatus?

  init(loop: EventLoop, present: @escaping () -> ServiceStatus) throws(SystemError) {
    self.loop = loop
    self.present = present
    timer = try loop.timer { [unowned self] _ in self.send() }
  }

  /// Something may have changed.
  func update() {
    guard !isArmed else { return }
    let now = loop.now
    guard quietUntil > now else { return send() }
    isArmed = true
    timer?.arm(at: quietUntil)
  }

  /// Shows how things are now.
  func send() {
    isArmed = false
    quietUntil = loop.now + Self.interval
    let status = present()
    guard status != shown else { return }
    shown = status
    ServiceNotification.send("STATUS=\(status.text.onOneLine)")
  }
}
