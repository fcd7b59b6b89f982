import CredCore

/// Users by uid or name, from the host's user database. It may ask a slow network directory, so
/// users are looked up in the background and kept for a minute.
final class UserDirectory {
  /// How long an answer is valid, and so also a withdrawn membership.
  static let keptFor: Duration = .seconds(60)
  /// From this age a name is looked up again; the old answer is used meanwhile.
  static let renewedAfter: Duration = .seconds(45)
  static let failureKeptFor: Duration = .seconds(5)
  /// A database that takes longer counts as unavailable; the last known name is used.
  static let timeout: Duration = .seconds(2)
  /// Look-ups under way and waiting: one for each client.
  static let lookupsHeld = Limits.Client.connections
  /// The number of kept names; one for each user of the host.
  static let entriesKept = 100_000

  private struct Entry {
    var answer: UserAnswer
    var since: Instant
  }

  private let clock: any Clock
  private let background: any Background
  private let queries: any HostQueries
  private var entries: [UserQuery: Entry] = [:]
  /// Look-ups under way, with the clients that wait for them.
  private var lookups: [UserQuery: [() -> Void]] = [:]
  /// Look-ups that missed their deadline and still run: no second thread joins them.
  private var overdue: Set<UserQuery> = []
  /// Every group that was ever listed for a uid.
  private var listed: [UInt32: Set<UInt32>] = [:]

  init(clock: any Clock, background: any Background, queries: any HostQueries) {
    self.clock = clock
    self.background = background
    self.queries = queries
  }

  /// The present answer; nil if `then` will be called when the look-up ends.
  func answer(to query: UserQuery, now: Instant, then: @escaping () -> Void) -> UserAnswer? {
    if let entry = entries[query] {
      let age = now - entry.since
      let limit = entry.answer == .unavailable ? Self.failureKeptFor : Self.keptFor
      if age < limit {
        if age >= Self.renewedAfter, lookups[query] == nil { lookUp(query, now, then: []) }
        return entry.answer
      }
    }
    if lookups[query] != nil {
      lookups[query]?.append(then)
      return nil
    }
    if lookUp(query, now, then: [then]) { return nil }
    // While a database hangs, the known users stay valid, however long. The answer's validity is
    // extended: otherwise a decision based on it would be made again and again.
    entries[query]?.since = now
    return entries[query]?.answer ?? .unavailable
  }

  /// The last known answer, however old.
  func known(_ query: UserQuery) -> UserAnswer? { entries[query]?.answer }

  /// How long the known answer is valid.
  func freshUntil(_ query: UserQuery) -> Instant? {
    entries[query].map { $0.since + Self.keptFor }
  }

  @discardableResult
  private func lookUp(_ query: UserQuery, _ now: Instant, then: [() -> Void]) -> Bool {
    guard !overdue.contains(query), lookups.count < Self.lookupsHeld else { return false }
    lookups[query] = then
    background.run(.users, deadline: now + Self.timeout) { [queries] in
      queries.user(query)
    } completion: { [weak self] outcome in
      self?.finish(query, outcome)
    }
    return true
  }

  private func finish(_ query: UserQuery, _ outcome: BackgroundOutcome<UserAnswer>) {
    let answer: UserAnswer
    switch outcome {
    case .finished(let found):
      overdue.remove(query)
      answer = found
    case .overdue(let isRunning):
      if isRunning { overdue.insert(query) }
      answer = .unavailable
    }
    record(answer, for: query, clock.now)
    for callback in lookups.removeValue(forKey: query) ?? [] { callback() }
  }

  private func record(_ found: UserAnswer, for query: UserQuery, _ now: Instant) {
    let answer = withWithdrawals(found, query)
    if entries.count >= Self.entriesKept { entries.removeAll() }
    // An unavailable database does not change known users.
    if answer == .unavailable, let known = entries[query], known.answer != .unavailable {
      entries[query] = Entry(answer: known.answer, since: now)
    } else {
      entries[query] = Entry(answer: answer, since: now)
    }
  }

  private func withWithdrawals(_ answer: UserAnswer, _ query: UserQuery) -> UserAnswer {
    guard query.withGroups, case .user(var user) = answer else { return answer }
    if listed.count >= Self.entriesKept, listed[user.uid] == nil { listed.removeAll() }
    let all = listed[user.uid, default: []].union(user.groups)
    listed[user.uid] = all
    user.withdrawn = all.subtracting(user.groups)
    return .user(user)
  }
}
