/// Slows down the guessing of passwords: after a few failures, a user must wait before each further
/// attempt, longer each time.
///
/// Failures count for each ``Account``, profile and user name; an accepted password ends that count.
/// There is also one count for all failures of the account. It has more free failures, and no
/// success ends it, so that the guesser's own login between the guesses does not help.
///
/// Second factors also count for the user at the pool, over all uids: otherwise an attacker with
/// many uids could guess with each. Only refusals after a right password count there, so that an
/// attacker without the password cannot lock the user out.
public struct PasswordLimiter: Sendable {
  /// A uid, and the user name for which it tried a password.
  public struct Attempt: Hashable, Sendable {
    public let uid: UInt32
    /// The account for which the uid counts: ``Account/number``.
    public let account: UInt32
    public let profile: String
    public let username: String

    /// - Parameter account: nil for the uid's own account.
    public init(uid: UInt32, account: UInt32? = nil, profile: String, username: String) {
      self.uid = uid
      self.account = account ?? uid
      self.profile = profile
      self.username = username
    }

    /// The failures of all uids of an account count together.
    fileprivate var ofAccount: Self {
      Self(uid: account, account: account, profile: profile, username: username)
    }
  }

  /// A user of a pool. A second factor of the user was tried after a right password.
  public struct Factor: Hashable, Sendable {
    public let issuer: ProviderIssuer
    /// The immutable name, because aliases name the same user. It is compared as UTF-8, as the pool
    /// does it.
    private let username: [UInt8]

    public init(issuer: ProviderIssuer, username: String) {
      self.issuer = issuer
      self.username = Array(username.utf8)
    }
  }

  /// How long failures count after the end of the last pause.
  static let memory: Duration = .seconds(60 * 60)
  /// The most attempts, the most uids and the most second factors with a record. If there is no
  /// room for another, the record with the fewest failures is dropped, so that the records of
  /// attacked users stay.
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
          Limits.User.longestPause, Limits.User.firstPause * Double(1 << doublings))
      if records[subject] == nil { makeRoom(now) }
      records[subject] = Record(failures: failures, next: now + pause)
    }

    private mutating func makeRoom(_ now: Instant) {
      guard records.count >= PasswordLimiter.records else { return }
      records = records.filter { now - $0.value.next < PasswordLimiter.memory }
      guard records.count >= PasswordLimiter.records,
        let least = records.min(by: {
          ($0.value.failures, $0.value.next) < ($1.value.failures, $1.value.next)
        })
      else { return }
      records[least.key] = nil
    }

    mutating func forget(_ subject: Subject) { records[subject] = nil }

    var end: Instant? { records.values.map(\.next).max().map { $0 + PasswordLimiter.memory } }
  }

  private var attempts = Counts<Attempt>(free: Limits.User.freeFailures)
  private var users = Counts<UInt32>(free: Limits.User.freeFailuresInAll)
  private var factors = Counts<Factor>(free: Limits.User.freeFailuresOfFactor)

  public init() {}

  /// Until when failures count; nil if there is none.
  public var end: Instant? { [attempts.end, users.end, factors.end].compactMap(\.self).max() }

  /// How long a user must wait before an attempt; nil if there is no wait.
  public func pause(before attempt: Attempt, now: Instant) -> Duration? {
    let pauses = [attempts.pause(attempt.ofAccount, now), users.pause(attempt.account, now)]
    return pauses.compactMap(\.self).max()
  }

  /// Counts a refused password.
  public mutating func failed(_ attempt: Attempt, now: Instant) {
    attempts.failed(attempt.ofAccount, now)
    users.failed(attempt.account, now)
  }

  /// How long everybody must wait before trying this user's second factor; nil if there is no wait.
  public func pause(before factor: Factor, now: Instant) -> Duration? { factors.pause(factor, now) }

  /// Counts a second factor that was refused after a right password.
  public mutating func failed(_ factor: Factor, now: Instant) { factors.failed(factor, now) }

  /// Forgets the failures with this user name after the password was accepted.
  public mutating func succeeded(_ attempt: Attempt) {
    attempts.forget(attempt.ofAccount)
  }
}

