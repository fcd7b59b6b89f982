/// Stops calls to an upstream that does not answer, and finds out with single calls when it does.
struct CircuitBreaker: Sendable {
  /// Failures in a row before calls stop.
  static let tolerance = 5
  static let shortestPause: Duration = .seconds(1)
  /// A background refresh finds out within this time that the upstream is back.
  static let longestPause: Duration = .seconds(60)
  /// A caller in person is a reason to look earlier, though not sooner than this after a failure.
  static let pauseForCallers: Duration = .seconds(1)

  enum State: Sendable {
    /// Goes to `open` after failures in a row.
    case closed
    /// Goes to `probing` with the first call that is let through.
    case open(Outage)
    /// One call is under way. Goes to `closed` if it is answered, else back to `open`.
    case probing(Outage)
  }

  /// Failures without an answer in between.
  struct Outage: Sendable {
    /// When the first of them happened.
    let since: Instant
    var failure: UpstreamFailure
    var pause: Duration
    var retryAt: Instant
    /// The same for a caller in person.
    var callersFrom: Instant
  }

  /// What becomes of a call.
  enum Verdict: Sendable {
    case pass
    /// Pass, as the only one.
    case probe
    /// The outcome of a probe decides.
    case wait
    case refuse(Outage)
  }

  private(set) var state = State.closed
  /// Failures in a row while closed, the first one's time, and what the server asked for.
  private var failures = 0
  private var since = Instant(nanoseconds: 0)
  private var askedUntil = Instant(nanoseconds: .min)

  func verdict(isInPerson: Bool, _ now: Instant) -> Verdict {
    switch state {
    case .closed: .pass
    case .probing: .wait
    case .open(let outage):
      (isInPerson ? outage.callersFrom : outage.retryAt) <= now ? .probe : .refuse(outage)
    }
  }

  mutating func probeBegan() {
    guard case .open(let outage) = state else { return }
    state = .probing(outage)
  }

  /// A call ended. Whoever refuses one user has answered, and so is there.
  mutating func ended(_ failure: UpstreamFailure?, wasProbe: Bool, _ now: Instant) {
    guard let failure else { return close() }
    switch failure.failureClass {
    case .transient, .throttled: failed(failure, wasProbe: wasProbe, now)
    // It may not even have been sent.
    case .permanentConfiguration: learntNothing(wasProbe: wasProbe)
    default: close()
    }
  }

  /// A call ended in a way that tells nothing of others: the next one finds out.
  mutating func learntNothing(wasProbe: Bool) {
    if wasProbe, case .probing(let outage) = state { state = .open(outage) }
  }

  private mutating func close() {
    state = .closed
    failures = 0
    askedUntil = Instant(nanoseconds: .min)
  }

  private mutating func failed(_ failure: UpstreamFailure, wasProbe: Bool, _ now: Instant) {
    if let asked = failure.failureClass.retryAfter {
      askedUntil = max(askedUntil, now + min(asked, BackOff.longestAsked))
    }
    switch state {
    case .closed:
      if failures == 0 { since = now }
      failures += 1
      guard failures >= Self.tolerance else { return }
      state = .open(outage(since, failure, pause: Self.shortestPause, now))
    case .open(let known):
      // Begun before the others failed.
      state = .open(outage(known.since, failure, pause: known.pause, now))
    case .probing(let known):
      guard wasProbe else { return }
      let pause = min(known.pause * 2, Self.longestPause)
      state = .open(outage(known.since, failure, pause: pause, now))
    }
  }

  private func outage(
    _ since: Instant, _ failure: UpstreamFailure, pause: Duration, _ now: Instant
  ) -> Outage {
    Outage(
      since: since, failure: failure, pause: pause, retryAt: max(now + pause, askedUntil),
      // What the server asked for binds callers too.
      callersFrom: max(now + Self.pauseForCallers, askedUntil))
  }
}
