import CredCore

/// What a request needs a session for.
enum SessionNeed {
  /// The answer alone: a session that is not there is not made.
  case answer
  /// To change what the session holds: one that is not there is made if something is kept for it.
  case change
  /// To work with it: one that is not there is made.
  case session
}

/// How `max_sessions` is divided: who has how many sessions, and which of them hold nothing.
///
/// Accounts of uids without a name are limited. A user with a name has at most a session for each
/// profile.
struct SessionShares {
  private var counts: [Account: Int] = [:]
  /// Sessions that may hold nothing, the oldest first. Some of them hold something again.
  private var empty: [Account: ArraySlice<Session>] = [:]

  func count(of account: Account) -> Int { counts[account, default: 0] }

  mutating func insert(_ session: Session, of account: Account) {
    session.place.share = account
    counts[account, default: 0] += 1
  }

  mutating func remove(_ session: Session) {
    guard let account = session.place.share.take() else { return }
    let left = count(of: account) - 1
    counts[account] = left > 0 ? left : nil
    guard session.place.isQueuedAsEmpty else { return }
    session.place.isQueuedAsEmpty = false
    empty[account]?.removeAll { $0 === session }
    if empty[account]?.isEmpty ?? false { empty[account] = nil }
  }

  /// Takes a session that holds nothing now.
  mutating func queue(_ session: Session) {
    guard let account = session.place.share, !session.place.isQueuedAsEmpty else { return }
    session.place.isQueuedAsEmpty = true
    empty[account, default: []].append(session)
  }

  /// Whose sessions go first: those of nobody, of owners of ranges, then of users.
  var accountsWithEmpty: [Account] {
    empty.keys.sorted { ($0.order, $0.number) < ($1.order, $1.number) }
  }

  /// The oldest session of an account that holds nothing; nil if each holds something.
  mutating func nextEmpty(of account: Account, where holdsNothing: (Session) -> Bool) -> Session? {
    guard var queue = empty[account] else { return nil }
    defer { empty[account] = queue.isEmpty ? nil : queue }
    for _ in 0..<queue.count {
      guard let session = queue.popFirst() else { break }
      if holdsNothing(session) {
        session.place.isQueuedAsEmpty = false
        return session
      }
      // One that only is busy may hold nothing in a moment.
      if session.machine.snapshot.isWorthKeeping {
        session.place.isQueuedAsEmpty = false
      } else {
        queue.append(session)
      }
    }
    return nil
  }
}

extension Account {
  fileprivate var order: Int {
    switch self {
    case .ownerless: 0
    case .range: 1
    case .user: 2
    }
  }
}