/// Limits the upstream calls that a user causes by forced refreshes, sign-ins and `clear`. Ordinary
/// requests count, but are never refused.
///
/// A burst is allowed, then one call after each pause. The allowance is counted as time, as in
/// ``TokenBucket``.
public struct CallAllowance: Sendable {
  /// The most users with a record. A user without calls for half a minute needs none.
  static let users = 4096

  /// When each user may use the whole burst again.
  private var fullAt: [UInt32: Instant] = [:]

  public init() {}

  /// How long a user must wait before causing a call; nil if there is no wait.
  public func pause(of uid: UInt32, now: Instant) -> Duration? {
    guard let full = fullAt[uid] else { return nil }
    let next = full - Limits.User.callPause * (Limits.User.calls - 1)
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
    // Ordinary calls are never refused, so the debt never exceeds the time of a whole burst.
    fullAt[uid] = min(
      max(fullAt[uid] ?? now, now) + Limits.User.callPause,
      now + Limits.User.callPause * Limits.User.calls)
  }
}

/// Limits requests about accounts before a sign-in, and the messages that a pool sends for sign-ins
/// and for signed-in users. Otherwise a program could try names, fill a backend with accounts, or
/// cause messages that somebody must pay for.
public struct AccountLimiter: Sendable {
  /// The most users, and the most names, with a record. If there is no room for another, the record
  /// with the fewest attempts is dropped.
  static let records = 4096

  /// Codes of different purposes are different secrets: a new one of one purpose gives no further
  /// tries at the other.
  public enum Code: Hashable, Sendable {
    /// It confirms an account.
    case confirmation
    /// It sets a new password.
    case newPassword
  }

  private struct Name: Hashable {
    let uid: UInt32
    let username: String
    let code: Code?

    /// Most pools take a name in any case. Without this, each spelling would have a separate count.
    init(uid: UInt32, username: String, code: Code?) {
      self.uid = uid
      self.username = username.lowercased()
      self.code = code
    }
  }

  private var users: [UInt32: [Instant]] = [:]
  private var names: [Name: [Instant]] = [:]
  private var backends: [String: [Instant]] = [:]
  private let ofUser: Limits.Rate
  private let ofName: Limits.Rate
  /// Whether the limit of a backend stops only users who have contributed to its count.
  private let isShared: Bool

  public init() { self.init(ofName: Limits.Account.ofName, isShared: false) }

  private init(
    ofUser: Limits.Rate = Limits.Account.ofUser, ofName: Limits.Rate, isShared: Bool
  ) {
    self.ofUser = ofUser
    self.ofName = ofName
    self.isShared = isShared
  }

  /// A limiter for sign-ins that make a pool send a code. People sign in more often than they make
  /// accounts. The sign-ins of some users must not stop the sign-ins of others.
  public static var ofCodes: AccountLimiter {
    AccountLimiter(ofName: Limits.Account.codesOfName, isShared: true)
  }

  /// For codes that people type before a sign-in. A mistyped code must not keep people from having
  /// another code sent, nor the other way round.
  public static var ofAnswers: AccountLimiter {
    AccountLimiter(
      ofUser: Limits.Account.answersOfUser, ofName: Limits.Account.answersOfCode, isShared: true)
  }

  /// Until when actions count; nil if there is none.
  public var end: Instant? {
    [
      Self.end(of: users, ofUser), Self.end(of: names, ofName),
      Self.end(of: backends, Limits.Account.ofBackend),
    ]
    .compactMap(\.self).max()
  }

  private static func end<Subject>(
    of records: [Subject: [Instant]], _ rate: Limits.Rate
  ) -> Instant? {
    records.values.compactMap(\.last).max().map { $0 + rate.time }
  }

  /// How long the user has to wait; nil if the action may be done now, and is counted.
  ///
  /// - Parameters:
  ///   - code: the kind of code that is tried, if one is.
  ///   - backend: nil if the action does not count for a backend.
  public mutating func attempt(
    by uid: UInt32, username: String, for code: Code? = nil, at backend: String?, now: Instant
  ) -> Duration? {
    if let pause = pause(of: uid, username: username, for: code, at: backend, now: now) {
      return pause
    }
    count(by: uid, username: username, for: code, at: backend, now: now)
    return nil
  }

