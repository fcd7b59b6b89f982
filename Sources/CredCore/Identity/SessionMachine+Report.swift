extension SessionMachine {
  /// Failed attempts since the last success.
  public var failures: Int { backOff.failures }

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
    case .resting:
      return (
        nextStart, nextStart == nil ? "when somebody asks, after a failure" : "after a failure"
      )
    case .idle:
      guard let credentials else { return (nil, "when somebody asks") }
      if isInUse { return (credentials.refreshAt, "half of the lifetime") }
      return (nil, "when somebody asks: not in use since the last refresh")
    }
  }
}
