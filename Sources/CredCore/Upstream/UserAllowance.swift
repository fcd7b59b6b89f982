/// Bounds the upstream calls that a user causes: by refreshes they insist on, sign-ins, and sessions
/// they clear. What their programs ask for in the ordinary way is never refused, but counts.
///
/// So many at once, then one after each pause; counted as time, as in ``TokenBucket``.
public struct UserAllowance: Sendable {
  /// Calls at once: a sign-in takes up to three, and a person tries again some times.
  static let burst = 60
  /// Two calls a second go on for ever: a twenty-fifth of a backend's standard rate.
  static let pause: Duration = .milliseconds(500)
  /// Users remembered; those who made no call for half a minute need not be.
  static let users = 4096

  /// When each user has made no call, as far as is counted.
  private var fullAt: [UInt32: Instant] = [:]

  public init() {}

  /// Nil if a user may cause a call now, else how long they have to wait.
  public func pause(of uid: UInt32, now: Instant) -> Duration? {
    guard let full = fullAt[uid] else { return nil }
    let next = full - Self.pause * (Self.burst - 1)
    return next > now ? next - now : nil
  }

  /// A call that somebody of this user waits for begins.
  public mutating func spent(by uid: UInt32, now: Instant) {
    if fullAt[uid] == nil, fullAt.count >= Self.users {
      fullAt = fullAt.filter { $0.value > now }
      if fullAt.count >= Self.users, let least = fullAt.min(by: { $0.value < $1.value }) {
        fullAt[least.key] = nil
      }
    }
    // What was not refused is not held against them for longer than the burst takes to come back.
    fullAt[uid] = min(max(fullAt[uid] ?? now, now) + Self.pause, now + Self.pause * Self.burst)
  }
}