  /// How long the user must wait; nil if the action may be done now.
  public func pause(
    of uid: UInt32, username: String, for code: Code? = nil, at backend: String?, now: Instant
  ) -> Duration? {
    let waits = [
      Self.pause(users[uid], ofUser, now),
      Self.pause(names[Name(uid: uid, username: username, code: code)], ofName, now),
      backend.flatMap { pause(of: uid, at: $0, now) },
    ]
    return waits.compactMap(\.self).max()
  }

  private func pause(of uid: UInt32, at backend: String, _ now: Instant) -> Duration? {
    guard let pause = Self.pause(backends[backend], Limits.Account.ofBackend, now) else {
      return nil
    }
    return isShared ? Self.pause(users[uid], Limits.Account.share, now) : pause
  }

  /// Counts an action that was done, even if the user should have waited.
  public mutating func count(
    by uid: UInt32, username: String, for code: Code? = nil, at backend: String?, now: Instant
  ) {
    Self.count(uid, in: &users, ofUser, now)
    Self.count(Name(uid: uid, username: username, code: code), in: &names, ofName, now)
    if let backend { Self.count(backend, in: &backends, Limits.Account.ofBackend, now) }
  }

  /// Takes back what was counted for a name at a time: it came to nothing. It stays counted for the
  /// user and the backend, because a program could otherwise ask without end.
  public mutating func takeBack(
    by uid: UInt32, username: String, for code: Code? = nil, countedAt time: Instant
  ) {
    let name = Name(uid: uid, username: username, code: code)
    guard let index = names[name]?.lastIndex(of: time) else { return }
    names[name]?.remove(at: index)
    if names[name]?.isEmpty ?? false { names[name] = nil }
  }

  /// Forgets the tries of a name's code: from here on another code counts.
  public mutating func forgetTries(of username: String, _ code: Code, by uid: UInt32) {
    names[Name(uid: uid, username: username, code: code)] = nil
  }

  private static func pause(_ times: [Instant]?, _ rate: Limits.Rate, _ now: Instant) -> Duration? {
    guard let times, times.count >= rate.count else { return nil }
    let next = times[times.count - rate.count] + rate.time
    return next > now ? next - now : nil
  }

  private static func count<Subject: Hashable>(
    _ subject: Subject, in records: inout [Subject: [Instant]], _ rate: Limits.Rate, _ now: Instant
  ) {
    if records[subject] == nil, records.count >= Self.records { makeRoom(in: &records, rate, now) }
    records[subject, default: []].append(now)
    if records[subject, default: []].count > rate.count { records[subject]?.removeFirst() }
  }

  private static func makeRoom<Subject: Hashable>(
    in records: inout [Subject: [Instant]], _ rate: Limits.Rate, _ now: Instant
  ) {
    records = records.filter { now - ($0.value.last ?? now) < rate.time }
    guard records.count >= Self.records,
      let least = records.min(by: {
        ($0.value.count, $0.value.last ?? now) < ($1.value.count, $1.value.last ?? now)
      })
    else { return }
    records[least.key] = nil
  }
}

/// Lets the first of equal notices pass and counts the rest, so that no program on the host can fill
/// the journal.
public struct NoticeLimiter: Sendable {
  /// Two notices with the same subject are equal.
  public struct Subject: Hashable, Sendable {
    public let event: String
    public let profile: String
    public let uid: UInt32
    /// A further distinction: an error's code, or a unit.
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

  /// The time in which equal notices are counted together.
  static let window: Duration = .seconds(60)
  /// The most subjects at once.
  static let subjects = 4096

  private let burst: Int
  private var windows: [Subject: Window] = [:]

  /// - Parameter burst: how many equal notices pass in one window.
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
    // There are too many subjects. After this, a notice may pass that would have been suppressed.
    if windows.count >= Self.subjects { windows.removeAll() }
  }
}
