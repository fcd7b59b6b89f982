internal import CredCore
internal import CredService

/// Updates the line that `systemctl status` shows, without a message for every event.
final class StatusNotice {
  /// The least time between two messages.
  static let interval: Duration = .seconds(5)

  private let loop: EventLoop
  private let present: () -> ServiceStatus
  private let tell: (String) -> Void
  private var timer: EventSource?
  private var isArmed = false
  private var quietUntil = Instant(nanoseconds: .min)
  private var shown: ServiceStatus?

  /// - Parameter tell: passes a message to the service manager.
  init(
    loop: EventLoop, tell: @escaping (String) -> Void = ServiceNotification.send,
    present: @escaping () -> ServiceStatus
  ) throws(SystemError) {
    self.loop = loop
    self.tell = tell
    self.present = present
    timer = try loop.timer { [unowned self] _ in self.send() }
  }

  /// Called when the status may have changed.
  func update() {
    guard !isArmed else { return }
    let now = loop.now
    guard quietUntil > now else { return send() }
    isArmed = true
    timer?.arm(at: quietUntil)
  }

  /// Stops the messages, because the daemon ends and has reported that itself.
  func end() {
    timer = nil
    isArmed = true
  }

  /// Sends the present state, which replaces any other status sent meanwhile.
  func restore() {
    shown = nil
    send()
  }

  private func send() {
    isArmed = false
    quietUntil = loop.now + Self.interval
    let status = present()
    guard status != shown else { return }
    shown = status
    tell("STATUS=\(status.text.onOneLine)")
  }
}
