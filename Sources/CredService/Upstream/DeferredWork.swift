import CredCore

/// Work that is due, and must not run within the present call of a function.
///
/// It runs when the present event is over, in the order in which it came, but only for a short time, so
/// that other sources of the loop are served: 10,000 calls may end at once when a server stops answering.
/// Work that is deferred meanwhile waits for the next run.
final class DeferredWork {
  private let clock: any Clock
  private let turnTime: Duration
  private var items: [(() -> Void)?] = []
  private var taken = 0
  private var timer: (any Timer)?

  /// - Parameter turnTime: after this time of work, clients are served again.
  init(_ clock: any Clock, turnTime: Duration) {
    self.clock = clock
    self.turnTime = turnTime
    timer = clock.makeTimer { [unowned self] in run() }
  }

  func later(_ work: @escaping () -> Void) {
    items.append(work)
    timer?.arm(at: clock.now)
  }

  private func run() {
    let end = clock.now + turnTime
    for _ in taken..<items.count {
      popFirst()?()
      guard clock.now < end else { break }
    }
    if !items.isEmpty { timer?.arm(at: clock.now) }
  }

  /// Work that was taken is dropped at once: it may hold a secret.
  private func popFirst() -> (() -> Void)? {
    let work = items[taken].take()
    taken += 1
    if taken == items.count { (items, taken) = ([], 0) }
    return work
  }
}
