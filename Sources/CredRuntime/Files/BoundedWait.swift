internal import CLinux
internal import CredCore
internal import Synchronization

/// Waits for work that may hang, as on a file server that is away, and goes on without it.
struct BoundedWait {
  /// For one piece of work.
  static let longest: Duration = .seconds(3)
  /// For all of it, so that a reload does not reach the time limit of its unit.
  private var left: Duration = .seconds(12)

  /// What a thread found, if it ever does.
  private final class Answer<Value: Sendable>: Sendable {
    let ready: Int32
    let value = Mutex<Value?>(nil)

    init?() {
      ready = credd_eventfd()
      guard ready >= 0 else { return nil }
    }

    deinit { if ready >= 0 { credd_close(ready) } }
  }

  /// Does the work on a thread of its own.
  ///
  /// - Returns: nil if it takes too long; then it goes on by itself.
  mutating func wait<Value: Sendable>(for work: @escaping @Sendable () -> Value) -> Value? {
    guard let answer = Answer<Value>() else { return work() }
    let failure = DetachedThread.start {
      let value = work()
      answer.value.withLock { $0 = value }
      _ = credd_eventfd_signal(answer.ready)
    }
    guard failure == 0 else { return work() }
    let start = credd_boottime()
    // Even without time left, what does not hang is done.
    let limit = max(min(Self.longest, left), .milliseconds(200))
    _ = credd_wait_readable(answer.ready, Int32(limit.inSeconds * 1000))
    left -= .nanoseconds(credd_boottime() - start)
    return answer.value.withLock { value in
      defer { value = nil }
      return value
    }
  }
}
