/// What one server does with callbacks that need a call of the quota: which go ahead, which wait, and
/// when those come back that found none. Time and slices of the shared bucket are parameters.
public struct Admission<Waiter: Hashable & Sendable>: Sendable {
  private struct Waiting {
    let host: String
    let since: Timestamp
  }

  /// What becomes of a callback.
  public enum Entry: Sendable, Equatable {
    case goesAhead
    case waits
    /// The queue was full: another one, which is told when to come back, made room.
    case waitsInPlace(of: Refused)
    case refused(retryAfter: Int)
  }

  /// One that waits no longer, and the seconds after which it comes back.
  public struct Refused: Sendable, Equatable {
    public let waiter: Waiter
    public let retryAfter: Int
  }

  private let rate: Int
  /// What is left of the last slice. It is given up after a second: the bucket has filled again by then.
  private var calls = 0
  private var taken = Timestamp(milliseconds: 0)
  private var queue = FairQueue<Waiter>()
  private var waiting: [Waiter: Waiting] = [:]
  private var returns = ReturnTimes()

  /// - Parameter rate: calls a second, of all servers together.
  public init(rate: Int) { self.rate = rate }

  public var count: Int { queue.count }

  /// What to take out of the bucket at once.
  public var slice: Int { SharedBucket.slice(rate: rate) }

  /// Until the bucket has something again: a call's time, or a moment where that is shorter.
  public var interval: Interval { Interval(milliseconds: Int64(max(25, min(250, 1000 / rate)))) }

  public mutating func enter(_ waiter: Waiter, host: String, at now: Timestamp) -> Entry {
    if queue.count == 0, calls > 0, now - taken < .seconds(1) {
      calls -= 1
      return .goesAhead
    }
    switch queue.enter(waiter, host: host) {
    case .refused: return .refused(retryAfter: retryAfter(host, now))
    case .waits:
      waiting[waiter] = Waiting(host: host, since: now)
      return .waits
    case .waitsInPlace(let other):
      waiting[waiter] = Waiting(host: host, since: now)
      let gone = waiting.removeValue(forKey: other)?.host ?? host
      return .waitsInPlace(of: Refused(waiter: other, retryAfter: retryAfter(gone, now)))
    }
  }

  /// A slice was taken out of the bucket.
  ///
  /// - Returns: those that go ahead.
  public mutating func add(_ slice: Int, at now: Timestamp) -> [Waiter] {
    calls = slice
    taken = now
    var ahead: [Waiter] = []
    while calls > 0, let waiter = queue.leave() {
      calls -= 1
      waiting[waiter] = nil
      ahead.append(waiter)
    }
    return ahead
  }

  /// Those that have waited for as long as one may.
  public mutating func removeLate(at now: Timestamp) -> [Refused] {
    let late = waiting.filter { now - $0.value.since > Limits.quotaWait }
      .sorted { $0.value.since < $1.value.since }
    return late.map { waiter, late in
      queue.remove(waiter, host: late.host)
      waiting[waiter] = nil
      return Refused(waiter: waiter, retryAfter: retryAfter(late.host, now))
    }
  }

  /// All that wait: there is no bucket for the moment.
  public mutating func removeAll() -> [Waiter] {
    let all = Array(waiting.keys)
    queue = FairQueue()
    waiting = [:]
    return all
  }

  private mutating func retryAfter(_ host: String, _ now: Timestamp) -> Int {
    returns.book(host: host, rate: rate, at: now).retryAfter
  }
}
