extension UpstreamFailure {
  /// A call that was not made, because those before it were not answered.
  ///
  /// - Parameters:
  ///   - failure: the last of them.
  ///   - callersIn: from when on a caller in person is a reason to try.
  static func away(
    _ failure: UpstreamFailure, since: WallTime, retryAt: WallTime, callersIn: Duration
  ) -> Self {
    let (what, failureClass): (String, FailureClass) =
      if case .throttled = failure.failureClass {
        ("throttled", .throttled(retryAfter: callersIn))
      } else {
        ("offline", .transient(retryAfter: callersIn))
      }
    var away = Self(
      upstream: failure.upstream, failureClass: failureClass, code: failure.code,
      message:
        "\(what) since \(since.iso8601), retrying at \(retryAt.iso8601): \(failure.message)",
      severity: .expected)
    away.isWithheld = true
    return away
  }

  /// A call that found too many before it.
  static func crowded(_ upstream: Upstream) -> Self {
    var crowded = Self(upstream, FailureTable.crowded, retryAfter: .seconds(5), said: nil)
    crowded.isWithheld = true
    return crowded
  }

  /// A retry too many, while most of them fail.
  static func retriesUsedUp(_ upstream: Upstream, _ pause: Duration) -> Self {
    var usedUp = Self(upstream, FailureTable.retriesUsedUp, retryAfter: pause, said: nil)
    usedUp.isWithheld = true
    return usedUp
  }
}
