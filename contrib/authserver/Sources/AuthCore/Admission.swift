/// What one server does with callbacks that need a call of the quota. It decides which callbacks go
/// ahead, which wait, and when refused callbacks come back. Time and slices of the shared bucket
/// are parameters.
///
/// Hosts take turns. So a host with a hundred users holds up no host that asks for one user.
public struct Admission<Waiter: Hashable & Sendable>: Sendable {
  private struct Waiting {
    let waiter: Waiter
    let since: Timestamp
  }

  /// What becomes of a callback.
  public enum Entry: Sendable, Equatable {
    case goesAhead
    case waits
    /// The queue was full. Another callback made room, and is told when to come back.
    case waitsInPlace(of: Refused)
    case refused(retryAfter: Int)
  }

  /// A callback that waits no longer, and the seconds after which it comes back.
  public struct Refused: Sendable, Equatable {
    public let waiter: Waiter
    public let retryAfter: Int
  }

  private let rate: Int
  /// What is left of the last slice. The server gives it up after a second, because the bucket has
  /// filled again by then.
  private var calls = 0
  private var taken = Timestamp(milliseconds: 0)
  /// Hosts with waiting callbacks, in the order of their turns.
  private var turns: [String] = []
  private var next = 0
  /// Of each host, the earliest first.
  private var waiting: [String: [Waiting]] = [:]
  /// Those that wait.
  public private(set) var count = 0
  /// No host has more than this many.
  private var longest = 0
  private var returns = ReturnTimes()

  /// - Parameter rate: calls a second, of all servers together.
  public init(rate: Int) { self.rate = rate }

  /// What to take out of the bucket at once.
  public var slice: Int { SharedBucket.slice(rate: rate) }

  /// Until the bucket has something again: the time of one call, or a moment if that is shorter.
  public var interval: Interval { Interval(milliseconds: Int64(max(25, min(250, 1000 / rate)))) }

  /// A host may have its share of the queue. If the queue is full, a host with more callbacks makes
  /// room for a host with fewer.
  public mutating func enter(_ waiter: Waiter, host: String, at now: Timestamp) -> Entry {
    if count == 0, calls > 0, now - taken < .seconds(1) {
      calls -= 1
      return .goesAhead
    }
    let mine = waiting[host]?.count ?? 0
    let hosts = turns.count + (mine == 0 ? 1 : 0)
    guard mine < max(4, Limits.waitingCallbacks / hosts) else {
      return .refused(retryAfter: retryAfter(host, now))
    }
    var gone: Refused?
    if count >= Limits.waitingCallbacks {
      gone = removeLatest(besides: mine, now)
      guard gone != nil else { return .refused(retryAfter: retryAfter(host, now)) }
    }
    if mine == 0 { turns.append(host) }
    waiting[host, default: []].append(Waiting(waiter: waiter, since: now))
    count += 1
    longest = max(longest, mine + 1)
    return gone.map { .waitsInPlace(of: $0) } ?? .waits
  }

  /// Nil if no host has many more than this host: no callback is sent away for a small difference.
  private mutating func removeLatest(besides mine: Int, _ now: Timestamp) -> Refused? {
    guard longest > mine + 8, let most = waiting.max(by: { $0.value.count < $1.value.count }) else {
      return nil
    }
    longest = most.value.count
    guard longest > mine + 8, let latest = most.value.last else { return nil }
    remove(at: longest - 1, of: most.key)
    return Refused(waiter: latest.waiter, retryAfter: retryAfter(most.key, now))
  }

  /// A slice was taken out of the bucket.
  ///
  /// - Returns: the callbacks that go ahead.
  public mutating func add(_ slice: Int, at now: Timestamp) -> [Waiter] {
    calls = slice
    taken = now
    var ahead: [Waiter] = []
    while calls > 0, !turns.isEmpty {
      if next >= turns.count { next = 0 }
      let host = turns[next]
      guard let first = waiting[host]?.first else { break }
      remove(at: 0, of: host)
      // The host's turn is over, unless it has gone with its last callback.
      if waiting[host] != nil { next += 1 }
      calls -= 1
      ahead.append(first.waiter)
    }
    return ahead
  }

  /// Removes the callbacks that have waited for as long as a callback may.
  public mutating func removeLate(at now: Timestamp) -> [Refused] {
    var late: [(host: String, waiting: Waiting)] = []
    for host in turns {
      while let first = waiting[host]?.first, now - first.since > Limits.quotaWait {
        remove(at: 0, of: host)
        late.append((host, first))
      }
    }
    return late.sorted { $0.waiting.since < $1.waiting.since }.map {
      Refused(waiter: $0.waiting.waiter, retryAfter: retryAfter($0.host, now))
    }
  }

  /// Removes all callbacks: there is no bucket for the moment.
  public mutating func removeAll() -> [Waiter] {
    let all = waiting.values.flatMap { $0.map(\.waiter) }
    turns = []
    waiting = [:]
    count = 0
    return all
  }

  private mutating func remove(at index: Int, of host: String) {
    waiting[host]?.remove(at: index)
    count -= 1
    guard waiting[host]?.isEmpty ?? true else { return }
    waiting[host] = nil
    guard let turn = turns.firstIndex(of: host) else { return }
    turns.remove(at: turn)
    if turn < next { next -= 1 }
  }

  private mutating func retryAfter(_ host: String, _ now: Timestamp) -> Int {
    returns.book(host: host, rate: rate, at: now).retryAfter
  }
}
