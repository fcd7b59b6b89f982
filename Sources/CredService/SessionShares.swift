import CredCore

/// The use that a request makes of a session.
enum SessionNeed {
  /// The answer alone: a session that is not there is not made.
  case answer
  /// To change what the session holds: one that is not there is made if something is kept for it.
  case change
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
    session.share = account
    counts[account, default: 0] += 1
  }

  mutating func remove(_ session: Session) {
    guard let account = session.share.take() else { return }
    let left = count(of: account) - 1
    counts[account] = left > 0 ? left : nil
    guard session.isQueuedAsEmpty else { return }
    session.isQueuedAsEmpty = false
    empty[account]?.removeAll { $0 === session }
    if empty[account]?.isEmpty ?? false { empty[account] = nil }
  }

  /// Takes a session that holds nothing now.
  mutating func queue(_ session: Session) {
    guard let account = session.share, !session.isQueuedAsEmpty else { return }
    session.isQueuedAsEmpty = true
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
        session.isQueuedAsEmpty = false
        return session
      }
      // One that only is busy may hold nothing in a moment.
      if session.machine.snapshot.isWorthKeeping {
        session.isQueuedAsEmpty = false
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

extension SessionService {
  /// In whose share limits for one user count: see ``Account/number``.
  func accountNumber(of uid: UInt32) -> UInt32 { accounts.known(uid).number }

  /// In whose share a session counts.
  func share(of session: Session) -> Account {
    session.owner.name == nil ? accounts.range(of: session.key.uid) : .user(session.key.uid)
  }

  func isInTable(_ session: Session) -> Bool { sessions[session.key] === session }

  /// Whether nothing is lost if the session is made again later.
  private func holdsNothing(_ session: Session) -> Bool {
    let (key, machine) = (session.key, session.machine)
    return !machine.isBusy && !session.isBeingDecided && session.checks.isEmpty
      && signIns[key] == nil && !passwordsUnderWay.contains(key)
      && session.unattendedRenewal == nil && !machine.snapshot.isWorthKeeping
  }

  /// Remembers that a session holds nothing, so that it goes first.
  func noteEmpty(_ session: Session) {
    guard !session.isQueuedAsEmpty, !session.hasEnded, isInTable(session) else { return }
    if !session.machine.snapshot.isWorthKeeping { shares.queue(session) }
  }

  /// Ends sessions that hold nothing, until there is room for another one.
  ///
  /// - Returns: the refusal of the other one, if there is none.
  func makeRoom(for session: Session) -> ProtocolError? {
    let (account, most) = (share(of: session), configuration.daemon.maxSessions)
    if let limit = limit(of: account), shares.count(of: account) >= limit, !dropEmpty(of: account) {
      counters.hit(.sessions)
      return ProtocolError(
        .tooManyRequests,
        "uids without a name have as many sessions as max_sessions leaves them: \(limit) "
          + (account == .ownerless ? "together" : "for each owner in /etc/subuid"))
    }
    guard sessions.count >= most else { return nil }
    for account in shares.accountsWithEmpty where dropEmpty(of: account) { return nil }
    counters.hit(.sessions)
    return ProtocolError(
      .tooManyRequests, "the daemon holds as many sessions as max_sessions allows")
  }

  /// The most sessions of an account; nil for a user with a name.
  private func limit(of account: Account) -> Int? {
    let part = max(1, configuration.daemon.maxSessions / Limits.Client.ownerlessPart)
    return switch account {
    case .user: nil
    case .range: min(part, max(configuration.profiles.count, Limits.Session.ofOwner))
    case .ownerless: part
    }
  }

  private func dropEmpty(of account: Account) -> Bool {
    guard let session = shares.nextEmpty(of: account, where: holdsNothing) else { return false }
    remove(session)
    return true
  }

  /// /etc/subuid says something else: sessions of uids without a name count for others.
  func divideAgain() {
    for session in sessions.values where session.owner.name == nil {
      shares.remove(session)
      shares.insert(session, of: share(of: session))
      noteEmpty(session)
    }
  }

  /// A sign-out is kept where the user would be signed in again without being asked.
  func needOfSignOut(from name: String, _ client: Client, global: Bool) -> SessionNeed {
    guard let profile = configuration.profiles[name], !global,
      !profile.plan.signsInUnattended, devices[client.peer.uid] == nil
    else { return .session }
    return .change
  }

  /// Whether a password of the account is checked for the profile at this moment.
  func isPasswordUnderWay(_ attempt: PasswordLimiter.Attempt) -> Bool {
    if passwordsUnderWay.contains(SessionKey(of: attempt)) { return true }
    // Of a user with a name each profile has one session.
    return passwordsUnderWay.contains {
      $0.profile == attempt.profile && accountNumber(of: $0.uid) == attempt.account
    }
  }

  func passwordAttempt(_ request: Request, in session: Session) -> PasswordLimiter.Attempt? {
    request.passwordAttempt(in: session, account: accountNumber(of: session.key.uid))
  }
}

/// Requests that wait in sessions, by account.
extension SessionService {
  /// Counts the waiting requests for the user's account, once that is known.
  func settleAccount(of user: ClientUser) {
    let account = accounts.known(user.uid)
    guard account != user.account else { return }
    countWaiting(-user.waitingSessions.count, in: user.account)
    user.account = account
    countWaiting(user.waitingSessions.count, in: account)
  }

  func countWaiting(_ difference: Int, in account: Account) {
    let count = waitingSessions[account, default: 0] + difference
    waitingSessions[account] = count > 0 ? count : nil
  }
}
