import AuthCore
import Synchronization

/// The tries of each source to register.
final class Registrations: Sendable {
  private let allowance = Mutex(
    SourceAllowance(burst: Limits.registrations.burst, pause: Limits.registrations.pause))

  func take(_ source: String, at now: Timestamp) -> Interval? {
    allowance.withLock { $0.take(source, at: now) }
  }
}

/// So many at once, and no more; nor more than its share for one host.
final class Places: Sendable {
  private let taken = Mutex<[String: Int]>([:])
  private let count: Int
  private let share: Int

  init(_ count: Int, each share: Int) {
    self.count = count
    self.share = share
  }

  func enter(_ host: String) -> Bool {
    taken.withLock { taken in
      guard taken[host, default: 0] < share, taken.values.reduce(0, +) < count else { return false }
      taken[host, default: 0] += 1
      return true
    }
  }

  func leave(_ host: String) {
    taken.withLock { taken in
      let left = (taken[host] ?? 1) - 1
      taken[host] = left > 0 ? left : nil
    }
  }
}
