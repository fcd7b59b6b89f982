/// Slows down the guessing of passwords: after a few failures, a user has to wait before each further
/// attempt, longer each time.
///
/// Failures count for each uid, profile and user name; an accepted password ends that count. They
/// also count in all for the uid: this count has more free failures, and no success ends it, so that
/// a login of one's own between the guesses changes nothing.
public struct PasswordLimiter: Sendable {
  /// Whose password was tried, and by whom.
  public struct Attempt: Hashable, Sendable {
    public let uid: UInt32
    public let profile: String
    public let username: String

    public init(uid: UInt32, profile: String, username: String) {
      self.uid = uid
      self.profile = profile
      self.username = username
    }
  }

  /// From this failure on each attempt has to wait: people mistype passwords.
  static let freeFailures = 3
  /// The same for all user names and profiles of one uid.
  static let freeFailuresInAll = 10
  static let firstPause: Duration = .seconds(2)
  static let longestPause: Duration = .seconds(5 * 60)
  /// How long failures count after the end of the last pause.
  static let memory: Duration = .seconds(60 * 60)
  /// The most attempts, and the most uids, with a record. The record whose pause ends first makes
  /// room for another.
  static let records = 4096

  private struct Counts<Subject: Hashable & Sendable>: Sendable {
    private struct Record {
      var failures: Int
      var next: Instant
    }

    let free: Int
    private var records: [Subject: Record] = [:]

    init(free: Int) { self.free = free }

    func pause(_ subject: Subject, _ now: Instant) -> Duration? {
      guard let record = records[subject], record.next > now else { return nil }
      return record.next - now
    }

    mutating func failed(_ subject: Subject, _ now: Instant) {
      let recent = records[subject].flatMap {
        now - $0.next < PasswordLimiter.memory ? $0.failures : nil
      }
      let failures = (recent ?? 0) + 1
      let doublings = min(max(failures - free, 0), 16)
      let pause =
        failures < free
        ? Duration.zero
        : min(
          PasswordLimiter.longestPause, PasswordLimiter.firstPause * Double(1 << doublings))
      if records[subject] == nil, records.count >= PasswordLimiter.records,
        let oldest = records.min(by: { $0.value.next < $1.value.next })
      {
        records[oldest.key] = nil
      }
      records[subject] = Record(failures: failures, next: now + pause)
    }

    mutating func forget(_ subject: Subject) { records[subject] = nil }
  }

  private var attempts = Counts<Attempt>(free: freeFailures)
  private var users = Counts<UInt32>(free: freeFailuresInAll)

  public init() {}

  /// How long a user has to wait before an attempt; nil for now.
  public func pause(before attempt: Attempt, now: Instant) -> Duration? {
    let pauses = [attempts.pause(attempt, now), users.pause(attempt.uid, now)]
    return pauses.compactMap(\.self).max()
  }

  /// Counts a refused password.
  public mutating func failed(_ attempt: Attempt, now: Instant) {
    attempts.failed(attempt, now)
    users.failed(attempt.uid, now)
  }

  /// Forgets the failures with this user name after its password was accepted.
  public mutating func succeeded(_ attempt: Attempt) {
    attempts.forget(attempt)
  }
}

/// Limits the upstream calls that a user causes by forced refreshes, sign-ins and `clear`. Ordinary
/// requests count, but are never refused.
///
/// A burst is allowed, then one call after each pause; counted as time, as in ``TokenBucket``.
public struct CallAllowance: Sendable {
  /// Calls at once: a sign-in takes up to three, and people try again.
  static let burst = 60
  /// After the burst two calls a second: a twenty-fifth of a backend's default rate.
  static let pause: Duration = .milliseconds(500)
  /// The most users with a record. A user without calls for half a minute needs none.
  static let users = 4096

  /// When each user's burst is whole again.
  private var fullAt: [UInt32: Instant] = [:]

  public init() {}

  /// How long a user has to wait before causing a call; nil for now.
  public func pause(of uid: UInt32, now: Instant) -> Duration? {
    guard let full = fullAt[uid] else { return nil }
    let next = full - Self.pause * (Self.burst - 1)
    return next > now ? next - now : nil
  }

