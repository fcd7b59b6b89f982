/// How often each source may try something that costs a little before anybody is known: so many at
/// once, and then one after the other. In memory, on each server by itself.
public struct SourceAllowance: Sendable {
  private let burst: Int64
  private let pause: Interval
  private let most: Int
  /// When a source that tries no more will have its whole burst again.
  private var full: [String: Timestamp] = [:]

  /// - Parameters:
  ///   - burst: tries at once.
  ///   - pause: from one try to the next, afterwards.
  ///   - most: sources that are remembered.
  public init(burst: Int64, pause: Interval, most: Int = Limits.rememberedSources) {
    self.burst = burst
    self.pause = pause
    self.most = most
  }

  /// - Returns: how long the source must wait; nil where it may go ahead.
  public mutating func take(_ source: String, at now: Timestamp) -> Interval? {
    let whole = Interval(milliseconds: pause.milliseconds * burst)
    // One that the clock has been set back for would wait for longer than its burst.
    let used = min(max((full[source] ?? now) - now, .seconds(0)), whole)
    let next = Interval(milliseconds: used.milliseconds + pause.milliseconds)
    guard next <= whole else {
      return Interval(milliseconds: next.milliseconds - whole.milliseconds)
    }
    if full.count >= most { makeRoom(now) }
    full[source] = now + next
    return nil
  }

  /// Those that have their burst again need no memory. Where there are too many others, all start anew:
  /// so many sources are a flood that no source's share stops.
  private mutating func makeRoom(_ now: Timestamp) {
    full = full.filter { $0.value > now }
    if full.count >= most { full = [:] }
  }
}
