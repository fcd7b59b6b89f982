import CredCore

/// Users by uid or name, from the host's user database. It may ask a slow network directory, so
/// users are looked up in the background and kept for a minute.
final class UserDirectory {
  /// How long an answer is valid, and so also a withdrawn membership.
  static let keptFor: Duration = .seconds(60)
  /// A group that is missing counts until a look-up at least this much later misses it too: a module
  /// of the database that restarts leaves groups out, and no error says so.
  static let missingFor: Duration = .seconds(5)
  /// From this age a name is looked up again; the old answer is used meanwhile.
  static let renewedAfter: Duration = .seconds(45)
  /// A database that fails is asked again after this time, until ``timeout``.
  static let retryPause: Duration = .milliseconds(250)
  static let failureKeptFor: Duration = .seconds(5)
  /// A database that takes longer counts as unavailable; the last known name is used.
  static let timeout: Duration = .seconds(2)
  /// Look-ups under way and waiting: one for each client.
  static let lookupsHeld = Limits.Client.connections

  private struct Entry {
    var answer: UserAnswer
    var since: Instant
    /// When the last look-up began that succeeded, and the last one of all.
    var confirmed: Instant
    var asked: Instant
    var lifetime = UserDirectory.keptFor

    /// Nil where the database has to be asked.
    func answer(since: Instant?) -> UserAnswer? {
      guard let since, since > confirmed, answer != .unavailable else { return answer }
      return since <= asked ? .unavailable : nil
    }
  }

  /// A group that the database listed for a user.
  private struct Listing {
    /// The first look-up since then that did not list it; nil while it is listed.
    var missingSince: Instant?
    /// A look-up later than that missed it too.
    var isWithdrawn = false
  }

  /// The groups that were listed for a person.
  private struct Listings {
    var owner: SessionOwner
    var groups: [UInt32: Listing] = [:]

    /// The former owner's groups give the next one no right, not for a moment; nor do they count
    /// for processes that have them from the kernel still.
    mutating func passOn(to next: SessionOwner, _ now: Instant) {
      owner = next
      groups = groups.mapValues { _ in Listing(missingSince: now - UserDirectory.missingFor) }
    }
  }

  private struct Waiting {
    /// Whether a kept answer is not enough.
    let mustConfirm: Bool
    let then: () -> Void
  }

  /// A look-up under way, with the clients that wait for it.
  private struct LookUp {
    let began: Instant
    var waiting: [Waiting]
    /// Set while it waits to be tried again.
    var retry: (any Timer)?

    var deadline: Instant { began + UserDirectory.timeout }
  }

  private let clock: any Clock
  private let background: any Background
  private let queries: any HostQueries
  /// The number of kept names; one for each user of the host.
  private let entriesKept: Int
  private var entries: [UserQuery: Entry] = [:]
  private var lookups: [UserQuery: LookUp] = [:]
  /// Look-ups that missed their deadline and still run: no second thread joins them.
  private var overdue: Set<UserQuery> = []
  /// Called when a uid turns out to have another owner than was answered last.
  var ownerChanged: ((_ uid: UInt32) -> Void)?
  /// Called when there is room for another look-up.
  var lookUpEnded: () -> Void = {}
  /// Every group that was ever listed for a uid, and for whom.
  private var listed: [UInt32: Listings] = [:]

  init(
    clock: any Clock, background: any Background, queries: any HostQueries,
    entriesKept: Int = 100_000
  ) {
    self.entriesKept = entriesKept
    self.clock = clock
    self.background = background
    self.queries = queries
  }

  /// The present answer; nil if `then` will be called when the look-up ends.
  ///
  /// - Parameter since: the database must have given the answer to a look-up that began at this time or
  ///   later; nil where a kept answer is enough.
  func answer(
    to query: UserQuery, now: Instant, since: Instant? = nil, then: @escaping () -> Void
  ) -> UserAnswer? {
    if let entry = entries[query], let answer = entry.answer(since: since) {
      let age = now - entry.since
      let limit = entry.answer == .unavailable ? Self.failureKeptFor : entry.lifetime
      if age < limit {
        if age >= Self.renewedAfter, lookups[query] == nil { lookUp(query, now, []) }
        return answer
      }
    }
    let waiting = Waiting(mustConfirm: since != nil, then: then)
    if lookups[query] != nil {
      lookups[query]?.waiting.append(waiting)
      return nil
    }
    if lookUp(query, now, [waiting]) { return nil }
    guard since == nil else { return .unavailable }
    // While a database hangs, the known users stay valid, however long. The answer's validity is
    // extended: otherwise a decision based on it would be made again and again.
    entries[query]?.since = now
    return entries[query]?.answer ?? knownWithGroups(query) ?? .unavailable
  }