  /// Counts a call for which a client of this user waits.
  public mutating func spent(by uid: UInt32, now: Instant) {
    if fullAt[uid] == nil, fullAt.count >= Self.users {
      fullAt = fullAt.filter { $0.value > now }
      if fullAt.count >= Self.users, let least = fullAt.min(by: { $0.value < $1.value }) {
        fullAt[least.key] = nil
      }
    }
    // Calls that were not refused count no longer than a whole burst takes to come back.
    fullAt[uid] = min(max(fullAt[uid] ?? now, now) + Self.pause, now + Self.pause * Self.burst)
  }
}

/// Limits what may be asked about accounts before anybody is signed in: otherwise a program could try
/// names, or fill a backend with accounts.
public struct AccountLimiter: Sendable {
  /// At most so many in that time.
  struct Rate: Sendable {
    let count: Int
    let time: Duration
  }

  static let ofUser = Rate(count: 5, time: .seconds(10 * 60))
  static let ofName = Rate(count: 3, time: .seconds(60 * 60))
  static let ofBackend = Rate(count: 30, time: .seconds(60))
  /// The most users, and the most names, with a record. The one that was used first makes room.
  static let records = 4096

  private struct Name: Hashable {
    let uid: UInt32
    let username: String
  }

  private var users: [UInt32: [Instant]] = [:]
  private var names: [Name: [Instant]] = [:]
  private var backends: [String: [Instant]] = [:]
  private let ofName: Rate

  public init() { ofName = Self.ofName }

  private init(ofName: Rate) { self.ofName = ofName }

  /// For sign-ins that may make a pool send a code before anything was proved. People sign in more
  /// often than they make accounts.
  public static var ofCodes: AccountLimiter {
    AccountLimiter(ofName: Rate(count: 10, time: .seconds(60 * 60)))
  }

  /// How long the user has to wait; nil if the action may be done now, and is counted.
  public mutating func attempt(
    by uid: UInt32, username: String, at backend: String, now: Instant
  ) -> Duration? {
    let name = Name(uid: uid, username: username)
    let pauses = [
      Self.pause(users[uid], Self.ofUser, now), Self.pause(names[name], ofName, now),
      Self.pause(backends[backend], Self.ofBackend, now),
    ]
    if let pause = pauses.compactMap(\.self).max() { return pause }
    Self.count(uid, in: &users, Self.ofUser, now)
    Self.count(name, in: &names, ofName, now)
    Self.count(backend, in: &backends, Self.ofBackend, now)
    return nil
  }

  private static func pause(_ times: [Instant]?, _ rate: Rate, _ now: Instant) -> Duration? {
    guard let times, times.count >= rate.count else { return nil }
    let next = times[times.count - rate.count] + rate.time
    return next > now ? next - now : nil
  }

  private static func count<Subject: Hashable>(
    _ subject: Subject, in records: inout [Subject: [Instant]], _ rate: Rate, _ now: Instant
  ) {
    if records[subject] == nil, records.count >= Self.records,
      let oldest = records.min(by: { ($0.value.last ?? now) < ($1.value.last ?? now) })
    {
      records[oldest.key] = nil
    }
    records[subject, default: []].append(now)
    if records[subject, default: []].count > rate.count { records[subject]?.removeFirst() }
  }
}

/// Lets the first of equal notices pass and counts the rest, so that no program on the host can fill
/// the journal.
public struct NoticeLimiter: Sendable {
  /// What makes two notices equal.
  public struct Subject: Hashable, Sendable {
    public let event: String
    public let profile: String
    public let uid: UInt32
    /// Another distinction: an error's code, a unit.
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

  /// How long equal notices are counted together.
  static let window: Duration = .seconds(60)
  /// The most subjects at once.
  static let subjects = 4096

  private let burst: Int
  private var windows: [Subject: Window] = [:]

  /// - Parameter burst: how many notices of a window pass.
  public init(burst: Int) {
    self.burst = burst
  }

  /// Counts a notice.
  ///
  /// - Returns: nil if it is suppressed, else how many equal ones were suppressed since the last one.
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
    // Too many different subjects: after this a notice may pass that would have been suppressed.
    if windows.count >= Self.subjects { windows.removeAll() }
  }
}
