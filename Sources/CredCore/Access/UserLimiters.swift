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

/// Lets the first of equal notices through and counts the rest, so that a loop somewhere on the
/// host cannot fill the journal.
public struct RepeatLimiter: Sendable {
  /// What makes two notices equal.
  public struct Subject: Hashable, Sendable {
    public let event: String
    public let profile: String
    public let uid: UInt32
    /// What else tells them apart: an error's code, a unit.
    public let detail: String

    public init(event: String, profile: String, uid: UInt32, detail: String = "") {
      self.event = event
      self.profile = profile
      self.uid = uid
      self.detail = detail
    }
  }

  private struct Window {
    let end: Instant
    var passed = 1
    var suppressed = 0
  }

  /// How long equal notices count together.
  static let window: Duration = .seconds(60)
  /// Subjects remembered; with more at once, the oldest windows are forgotten.
  static let subjects = 4096

  private let burst: Int
  private var windows: [Subject: Window] = [:]

  /// - Parameter burst: how many of a window pass.
  public init(burst: Int) {
    self.burst = burst
  }

  /// Whether to say it: nil if not, else how many like it were kept back since the last one.
  public mutating func admit(_ subject: Subject, now: Instant) -> Int? {
    guard let known = windows[subject], known.end > now else {
      let suppressed = windows[subject]?.suppressed ?? 0
      makeRoom(now)
      windows[subject] = Window(end: now + Self.window)
      return suppressed
    }
    if known.passed < burst {
      windows[subject]?.passed += 1
      return 0
    }
    windows[subject]?.suppressed += 1
    return nil
  }

  private mutating func makeRoom(_ now: Instant) {
    guard windows.count >= Self.subjects else { return }
    windows = windows.filter { $0.value.end > now }
    // A flood of different subjects: what is forgotten may be said once more.
    if windows.count >= Self.subjects { windows.removeAll() }
  }
}
