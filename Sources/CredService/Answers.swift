import CredCore

/// `get` and `token`: answers requests for a session's credentials and tokens, at once or later.
final class Answers {
  private let clients: Clients
  private let sessions: SessionTable
  private let admittance: Admittance
  private let grants: Grants
  private let signIns: SignIns
  private let checks: Checks
  private let derived: DerivedSessions
  private let limits: UserLimits
  private let journal: Journal

  init(
    clients: Clients, sessions: SessionTable, admittance: Admittance, grants: Grants,
    signIns: SignIns, checks: Checks, derived: DerivedSessions, limits: UserLimits,
    journal: Journal
  ) {
    self.clients = clients
    self.sessions = sessions
    self.admittance = admittance
    self.grants = grants
    self.signIns = signIns
    self.checks = checks
    self.derived = derived
    self.limits = limits
    self.journal = journal
  }

  // MARK: Requests

  func get(_ get: GetRequest, _ session: Session, _ turn: Turn) {
    let (client, now) = (turn.client, turn.now)
    if let error = refusalOfVending(session, turn) { return turn.refuse(error) }
    if get.isPlain, now < session.quietUntil, session.reply != nil {
      if session.usedCredentials != session.credentialsNumber { sessions.markUsed(session, now) }
      if turn.request.id == nil { remember(session, turn) }
      if client.auditedCredentials != session.credentialsNumber {
        journal.credentialsGiven(session, to: turn.requester, now)
      }
      return clients.giveCredentials(of: session, turn)
    }
    if let error = session.profile.refusalOfCredentials { return turn.refuse(error) }
    if get.refresh || get.minTTL.map({ !session.lasts($0, now) }) ?? false,
      let error = limits.refusalOfCall(by: session.key.uid, at: turn.client.user.allowance)
    {
      return turn.refuse(error)
    }
    var waiter = Waiter(
      id: client.id, want: .credentials, minimumLife: get.minTTL, mustRefresh: get.refresh,
      arrived: now, wait: client.http.map { max(.zero, $0.until - now) } ?? get.wait)
    waiter.sparesSource = turn.door.cap != nil
    grants.ask(waiter, in: session, turn)
  }

  func token(_ token: TokenRequest, _ session: Session, _ turn: Turn) {
    if token.refresh,
      let error = limits.refusalOfCall(by: session.key.uid, at: turn.client.user.allowance)
    {
      return turn.refuse(error)
    }
    let kind: TokenKind
    do throws(ProtocolError) {
      kind = try session.profile.tokenKind(
        token.kind, holdsToken: session.machine.state.method == .developerToken)
    } catch {
      return turn.refuse(error)
    }
    grants.ask(
      Waiter(
        id: turn.client.id, want: kind.want, minimumLife: token.minTTL,
        mustRefresh: token.refresh, arrived: turn.now, wait: token.wait),
      in: session, turn)
  }

  func release(_ session: Session, _ turn: Turn) {
    let before = session.machine.waiterCount
    sessions.handle(.released, session, turn.now)
    let released = before - session.machine.waiterCount + derived.release(from: session)
    turn.give(.released(profile: session.key.profile, waiters: released))
  }

  /// The next equal request takes the hot path.
  private func remember(_ session: Session, _ turn: Turn) {
    let client = turn.client
    if let http = client.http {
      guard let request = http.request, !request.closes else { return }
      http.answered = (request, session, client.decision.until)
      return
    }
    let cached = CachedAnswer(
      line: turn.line, session: session, purpose: turn.request.purpose,
      until: client.decision.until)
    client.cachedAnswer = cached
    if client.decision.isOfUser { client.user.cachedAnswer = cached }
  }

  // MARK: Clients that wait

  func giveCredentials(of session: Session, to waiter: UInt64) {
    if grants.askAnew(waiter, in: session) { return }
    guard let turn = clients.endWait(waiter, in: session) else { return }
    if checks.give(session, turn) { return }
    if let error = refusalOfVending(session, turn) { return turn.refuse(error) }
    guard session.reply != nil else { return turn.refuse(.nothingHeld) }
    // The user may have signed in while the client waited.
    if case .get(let get) = turn.request.operation, get.user != nil,
      let error = admittance.impersonationRefusal(session, turn.requester)
    {
      return turn.refuse(error)
    }
    journal.credentialsGiven(session, to: turn.requester, turn.now)
    clients.giveCredentials(of: session, turn)
  }

