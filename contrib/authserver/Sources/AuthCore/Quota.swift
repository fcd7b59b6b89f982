/// The bucket of all servers of one database. It has so many calls a second, and at most a second's
/// calls at once. It is one row, and a server takes out a slice, so that a call costs no query.
public struct SharedBucket: Sendable, Equatable {
  /// A thousandth of a call.
  public var level: Int64
  public var updated: Timestamp

  public init(level: Int64, updated: Timestamp) {
    self.level = level
    self.updated = updated
  }

  /// Takes up to `wanted` calls out, and returns how many.
  public mutating func take(_ wanted: Int, rate: Int, at now: Timestamp) -> Int {
    // The database's clock was ahead, and was put right.
    if updated - now > .seconds(10) { updated = now }
    // A clock that is behind fills nothing, and does not set the row back.
    let elapsed = max(0, min((now - updated).milliseconds, 10_000))
    level = min(level + elapsed * Int64(rate), Int64(rate) * 1000)
    updated = max(updated, now)
    let taken = max(0, min(wanted, Int(level / 1000)))
    level -= Int64(taken) * 1000
    return taken
  }

  /// What a server asks for at once.
  public static func slice(rate: Int) -> Int {
    max(1, rate * Int(Limits.quotaSlice.milliseconds) / 1000)
  }
}

/// When a callback that found no call of the quota comes back. Each refusal books the next free
/// moment of its host's share. So a fleet comes back one after the other, at the rate of the quota.
/// A host that asks for much makes no other host wait.
struct ReturnTimes: Sendable {
  /// The last moment that each host has booked.
  private var booked: [String: Timestamp] = [:]
  private var swept: Timestamp?
  private var beyond: Int64 = 0

  /// - Parameter rate: calls a second.
  mutating func book(host: String, rate: Int, at now: Timestamp) -> Interval {
    if swept.map({ now - $0 > .seconds(1) }) ?? true {
      booked = booked.filter { $0.value > now }
      swept = now
    }
    let hosts = Int64(booked.count + (booked[host] == nil ? 1 : 0))
    let step = Interval(milliseconds: max(1, 1000 * hosts / Int64(max(1, rate))))
    let time = max(booked[host] ?? now, now) + step
    guard time - now <= Limits.longestRetry else {
      // There is no free moment so early. These callbacks are spread over the later half, in no
      // order.
      beyond += 1
      let half = Limits.longestRetry.milliseconds / 2
      return Interval(milliseconds: half + beyond * 7919 % half)
    }
    booked[host] = time
    return max(time - now, .seconds(1))
  }
}
