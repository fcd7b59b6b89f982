import CredCore

/// Users by uid or name, from the host's user database. The database may ask a slow network
/// directory, so users are looked up in the background and kept for a minute.
final class UserDirectory {
  /// How long an answer is valid; so a withdrawn membership may count for this long.
  static let keptFor: Duration = .seconds(60)
  /// A missing group still counts until a look-up at least this much later misses it too. The
  /// reason: a module of the database that restarts leaves out groups without an error.
  static let missingFor: Duration = .seconds(5)
  /// From this age a name is looked up again; the old answer is used meanwhile.
  static let renewedAfter: Duration = .seconds(45)
  /// If the database fails, it is asked again after this time, until ``timeout``.
  static let retryPause: Duration = .milliseconds(250)
  static let failureKeptFor: Duration = .seconds(5)
  /// If the database takes longer, it counts as unavailable; the last known name is used.
  static let timeout: Duration = .seconds(2)
  /// Look-ups under way and waiting: one for each client.
  static let lookupsHeld = Limits.Client.connections

  private struct Entry {
    var answer: UserAnswer
    var since: Instant
    /// When the last successful look-up began, and when the last look-up of all began.
    var confirmed: Instant
    var asked: Instant
    var lifetime = UserDirectory.keptFor

    /// Nil if the database must be asked.
    func answer(since: Instant?) -> UserAnswer? {
      guard let since, since > confirmed, answer != .unavailable else { return answer }
      return since <= asked ? .unavailable : nil
    }
  }

  /// A group that the database listed for a user.
  private struct Listing {
    /// The first look-up that did not list the group; nil while it is listed.
    var missingSince: Instant?
    /// Whether a later look-up missed the group too.
    var isWithdrawn = false
  }

  /// The groups that were listed for a person.
  private struct Listings {
    var owner: SessionOwner
    var groups: [UInt32: Listing] = [:]

    /// The former owner's groups never give the next owner a right. They also do not count for
    /// processes that still have them from the kernel.
    mutating func passOn(to next: SessionOwner, _ now: Instant) {
      owner = next
      groups = groups.mapValues { _ in Listing(missingSince: now - UserDirectory.missingFor) }
    }
  }

  private struct Waiting {
    /// Whether the database must be asked although an answer is kept.
    let mustConfirm: Bool
    let then: () -> Void
  }

  /// A look-up under way, with the clients that wait for it.
  private struct LookUp {
    let began: Instant
    var waiting: [Waiting]
    /// Set while the look-up waits to be tried again.
    var retry: (any Timer)?

    var deadline: Instant { began + UserDirectory.timeout }
  }

  private let clock: any Clock
  private let background: any Background
  private let queries: any HostQueries
  /// The most names that are kept: one for each user of the host.
  private let entriesKept: Int
  private var entries: [UserQuery: Entry] = [:]
  private var lookups: [UserQuery: LookUp] = [:]
  /// Look-ups that missed their deadline and still run: no second thread starts the same one.
  private var overdue: Set<UserQuery> = []
  /// Called when a uid has another owner than in the last answer.
  var ownerChanged: ((_ uid: UInt32) -> Void)?
  /// Called when there is room for another look-up.
  var lookUpEnded: () -> Void = {}
  /// Every group that was ever listed for a uid, and the person for whom it was listed.
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
  /// - Parameter since: the answer must come from a look-up that began at this time or later; nil
  ///   if a kept answer is enough.
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
    // While the database hangs, known users stay valid without a limit. The validity of the answer
    // is extended, because otherwise a decision based on it would be made again and again.
    entries[query]?.since = now
    return entries[query]?.answer ?? knownWithGroups(query) ?? .unavailable
  }

  /// The last known answer, however old.
  func known(_ query: UserQuery) -> UserAnswer? { entries[query]?.answer }

  /// The answer for a uid from a query with groups, if a query without groups has no answer.
  private func knownWithGroups(_ query: UserQuery) -> UserAnswer? {
    guard !query.withGroups else { return nil }
    var other = query
    other.withGroups = true
    return entries[other]?.answer == .unavailable ? nil : entries[other]?.answer
  }

  /// The groups that the database once listed for a uid and does not list any more, even if the uid
  /// has no user now.
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

  /// A database that restarts fails for a moment. It is asked again for clients that need a new
  /// answer, or if no answer is kept. The other clients go on.
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
    // A look-up that was overdue may have read the database long ago.
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

  /// If the table is full, uids without a name go first: one user may have many of them.
  private func makeRoom() {
    guard entries.count >= entriesKept else { return }
    entries = entries.filter { _, entry in
      if case .user(let user) = entry.answer { !SyntheticName.isOne(user.name) } else { false }
    }
    if entries.count >= entriesKept { entries.removeAll() }
  }

  /// Look-ups under way and waiting.
  var lookUpsUnderWay: Int { lookups.count }

  /// If a look-up missed its deadline, the former answer counts for another minute. The result that
  /// comes late ends that minute.
  private func reportOwner(_ answer: UserAnswer, _ query: UserQuery) {
    guard case .uid(let uid) = query.key, answer != .unavailable,
      let known = entries[query]?.answer, known != .unavailable,
      SessionOwner(name: known.name) != SessionOwner(name: answer.name)
    else { return }
    ownerChanged?(uid)
  }

  /// A uid has two queries, with groups and without. If one brings another name, the other one
  /// forgets the former name. Decisions that were based on that name are made anew.
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

  /// The answer with the groups that count, and how long the answer is valid.
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
    // The second look-up is included: a withdrawal still takes no more than a minute.
    return (answer, doubted.isEmpty ? Self.keptFor - Self.missingFor : Self.missingFor)
  }

  /// A withdrawn group stays withdrawn, because processes still have it from the kernel.
  private func makeRoomForListing() {
    listed = listed.filter { $0.value.groups.values.contains(where: \.isWithdrawn) }
    if listed.count >= entriesKept { listed.removeAll() }
  }

  /// Remembers the groups that the database lists for a uid.
  ///
  /// - Parameter owner: the person to whom the groups belong; nil if the uid has no user any more.
  /// - Returns: groups that the database listed before and that still count.
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
