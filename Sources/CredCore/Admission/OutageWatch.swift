/// Notices when an upstream endpoint stops working and when it works again, for the log.
/// ``CircuitBreaker`` makes the decisions.
public struct OutageWatch: Sendable {
  /// The changes that the operator is told, each once.
  public enum Change: Sendable, Equatable {
    /// - Parameters:
    ///   - since: the first failure.
    ///   - isOfOneUser: whether only calls of one user failed.
    case began(UpstreamFailure, since: Instant, isOfOneUser: Bool)
    case ended(after: Duration)
  }

  /// Failures without an answer in between; nil while the upstream endpoint works.
  private struct Row: Sendable {
    let since: Instant
    var count = 0
    let user: UnixUser?
    var isOfOneUser: Bool
    var isAnnounced = false
  }

  private var row: Row?

  public init() {}

  /// Takes the end of a call.
  public mutating func ended(
    _ failure: UpstreamFailure?, of user: UnixUser?, _ now: Instant
  ) -> Change? {
    guard let failure else { return answered(now) }
    switch failure.failureClass {
    case .transient, .throttled: break
    // The call may not have been sent.
    case .permanentConfiguration: return nil
    default: return answered(now)
    }
    guard failure.evidence != .none, !failure.isWithheld else { return nil }
    var row = row ?? Row(since: now, user: user, isOfOneUser: user != nil)
    row.count += 1
    if user != row.user { row.isOfOneUser = false }
    defer { self.row = row }
    guard !row.isAnnounced, row.count >= CircuitBreaker.tolerance else { return nil }
    row.isAnnounced = true
    return .began(failure, since: row.since, isOfOneUser: row.isOfOneUser)
  }

  private mutating func answered(_ now: Instant) -> Change? {
    defer { row = nil }
    guard let row, row.isAnnounced else { return nil }
    return .ended(after: now - row.since)
  }
}
