import CredCore

/// The use that a request has for a session.
enum SessionNeed {
  /// Only an answer: a missing session is not made.
  case answer
  /// To change the session's state: a missing session is made if something is stored for it.
  case change
  /// To work with the session: a missing session is made.
  case session
}

/// How `max_sessions` is divided: how many sessions each account has, and which of them hold
/// nothing.
///
/// Accounts of uids without a name are limited. A user with a name has at most a session for each
/// profile.
struct SessionShares {
  private var counts: [Account: Int] = [:]
  /// Sessions that may hold nothing, the oldest first. Some of them may hold something again.
  private var empty: [Account: ArraySlice<Session>] = [:]

  func count(of account: Account) -> Int { counts[account, default: 0] }

  mutating func insert(_ session: Session, of account: Account) {
    session.registration.share = account
    counts[account, default: 0] += 1
  }

  mutating func remove(_ session: Session) {
    guard let account = session.registration.share.take() else { return }
    let left = count(of: account) - 1
    counts[account] = left > 0 ? left : nil
    guard session.registration.isQueuedAsEmpty else { return }
    session.registration.isQueuedAsEmpty = false
    empty[account]?.removeAll { $0 === session }
    if empty[account]?.isEmpty ?? false { empty[account] = nil }
  }

  /// Queues a session that holds nothing now.
  mutating func queue(_ session: Session) {
    guard let account = session.registration.share, !session.registration.isQueuedAsEmpty else {
      return
    }
    session.registration.isQueuedAsEmpty = true
    empty[account, default: []].append(session)
  }

  /// The accounts that lose empty sessions first, in this order: uids without an owner, owners of
  /// ranges, users.
  var accountsWithEmpty: [Account] {
    empty.keys.sorted { ($0.order, $0.number) < ($1.order, $1.number) }
  }

  /// The oldest empty session of an account; nil if each session holds something.
  mutating func nextEmpty(of account: Account, where holdsNothing: (Session) -> Bool) -> Session? {
    guard var queue = empty[account] else { return nil }
    defer { empty[account] = queue.isEmpty ? nil : queue }
    for _ in 0..<queue.count {
      guard let session = queue.popFirst() else { break }
      if holdsNothing(session) {
        session.registration.isQueuedAsEmpty = false
        return session
      }
      // A session that is only busy may hold nothing in a moment.
      if session.machine.snapshot.isWorthKeeping {
        session.registration.isQueuedAsEmpty = false
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
