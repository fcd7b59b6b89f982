/// Stops calls to an unavailable upstream, and tries single calls until it answers again.
///
/// Only failures that are evidence about the upstream endpoint count: see
/// ``UpstreamFailure/Evidence``. If all failures may be caused by one user, they do not count in
/// the breaker of all users: a backend that fails for one user stays open to the others. That user
/// has a separate breaker.
struct CircuitBreaker: Sendable {
  /// Failures in a row before calls stop.
  static let tolerance = 5
  static let shortestPause: Duration = .seconds(1)
  /// A background refresh notices within this time that the upstream answers again.
  static let longestPause: Duration = .seconds(60)
  /// A call with a waiting client is tried earlier, but not before this time after a failure.
  static let pauseForCallers: Duration = .seconds(1)

  enum State: Sendable {
    /// Goes to `open` after failures in a row.
    case closed
    /// Goes to `probing` with the first call that is tried.
    case open(Outage)
    /// One call is under way. Goes to `closed` if the upstream answers, else back to `open`.
    case probing(Outage)
  }

  /// Failures without an answer in between.
  struct Outage: Sendable {
    /// The time of the first failure.
    let since: Instant
    var failure: UpstreamFailure
    var pause: Duration
    var retryAt: Instant
    /// The time from which a call with a waiting client is tried.
    var callersFrom: Instant
  }

  /// The decision about a call.
  enum Verdict: Sendable {
    case pass
    /// Pass, as the only call.
    case probe
    /// Wait for the outcome of a probe.
    case wait
    case refuse(Outage)
  }

  /// Whether this is the breaker of all users.
  let isShared: Bool
  private(set) var state = State.closed
  /// Failures in a row while closed. `since` is the time of the first, `askedUntil` the end of the
  /// longest `Retry-After`.
  private var failures = 0
  /// The account of the last failure; nil if it is unknown. A person with many uids counts as one
  /// account. So does a uid that has two names while its owner changes.
  private var lastAccount: Account?
  private var since = Instant(nanoseconds: 0)
  private var askedUntil = Instant(nanoseconds: .min)

  init(isShared: Bool = true) {
    self.isShared = isShared
  }

  /// Whether the breaker has no evidence about the upstream endpoint.
  var isIdle: Bool {
    if case .closed = state { failures == 0 } else { false }
  }

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

  /// Takes the end of a call. If the upstream refuses one user, it has answered, so it is
  /// available.
  ///
  /// - Parameter account: the account of the call's user; nil if that is unknown.
  mutating func ended(
    _ failure: UpstreamFailure?, of account: Account? = nil, wasProbe: Bool, _ now: Instant
  ) {
    guard let failure else { return close() }
    switch failure.failureClass {
    case .transient, .throttled:
      guard failure.evidence != .none else { return inconclusive(wasProbe: wasProbe) }
      failed(failure, of: account, wasProbe: wasProbe, now)
    // The call may not have been sent.
    case .permanentConfiguration: inconclusive(wasProbe: wasProbe)
    default: close()
    }
  }

  /// Takes the end of a call that is not evidence. If the call was a probe, the next call is a
  /// probe again.
  mutating func inconclusive(wasProbe: Bool) {
    if wasProbe, case .probing(let outage) = state { state = .open(outage) }
  }

  private mutating func close() {
    state = .closed
    failures = 0
    lastAccount = nil
    askedUntil = Instant(nanoseconds: .min)
  }

  private mutating func failed(
    _ failure: UpstreamFailure, of account: Account?, wasProbe: Bool, _ now: Instant
  ) {
    if case .closed = state, failure.evidence == .likely, isOfOneAlone(account) { return }
    lastAccount = account
    if let asked = failure.failureClass.retryAfter {
      askedUntil = max(askedUntil, now + min(asked, Limits.Upstream.longestRetryAfter))
    }
    switch state {
    case .closed:
      if failures == 0 { since = now }
      failures += 1
      guard failures >= Self.tolerance else { return }
      state = .open(outage(since, failure, pause: Self.shortestPause, now))
    case .open(let known):
      // The call started before the outage.
      state = .open(outage(known.since, failure, pause: known.pause, now))
    case .probing(let known):
      guard wasProbe else { return }
      let pause = min(known.pause * 2, Self.longestPause)
      state = .open(outage(known.since, failure, pause: pause, now))
    }
  }

  /// Whether one person may have caused this failure and those before it. All uids without a known
  /// owner may belong to one person, who may also have a named account.
  private func isOfOneAlone(_ account: Account?) -> Bool {
    guard isShared, let account else { return false }
    return account == .ownerless || failures > 0 && account == lastAccount
  }

  private func outage(
    _ since: Instant, _ failure: UpstreamFailure, pause: Duration, _ now: Instant
  ) -> Outage {
    Outage(
      since: since, failure: failure, pause: pause, retryAt: max(now + pause, askedUntil),
      // Callers obey the server's `Retry-After` too.
      callersFrom: max(now + Self.pauseForCallers, askedUntil))
  }
}
