import CredCore
import Synchronization

@testable import CredService

/// The time of a clock that goes on when a test says so.
final class StillTime: Sendable {
  private let passed = Mutex(Duration.zero)

  var elapsed: Duration { passed.withLock { $0 } }

  func advance(by duration: Duration) {
    passed.withLock { $0 += duration }
  }
}

/// A clock that stands still. Its timers are another clock's.
final class StillClock: Clock {
  private let time: StillTime
  private let start: Instant
  private let other: any Clock

  var now: Instant { start + time.elapsed }
  var wallTime: WallTime { other.wallTime }
  var skew: Duration? { other.skew }
  var awsTime: WallTime? { other.awsTime }

  init(_ time: StillTime, _ other: any Clock) {
    (self.time, self.other) = (time, other)
    start = other.now
  }

  func makeTimer(_ fire: @escaping () -> Void) -> any CredService.Timer { other.makeTimer(fire) }
  func recordServerTime(_ time: WallTime) { other.recordServerTime(time) }
}
