/// A request that could not be answered at once.
public struct Waiter: Sendable, Equatable {
  /// What is waited for.
  public enum Want: Sendable, Equatable {
    case credentials
    case token
  }

  /// Given by the daemon; unique in its lifetime.
  public let id: UInt64
  public let want: Want
  /// The caller has no use for what lasts shorter.
  public let minimumLife: Duration?
  /// Only what is received from now on will do.
  public let mustRefresh: Bool
  public let arrived: Instant
  /// When the caller is answered one way or the other.
  public let deadline: Instant

  public init(
    id: UInt64, want: Want, minimumLife: Duration? = nil, mustRefresh: Bool = false,
    arrived: Instant, wait: Duration
  ) {
    self.id = id
    self.want = want
    self.minimumLife = minimumLife
    self.mustRefresh = mustRefresh
    self.arrived = arrived
    self.deadline = arrived + wait
  }

  /// Whether the caller wants something better than what is good for others.
  var isDemanding: Bool { mustRefresh || minimumLife != nil }

  /// Until when a caller waits for something better than what is merely still valid.
  var patience: Instant { min(arrived + RefreshPolicy.grace, deadline) }
}