  /// The last known answer, however old.
  func known(_ query: UserQuery) -> UserAnswer? { entries[query]?.answer }

  /// Who a uid is by what was said with its groups, for a query without groups that has no answer.
  private func knownWithGroups(_ query: UserQuery) -> UserAnswer? {
    guard !query.withGroups else { return nil }
    var other = query
    other.withGroups = true
    return entries[other]?.answer == .unavailable ? nil : entries[other]?.answer
  }

  /// The groups that the database listed for a uid once and does not list any more, also if nobody
  /// has the uid now.
  func withdrawn(from uid: UInt32) -> Set<UInt32> {
    Set((listed[uid]?.groups ?? [:]).filter(\.value.isWithdrawn).keys)
  }

  /// How long the known answer is valid.
  func freshUntil(_ query: UserQuery) -> Instant? {
    entries[query].map { $0.since + $0.lifetime }
  }

  @discardableResult
  private func lookUp(_ query: UserQuery, _ now: Instant, _ waiting: [Waiting]) -> Bool {
    guard !overdue.contains(query), lookups.count < Self.lookupsHeld else { return false }
    let lookup = LookUp(began: now, waiting: waiting)
    lookups[query] = lookup
    run(query, until: lookup.deadline)
    return true
  }

  private func run(_ query: UserQuery, until deadline: Instant) {
    background.run(.users, deadline: deadline) { [queries] in
      queries.user(query)
    } completion: { [weak self] outcome in
      self?.finish(query, outcome)
    }
  }

  /// A database that restarts fails for a moment. It is asked again for those to whom a kept answer is
  /// not enough, or if there is none. The others go on.
  private func retry(_ query: UserQuery, _ now: Instant) -> Bool {
    guard let lookup = lookups[query], now + Self.retryPause < lookup.deadline else { return false }
    let isKnown = entries[query].map { $0.answer != .unavailable } ?? false
    guard isKnown else { return tryAgain(query, lookup, now) }
    let waiting = lookup.waiting.filter(\.mustConfirm)
    guard !waiting.isEmpty else { return false }
    lookups[query]?.waiting = waiting
    record(.unavailable, for: query, asked: lookup.began, now)
    for waiting in lookup.waiting where !waiting.mustConfirm { waiting.then() }
    return tryAgain(query, lookup, now)
  }

  private func tryAgain(_ query: UserQuery, _ lookup: LookUp, _ now: Instant) -> Bool {
    let timer = clock.makeTimer { [unowned self] in
      lookups[query]?.retry = nil
      run(query, until: lookup.deadline)
    }
    lookups[query]?.retry = timer
    timer.arm(at: now + Self.retryPause)
    return true
  }

  private func finish(_ query: UserQuery, _ outcome: BackgroundOutcome<UserAnswer>) {
    let answer: UserAnswer
    switch outcome {
    case .finished(let found):
      overdue.remove(query)
      if found == .unavailable, retry(query, clock.now) { return }
      answer = found
    case .overdue(let isRunning):
      if isRunning { overdue.insert(query) }
      answer = .unavailable
    }
    // One that was overdue may have read the database long ago.
    let asked = lookups[query]?.began ?? Instant(nanoseconds: .min)
    record(answer, for: query, asked: asked, clock.now)
    for waiting in lookups.removeValue(forKey: query)?.waiting ?? [] { waiting.then() }
    lookUpEnded()
  }

