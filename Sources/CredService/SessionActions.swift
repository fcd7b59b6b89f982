import CredCore

/// Carries out the actions that the machines of sessions ask for.
final class SessionActions: SessionActing {
  private let clients: Clients
  private let watches: Watches
  private let tokens: Tokens
  private let forgetting: Forgetting
  private let kept: KeptSessions
  private let signIns: SignIns
  private let accountActions: AccountActions
  private let answers: Answers
  private let calls: SessionCalls
  private let derived: DerivedSessions
  private let journal: Journal
  private let figures: Figures
  /// Called when sessions have changed.
  var changed: () -> Void = {}

  init(_ base: ServiceBase, _ owners: ServiceOwners) {
    clients = base.clients
    journal = base.journal
    figures = base.figures
    watches = owners.watches
    tokens = owners.tokens
    forgetting = owners.forgetting
    kept = owners.kept
    signIns = owners.signIns
    accountActions = owners.accountActions
    answers = owners.answers
    calls = owners.calls
    derived = owners.derived
  }

  func perform(_ action: SessionMachine.Action, _ session: Session, _ cause: Cause) {
    switch action {
    case .call(let id, let call): calls.start(call, id, session)
    // The session table does this itself.
    case .credentialsChanged: break
    case .giveCredentials(let waiter):
      if derived.take(waiter, from: session) { return }
      answers.giveCredentials(of: session, to: waiter)
    case .giveToken(let waiter): answers.giveToken(of: session, to: waiter)
    case .lendToken(let waiter, let token, let isNew):
      accountActions.tokenLent(token, isNew: isNew, of: session, to: waiter)
    case .abandon(let dropped):
      tokens.revoke(dropped, of: session, former: cause.formerProfile)
    case .giveState(let waiter): answers.giveState(of: session, to: waiter)
    case .signInEnded(let number, let error): signIns.recordEnd(of: number, session, error)
    case .refuse(let waiter, let error):
      if derived.take(waiter, from: session, error) { return }
      answers.refuse(waiter, error, session)
    case .announce(let announcement):
      watches.announce(announcement, session)
      figures.count(announcement, session)
      journal.announce(announcement, session, cause) {
        cause.client ?? clients.first(waitingIn: session)
      }
    }
  }

  func settle(_ session: Session) {
    calls.update(of: session)
    derived.follow(session)
  }

  func used(_ session: Session, _ now: Instant) { derived.markUsed(session, now) }

  func added(_ session: Session) { forgetting.arm() }

  func ending(_ session: Session) {
    derived.end(from: session)
    calls.cancel(of: session)
    signIns.sessionEnding(session)
  }

  func renewUnattended(_ session: Session, _ now: Instant) { kept.renew(session, now) }

  func isSigningIn(_ key: SessionKey) -> Bool { signIns.isSigningIn(key) }

  func sessionsChanged() { changed() }
}
