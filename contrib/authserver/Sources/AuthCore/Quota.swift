/// The bucket of all servers of one database: so many calls a second, and at most a second's worth
/// at once. It is one row; a server takes out a slice, so that a call costs no query.
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

/// Callbacks of one server that wait for a call of the quota: hosts take turns, so that one with a
/// hundred users holds up nobody who asks for one.
public struct FairQueue<Waiter: Hashable & Sendable>: Sendable {
  /// Hosts with waiting callbacks, in the order of their turns.
  private var turns: [String] = []
  private var next = 0
  private var waiting: [String: [Waiter]] = [:]
  public private(set) var count = 0
  /// No host has more than this many.
  private var longest = 0

  public init() {}

  /// What becomes of one that wants to wait.
  public enum Entry: Sendable, Equatable {
    case waits
    /// The queue was full: the latest of the host that has most goes.
    case waitsInPlace(of: Waiter)
    case refused
  }

  /// A host may have its share of the queue; where it is full, one that has more makes room for one
  /// that has less.
  public mutating func enter(_ waiter: Waiter, host: String) -> Entry {
    let mine = waiting[host]?.count ?? 0
    let hosts = turns.count + (mine == 0 ? 1 : 0)
    guard mine < max(4, Limits.waitingCallbacks / hosts) else { return .refused }
    var gone: Waiter?
    if count >= Limits.waitingCallbacks {
      gone = removeLatest(besides: mine)
      guard gone != nil else { return .refused }
    }
    if mine == 0 { turns.append(host) }
    waiting[host, default: []].append(waiter)
    count += 1
    longest = max(longest, mine + 1)
    return gone.map { .waitsInPlace(of: $0) } ?? .waits
  }

  /// Nil where no host has many more than this: who waits is not sent away for a small difference.
  private mutating func removeLatest(besides mine: Int) -> Waiter? {
    guard longest > mine + 8, let most = waiting.max(by: { $0.value.count < $1.value.count }) else {
      return nil
    }
    longest = most.value.count
    guard longest > mine + 8, let latest = most.value.last else { return nil }
    remove(latest, host: most.key)
    return latest
  }

  /// The next one, the earliest of the host whose turn it is.
  public mutating func leave() -> Waiter? {
    guard !turns.isEmpty else { return nil }
    if next >= turns.count { next = 0 }
    let host = turns[next]
    guard let first = waiting[host]?.removeFirst() else { return nil }
    count -= 1
    if waiting[host]?.isEmpty ?? true { removeTurn(at: next) } else { next += 1 }
    return first
  }

  /// One that waits no longer.
  public mutating func remove(_ waiter: Waiter, host: String) {
    guard let index = waiting[host]?.firstIndex(of: waiter) else { return }
    waiting[host]?.remove(at: index)
    count -= 1
    if waiting[host]?.isEmpty ?? true, let turn = turns.firstIndex(of: host) {
      removeTurn(at: turn)
    }
  }

  private mutating func removeTurn(at index: Int) {
    waiting[turns[index]] = nil
    turns.remove(at: index)
    if index < next { next -= 1 }
  }
}

/// When a callback that found no call of the quota comes back: each refusal books the next free
/// moment of its host's share, so that a fleet comes back one after the other, at the rate of the
/// quota, and a host that asks for much makes nobody else wait.
public struct ReturnTimes: Sendable {
  /// The last moment that each host has booked.
  private var booked: [String: Timestamp] = [:]
  private var swept: Timestamp?
  private var beyond: Int64 = 0

  public init() {}

  /// - Parameter rate: calls a second.
  public mutating func book(host: String, rate: Int, at now: Timestamp) -> Interval {
    if swept.map({ now - $0 > .seconds(1) }) ?? true {
      booked = booked.filter { $0.value > now }
      swept = now
    }
    let hosts = Int64(booked.count + (booked[host] == nil ? 1 : 0))
    let step = Interval(milliseconds: max(1, 1000 * hosts / Int64(max(1, rate))))
    let time = max(booked[host] ?? now, now) + step
    guard time - now <= Limits.longestRetry else {
      // There is no free moment so early: these are spread over the later half, in no order.
      beyond += 1
      let half = Limits.longestRetry.milliseconds / 2
      return Interval(milliseconds: half + beyond * 7919 % half)
    }
    booked[host] = time
    return max(time - now, .seconds(1))
  }
}
