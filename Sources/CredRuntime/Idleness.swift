internal import CredCore

/// Ends a daemon that nobody uses, where the configuration wants it.
final class Idleness {
  /// How soon to look again where the time is up but something is still under way.
  private static let pause: Duration = .seconds(1)

  private let loop: EventLoop
  private let server: ClientServer
  private let service: SessionService
  var end: () -> Void = {}
  private var timer: EventSource?

  /// How long nobody may be connected; nil: for ever.
  var limit: Duration? {
    didSet { check() }
  }

  init(
    loop: EventLoop, server: ClientServer, service: SessionService
  ) throws(SystemError) {
    self.loop = loop
    self.server = server
    self.service = service
    timer = try loop.timer { [unowned self] _ in self.check() }
  }

  /// Looks when the time may be up; connections that come and go cost nothing.
  private func check() {
    guard let limit else {
      timer?.arm(at: nil)
      return
    }
    let now = loop.now
    let isEmpty = server.connectionCount == 0
    let due = (isEmpty ? server.emptySince : now) + limit
    if due > now {
      timer?.arm(at: due)
    } else if service.callsUnderWay > 0 {
      timer?.arm(at: now + Self.pause)
    } else {
      end()
    }
  }
}
