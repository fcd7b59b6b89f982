internal import CLinux
internal import CredCore
internal import Synchronization

/// Waits for work of one kind that may hang, as on a file server that is away, and goes on without it.
struct BoundedWait {
  /// For one piece of work.
  private let longest: Duration
  /// For all of it, so that a reload does not reach the time limit of its unit.
  private var left: Duration
  /// For all that comes after that. What does not hang takes far less than ``afterwards`` and is still
  /// done, so one file server that is away leaves the other checks alone.
  private var reserve: Duration
  /// For one piece of work after that.
  private let afterwards: Duration

  /// Whether nothing is waited for any more: then no work is begun.
  var isOver: Bool { left <= .zero && reserve <= .zero }

  init(
    longest: Duration = .seconds(3), together: Duration = .seconds(12),
    reserve: Duration = .seconds(2), afterwards: Duration = .milliseconds(50)
  ) {
    self.longest = longest
    left = together
    self.reserve = reserve
    self.afterwards = afterwards
  }

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
  /// - Returns: nil if it takes too long; then it goes on by itself. Also nil if ``isOver``.
  mutating func wait<Value: Sendable>(for work: @escaping @Sendable () -> Value) -> Value? {
    guard !isOver else { return nil }
    guard let answer = Answer<Value>() else { return work() }
    let failure = DetachedThread.start {
      let value = work()
      answer.value.withLock { $0 = value }
      _ = credd_eventfd_signal(answer.ready)
    }
    guard failure == 0 else { return work() }
    let start = credd_boottime()
    let limit = left > .zero ? min(longest, left) : min(afterwards, reserve)
    // A wait of 0 ms would find nothing, and a negative one would not end.
    _ = credd_wait_readable(answer.ready, Int32(max(limit.inSeconds * 1000, 1)))
    let taken = Duration.nanoseconds(credd_boottime() - start)
    if left > .zero { left -= taken } else { reserve -= taken }
    return answer.value.withLock { value in
      defer { value = nil }
      return value
    }
  }
}
