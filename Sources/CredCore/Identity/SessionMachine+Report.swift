extension SessionMachine {
  /// Failed attempts since the last success.
  public var failures: Int { backOff.failures }

  /// The number of the call whose outcome is awaited; any other is stale.
  public var awaitedCall: UInt64? {
    if case .fetching(let attempt) = work { attempt.call } else { nil }
  }

  /// Whether somebody waits for that call in person.
  public var isAwaited: Bool { !waiters.isEmpty || signInProgress?.id != nil }

  /// Callers that wait right now.
  public var waiterCount: Int { waiters.count }

  /// When the next refresh begins, and why then, in words for a person. Without a time it takes
  /// an event first.
  public var nextRefresh: (at: Instant?, reason: String) {
    switch work {
    case .fetching:
      return (nil, "under way")
    case _ where !canRefresh:
      return (nil, "after a sign-in")
    case .resting(let rest):
      let reason = Self.reason(of: rest.failure)
      return (nextStart, nextStart == nil ? "when somebody asks, \(reason)" : reason)
    case .idle:
      guard let credentials else { return (nil, "when somebody asks") }
      if isInUse { return (credentials.refreshAt, "half of the lifetime") }
      return (nil, "when somebody asks: not in use since the last refresh")
    }
  }

  private static func reason(of failure: UpstreamFailure) -> String {
    switch (failure.isWithheld, failure.failureClass) {
    case (true, .throttled): "after it was held back by a rate limit"
    case (true, _): "while \(failure.upstream) is away: its circuit is open"
    case (false, .throttled): "after \(failure.upstream) throttled it"
    default: "after a failure"
    }
  }
}
