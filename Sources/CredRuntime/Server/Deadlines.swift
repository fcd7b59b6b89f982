internal import CredCore

/// Deadlines of connections, and the timer that looks which of them are over.
final class Deadlines {
  private let loop: EventLoop
  /// How often it looks, while there are deadlines.
  private let check: Duration
  private var timer: EventSource?
  private var isArmed = false
  private(set) var byToken: [UInt64: Instant] = [:]

  init(_ loop: EventLoop, check: Duration) {
    self.loop = loop
    self.check = check
  }

  /// - Parameter end: ends the connection of a token whose deadline is over.
  func start(_ end: @escaping (_ token: UInt64) -> Void) throws(SystemError) {
    timer = try loop.timer { [unowned self] _ in
      for token in takeOverdue() { end(token) }
      if !byToken.isEmpty { arm() }
    }
  }

  /// - Parameter deadline: nil for a connection that has none.
  func set(_ deadline: Instant?, of token: UInt64) {
    byToken[token] = deadline
    if deadline != nil, !isArmed { arm() }
  }

  private func arm() {
    isArmed = true
    timer?.arm(at: loop.now + check)
  }

  private func takeOverdue() -> [UInt64] {
    isArmed = false
    let now = loop.now
    let overdue = byToken.filter { $0.value <= now }.map(\.key)
    for token in overdue { byToken[token] = nil }
    return overdue
  }
}
