/// The pause after an attempt that failed.
public struct Rest: Sendable, Equatable {
  /// What went wrong.
  public let failure: UpstreamFailure
  /// When the next attempt is made, if the session is still in use.
  public let until: Instant
  /// From when on a caller in person starts one earlier.
  public let callersFrom: Instant

  init(_ failure: UpstreamFailure, now: Instant, pause: Duration) {
    self.failure = failure
    self.until = now + pause
    // What the server asked for binds callers too.
    let asked = failure.failureClass.retryAfter.map { min($0, pause) } ?? .zero
    self.callersFrom = now + max(min(pause, BackOff.longestForCallers), asked)
  }

  /// As it was before a restart.
  init(_ failure: UpstreamFailure, until: Instant, callersFrom: Instant) {
    self.failure = failure
    self.until = until
    self.callersFrom = callersFrom
  }
}
