/// Slows down guessing of passwords: after a few failures each further attempt of a user has to
/// wait, longer each time.
public struct SignInLimiter: Sendable {
  /// Mistyped passwords that cost nothing.
  static let freeFailures = 3
  static let firstPause: Duration = .seconds(2)
  static let longestPause: Duration = .seconds(5 * 60)
  /// Failures are forgotten so long after the pause they led to.
  static let memory: Duration = .seconds(60 * 60)
  /// Users remembered; the one whose pause ends first is forgotten for another.
  static let users = 4096

  private struct Record {
    var failures: Int
    var next: Instant
  }

  private var records: [UInt32: Record] = [:]

  public init() {}

  /// Nil if a user may try now, else how long they have to wait.
  public func attempt(by uid: UInt32, now: Instant) -> Duration? {
    guard let record = records[uid], record.next > now else { return nil }
    return record.next - now
  }

  /// A password was refused.
  public mutating func failed(_ uid: UInt32, now: Instant) {
    let recent = records[uid].flatMap { now - $0.next < Self.memory ? $0.failures : nil }
    let failures = (recent ?? 0) + 1
    let doublings = min(max(failures - Self.freeFailures - 1, 0), 16)
    let pause =
      failures <= Self.freeFailures
      ? Duration.zero : min(Self.longestPause, Self.firstPause * Double(1 << doublings))
    if records[uid] == nil, records.count >= Self.users,
      let oldest = records.min(by: { $0.value.next < $1.value.next })
    {
      records[oldest.key] = nil
    }
    records[uid] = Record(failures: failures, next: now + pause)
  }

  /// A password was accepted: all is forgiven.
  public mutating func succeeded(_ uid: UInt32) {
    records[uid] = nil
  }
}
