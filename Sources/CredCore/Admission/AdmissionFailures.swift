/// Why a call was not made, or not again.
extension UpstreamFailure {
  /// A call that was not made because the upstream endpoint is unavailable.
  ///
  /// - Parameters:
  ///   - failure: the last failure of the upstream endpoint.
  ///   - isOwn: whether a call of the same user failed so.
  ///   - callersIn: the time until a call with a waiting client is tried.
  static func unavailable(
    _ failure: UpstreamFailure, isOwn: Bool = false, since: WallTime, retryAt: WallTime,
    callersIn: Duration
  ) -> Self {
    let (what, failureClass): (String, FailureClass) =
      if case .throttled = failure.failureClass {
        ("throttled", .throttled(retryAfter: callersIn))
      } else {
        ("offline", .transient(retryAfter: callersIn))
      }
    let times = "\(what) since \(since.iso8601), retrying at \(retryAt.iso8601): "
    var unavailable = Self(
      upstream: failure.upstream, failureClass: failureClass, code: failure.code,
      message: "\(times)\(isOwn ? failure.message : failure.summary)",
      summary: "\(times)\(failure.summary)", severity: .expected)
    unavailable.isWithheld = true
    if case .transient = failureClass { unavailable.isOutage = true }
    unavailable.reason = failure.reason
    // The URL in the detail may name another user.
    if isOwn { unavailable.detail = failure.detail }
    return unavailable
  }

  /// A call that was not made because too many wait before it.
  static func queueFull(_ upstream: Upstream) -> Self {
    var full = Self(upstream, FailureTable.queueFull(of: upstream), retryAfter: .seconds(5))
    full.isWithheld = true
    return full
  }

  /// A check that was not made because its time was over.
  public static func notAsked(_ upstream: Upstream) -> Self {
    var notAsked = Self(upstream, FailureTable.notAsked)
    notAsked.isWithheld = true
    return notAsked
  }

  /// A retry that was not made because too many retries fail.
  static func retriesUsedUp(_ upstream: Upstream, _ pause: Duration) -> Self {
    var usedUp = Self(upstream, FailureTable.retriesUsedUp, retryAfter: pause)
    usedUp.isWithheld = true
    return usedUp
  }
}
