/// How often each source may try something that costs a little before anybody is known. It may try
/// so many times at once, and then one time after the other. Each server counts alone, in memory.
public struct SourceAllowance: Sendable {
  private let burst: Int64
  private let pause: Interval
  private let most: Int
  /// When a source that stops trying will have its whole burst again.
  private var full: [String: Timestamp] = [:]

  /// - Parameters:
  ///   - burst: tries at once.
  ///   - pause: the time between two tries, after the burst.
  ///   - most: sources that are remembered.
  public init(burst: Int64, pause: Interval, most: Int = Limits.rememberedSources) {
    self.burst = burst
    self.pause = pause
    self.most = most
  }

  /// - Returns: how long the source must wait; nil if it may go ahead.
  public mutating func take(_ source: String, at now: Timestamp) -> Interval? {
    let whole = Interval(milliseconds: pause.milliseconds * burst)
    // If the clock has been set back, the source would wait for longer than its burst.
    let used = min(max((full[source] ?? now) - now, .seconds(0)), whole)
    let next = Interval(milliseconds: used.milliseconds + pause.milliseconds)
    guard next <= whole else {
      return Interval(milliseconds: next.milliseconds - whole.milliseconds)
    }
    if full.count >= most { makeRoom(now) }
    full[source] = now + next
    return nil
  }

  /// A source that has its burst again needs no memory. If there are too many other sources, all of
  /// them start anew: so many sources are a flood, and no source's share stops a flood.
  private mutating func makeRoom(_ now: Timestamp) {
    full = full.filter { $0.value > now }
    if full.count >= most { full = [:] }
  }
}
