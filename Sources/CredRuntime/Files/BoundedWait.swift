internal import CLinux
internal import CredCore
internal import Synchronization

/// Waits for work that may hang, for example on a dead file server, and then goes on without it.
struct BoundedWait {
  /// The time for one piece of work.
  private let longest: Duration
  /// The time that is left for all work, so that a reload does not reach the time limit of its
  /// unit.
  private var left: Duration
  /// The time for all further work after that. Work that does not hang takes far less than
  /// ``afterwards`` and is still done, so one dead file server does not prevent other checks.
  private var reserve: Duration
  /// The time for one piece of this further work.
  private let afterwards: Duration

  /// Whether all time is used up: then no work is begun.
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

  /// The result of a thread, if it ever comes.
  private final class Answer<Value: Sendable>: Sendable {
    let ready: Int32
    let value = Mutex<Value?>(nil)

    init?() {
      ready = credd_eventfd()
      guard ready >= 0 else { return nil }
    }

    deinit { if ready >= 0 { credd_close(ready) } }
  }

  /// Why a file was not looked at, for a message.
  ///
  /// - Parameter wasOver: whether no time was left before.
  static func problem(of path: String, wasOver: Bool) -> String {
    "'\(path)' "
      + (wasOver
        ? "was not looked at: checks before it hung" : "does not answer: is its file server away?")
  }

  /// Does the work on a new thread.
  ///
  /// - Returns: nil if the work takes too long; then it goes on by itself. Also nil if ``isOver``.
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
    // A wait of 0 ms would find no result, and a negative one would never end.
    _ = credd_wait_readable(answer.ready, Int32(max(limit.inSeconds * 1000, 1)))
    let taken = Duration.nanoseconds(credd_boottime() - start)
    if left > .zero { left -= taken } else { reserve -= taken }
    return answer.value.withLock { value in
      defer { value = nil }
      return value
    }
  }
}