  private func record(
    _ found: UserAnswer, for query: UserQuery, asked: Instant, _ now: Instant
  ) {
    let (answer, lifetime) = withWithdrawals(found, query, now)
    reportOwner(answer, query)
    dropOtherName(than: answer, query)
    makeRoom()
    // An unavailable database does not change known users.
    if answer == .unavailable, let known = entries[query], known.answer != .unavailable {
      entries[query] = Entry(
        answer: known.answer, since: now, confirmed: known.confirmed, asked: asked,
        lifetime: known.lifetime)
    } else if answer == .unavailable, let known = knownWithGroups(query) {
      entries[query] = Entry(
        answer: known, since: now, confirmed: Instant(nanoseconds: .min), asked: asked,
        lifetime: Self.failureKeptFor)
    } else {
      entries[query] = Entry(
        answer: answer, since: now, confirmed: asked, asked: asked, lifetime: lifetime)
    }
  }

  /// Names of people are kept where the table is full: a user may have many uids without one.
  private func makeRoom() {
    guard entries.count >= entriesKept else { return }
    entries = entries.filter { _, entry in
      if case .user(let user) = entry.answer { !SyntheticName.isOne(user.name) } else { false }
    }
    if entries.count >= entriesKept { entries.removeAll() }
  }

  /// Look-ups under way and waiting.
  var lookUpsUnderWay: Int { lookups.count }

  /// A look-up that missed its deadline lets the former answer count for another minute. What it
  /// finds afterwards ends that minute.
  private func reportOwner(_ answer: UserAnswer, _ query: UserQuery) {
    guard case .uid(let uid) = query.key, answer != .unavailable,
      let known = entries[query]?.answer, known != .unavailable,
      SessionOwner(name: known.name) != SessionOwner(name: answer.name)
    else { return }
    ownerChanged?(uid)
  }

  /// A uid has two queries, with groups and without. If one brings another name, the other one forgets the
  /// former name, and what was answered by it is decided about anew.
  private func dropOtherName(than answer: UserAnswer, _ query: UserQuery) {
    guard answer != .unavailable else { return }
    var other = query
    other.withGroups.toggle()
    guard let known = entries[other]?.answer, known != .unavailable,
      SessionOwner(name: known.name) != SessionOwner(name: answer.name)
    else { return }
    entries[other] = nil
    if case .uid(let number) = query.key { ownerChanged?(number) }
  }

  /// The answer with the groups that count, and how long it is valid.
  private func withWithdrawals(
    _ answer: UserAnswer, _ query: UserQuery, _ now: Instant
  ) -> (UserAnswer, Duration) {
    guard query.withGroups else { return (answer, Self.keptFor) }
    let doubted: Set<UInt32>
    var answer = answer
    switch (answer, query.key) {
    case (.user(var user), _):
      doubted = list(user.groups, of: user.uid, SessionOwner(name: user.name), now)
      user.withdrawn = withdrawn(from: user.uid)
      user.groups += doubted.sorted()
      answer = .user(user)
    case (.nobody, .uid(let uid)) where listed[uid] != nil:
      // A removed user is in no group: groups that a process of the uid still has become withdrawn.
      doubted = list([], of: uid, nil, now)
    default: return (answer, Self.keptFor)
    }
    // With the second look-up, a withdrawal takes a minute all the same.
    return (answer, doubted.isEmpty ? Self.keptFor - Self.missingFor : Self.missingFor)
  }

  /// A withdrawn group stays withdrawn, because processes still have it from the kernel.
  private func makeRoomForListing() {
    listed = listed.filter { $0.value.groups.values.contains(where: \.isWithdrawn) }
    if listed.count >= entriesKept { listed.removeAll() }
  }

  /// Remembers the groups that the database lists for a uid.
  ///
  /// - Parameter owner: whose groups they are; nil if nobody has the uid any more.
  /// - Returns: groups that it listed before and that count still.
  private func list(
    _ groups: [UInt32], of uid: UInt32, _ owner: SessionOwner?, _ now: Instant
  ) -> Set<UInt32> {
    if listed.count >= entriesKept, listed[uid] == nil { makeRoomForListing() }
    guard var listings = listed[uid] ?? owner.map({ Listings(owner: $0) }) else { return [] }
    if let owner, listings.owner != owner { listings.passOn(to: owner, now) }
    for group in groups { listings.groups[group] = Listing() }
    let absent = Set(listings.groups.keys).subtracting(groups)
    for group in absent {
      let since = listings.groups[group]?.missingSince ?? now
      listings.groups[group] = Listing(
        missingSince: since, isWithdrawn: now - since >= Self.missingFor)
    }
    listed[uid] = listings
    return absent.subtracting(withdrawn(from: uid))
  }
}
