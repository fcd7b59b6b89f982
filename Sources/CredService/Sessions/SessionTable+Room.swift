import CredCore

/// How `max_sessions` is divided.
extension SessionTable {
  /// The account for which a session counts.
  func share(of session: Session) -> Account {
    isOfPerson(session) ? .user(session.key.uid) : accounts.range(of: session.key.uid)
  }

  /// The account for which the session's calls count. A session knows its owner before the uid is
  /// looked up.
  func account(of session: Session) -> Account {
    isOfPerson(session) ? .user(session.key.uid) : accounts.known(session.key.uid)
  }

  /// Whether the session's uid has a name that the administrator gave.
  private func isOfPerson(_ session: Session) -> Bool {
    session.owner.name.map { !SyntheticName.isOne($0) } ?? false
  }

  /// Whether nothing is lost if the session is made again later.
  private func holdsNothing(_ session: Session) -> Bool {
    let machine = session.machine
    return !machine.isBusy && !session.unattended.isBeingDecided && session.asking.checks.isEmpty
      && !isSigningIn(session.key) && session.unattendedRenewal == nil
      && !machine.snapshot.isWorthKeeping && !isSource(session)
  }

  /// Whether a busy session is derived from this session, and would end with it.
  func hasBusyDerived(_ session: Session) -> Bool {
    configuration.current.isSource(session.key.profile)
      && sessions(of: session.key.uid).contains {
        $0.source === session && ($0.machine.isBusy || hasBusyDerived($0))
      }
  }

  /// Whether another session is derived from this session.
  private func isSource(_ session: Session) -> Bool {
    configuration.current.isSource(session.key.profile)
      && sessions(of: session.key.uid).contains { $0.source === session }
  }

  /// Remembers that a session holds nothing, so that it ends first.
  func noteEmpty(_ session: Session) {
    guard !session.registration.isQueuedAsEmpty, !session.hasEnded, contains(session) else {
      return
    }
    if !session.machine.snapshot.isWorthKeeping { shares.queue(session) }
  }

  /// Ends sessions that hold nothing, until there is room for another one.
  ///
  /// - Returns: the refusal of the new session, if there is no room.
  func makeRoom(for session: Session) -> ProtocolError? {
    let (account, most) = (share(of: session), configuration.daemon.maxSessions)
    if let limit = limit(of: account), shares.count(of: account) >= limit,
      !dropEmpty(of: account, besides: session.source)
    {
      figures.hit(.sessions)
      return ProtocolError(
        .tooManyRequests,
        "uids without a name have as many sessions as max_sessions leaves them: \(limit) "
          + (account == .ownerless ? "together" : "for each owner in /etc/subuid"))
    }
    guard count >= most else { return nil }
    for account in shares.accountsWithEmpty
    where dropEmpty(of: account, besides: session.source) { return nil }
    figures.hit(.sessions)
    return ProtocolError(
      .tooManyRequests, "the daemon holds as many sessions as max_sessions allows")
  }

  /// The most sessions that an account may have; nil for a user with a name.
  private func limit(of account: Account) -> Int? {
    let part = max(1, configuration.daemon.maxSessions / Limits.Client.ownerlessPart)
    return switch account {
    case .user: nil
    case .range: min(part, max(configuration.profileNames.count, Limits.Session.ofOwner))
    case .ownerless: part
    }
  }

  /// - Parameter kept: the source of a new session, which holds nothing yet either.
  private func dropEmpty(of account: Account, besides kept: Session?) -> Bool {
    let empty = shares.nextEmpty(of: account) { $0 !== kept && holdsNothing($0) }
    guard let session = empty else { return false }
    remove(session)
    return true
  }

  /// Called when /etc/subuid has changed: uids without a person's name may count for other
  /// accounts.
  func divideAgain() {
    for session in byKey.values where !isOfPerson(session) {
      shares.remove(session)
      shares.insert(session, of: share(of: session))
      noteEmpty(session)
    }
  }
}
