import CredCore
import Glibc

/// The host's clocks.
enum Clock {
  /// The time since boot, for deadlines.
  static var nanoseconds: Int64 {
    let time = read(CLOCK_BOOTTIME)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// The time of day, for people.
  static var wallTime: WallTime {
    let time = read(CLOCK_REALTIME)
    return WallTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  private static func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return time
  }
}