  func giveToken(of session: Session, to waiter: UInt64) {
    if grants.askAnew(waiter, in: session) { return }
    guard let turn = clients.endWait(waiter, in: session) else { return }
    if checks.give(session, turn) { return }
    if case .token(let token) = turn.request.operation {
      do throws(ProtocolError) {
        let kind = try session.profile.tokenKind(token.kind, holdsToken: true)
        if kind != .developer { return giveProviderToken(kind, of: session, turn) }
      } catch {
        return turn.refuse(error)
      }
    }
    guard let held = session.machine.token, let identity = session.machine.identityID else {
      return turn.refuse(.nothingHeld)
    }
    journal.tokenGiven("developer", held.token.expiration, session, to: turn.requester)
    turn.give(.token(held.token, of: identity))
  }

  private func giveProviderToken(_ kind: TokenKind, of session: Session, _ turn: Turn) {
    let pool = session.machine.vendedSession
    guard let token = kind == .id ? pool?.idToken : pool?.accessToken else {
      return turn.refuse(.nothingHeld)
    }
    if kind == .access, let error = session.profile.refusal(ofVending: token) {
      return turn.refuse(error)
    }
    journal.tokenGiven(kind.rawValue, token.expiration, session, to: turn.requester)
    turn.give(.token(token, of: session.machine.identityID))
  }

  func giveState(of session: Session, to waiter: UInt64) {
    guard let waiting = clients[waiter]?.waiting, waiting.session === session else { return }
    signIns.waitEnded(waiting.request, in: session, .accepted)
    checks.signedIn(to: session.key)
    // The sign-in has happened, and must not be made again.
    let again = Operation.identity(profile: session.key.profile)
    if grants.askAnew(waiter, in: session, for: again) { return }
    clients.endWait(waiter, in: session)?.giveState(of: session)
  }

  func refuse(_ waiter: UInt64, _ error: ProtocolError, _ session: Session) {
    guard let turn = clients.endWait(waiter, in: session) else { return }
    signIns.waitEnded(turn.request, in: session, Guesses.Judgement(error))
    if checks.give(session, turn, error) { return }
    // Only the user may read the text of an upstream about that user.
    let isOwner = turn.client.peer.uid == session.key.uid
    if let told = refusalOfRoot(error, session, turn) { return turn.refuse(told) }
    if error.code == .signInRequired, session.followsSource, turn.client.http == nil {
      return turn.refuse(
        session.profile.signInRequired(
          isOwner ? error.message : error.forOthers.message,
          mayUseSource: isOwner && admittance.mayUse(session.profile.root, turn.client, turn.now)))
    }
    turn.refuse(isOwner ? error : error.forOthers)
  }

  /// The users who are named to root, at most.
  private static let mostUsers = 3
  /// The sessions that are looked at for them, at most: each refused request does that on the loop.
  private static let mostSessions = 1024

  /// The refusal of root, who is a user like the others, where others are signed in: who runs a program by
  /// sudo wants their session. Nobody else hears of other users. Nil for all other refusals.
  private func refusalOfRoot(
    _ error: ProtocolError, _ session: Session, _ turn: Turn
  ) -> ProtocolError? {
    guard error.code == .signInRequired, session.key.uid == 0, turn.client.peer.uid == 0,
      turn.client.http == nil, turn.door.cap == nil
    else { return nil }
    var users: [String] = []
    var left = Self.mostSessions
    sessions.order.walk(after: .before(1)) { other in
      left -= 1
      if other.key.profile == session.key.profile, case .signedIn = other.machine.state {
        users.append(other.userName ?? "\(other.key.uid)")
      }
      return users.count <= Self.mostUsers && left > 0
    }
    guard let first = users.first else { return nil }
    let more = users.count > Self.mostUsers ? " and others" : ""
    let who =
      users.count == 1
      ? "\(first) has" : users.prefix(Self.mostUsers).joined(separator: ", ") + "\(more) have"
    let source = session.profile.root.settings.name
    var told = error
    told.message =
      "root has no session in '\(session.key.profile)'; \(who) one: run it without sudo, or sign in as "
      + "root with 'credctl login \(source)'"
    if session.followsSource { told.reason = SignInReason.derivedProfile }
    return told
  }

  /// Why only derived profiles get the profile's credentials; nil if programs get them.
  private func refusalOfVending(_ session: Session, _ turn: Turn) -> ProtocolError? {
    let profile = session.profile
    guard !profile.settings.vendCredentials else { return nil }
    // The endpoint words every refusal in another way.
    guard turn.client.http == nil else { return profile.vendsNothing(instead: []) }
    return profile.vendsNothing(
      instead: admittance.derivedProfiles(
        of: profile, openTo: turn.client, behind: turn.door, turn.now))
  }
}

extension GetRequest {
  /// Whether any fresh credentials of the caller answer the request.
  var isPlain: Bool { minTTL == nil && !refresh && user == nil }
}

extension TokenKind {
  fileprivate var want: Waiter.Want {
    switch self {
    case .developer: .token
    case .id: .idToken
    case .access: .accessToken
    }
  }
}
