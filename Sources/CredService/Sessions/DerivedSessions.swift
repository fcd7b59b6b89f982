import CredCore

/// Ties each derived session to its source: tells it of the source's changes, and brings the source's answer
/// when it asks for credentials.
///
/// A question and its answer each take an iteration of the loop, so that no session is changed while another one's
/// decisions are carried out.
final class DerivedSessions {
  private struct Question {
    let asker: Session
    let call: CallID
    let demand: SourceDemand
  }

  /// The waiters of sources that are no clients, by their ids.
  private var questions: [UInt64: Question] = [:]
  private var idsByCall: [CallID: UInt64] = [:]
  private var lastID = DerivedSessions.firstID
  private let deferred: DeferredWork
  private let clock: any Clock
  private let sessions: SessionTable

  /// Clients have smaller ids.
  private static let firstID: UInt64 = 1 << 63

  init(clock: any Clock, sessions: SessionTable) {
    self.clock = clock
    self.sessions = sessions
    deferred = DeferredWork(clock, turnTime: .milliseconds(1))
  }

  // MARK: Changes of a source

  /// The sessions that are derived from `source`.
  func derived(from source: Session) -> [Session] {
    guard sessions.configuration.current.isSource(source.key.profile) else { return [] }
    return sessions.sessions(of: source.key.uid).filter { $0.source === source }
  }

  /// Call it after each event of a session.
  func follow(_ source: Session) {
    let derived = derived(from: source)
    guard !derived.isEmpty else { return }
    let facts = source.machine.factsForDerived
    for session in derived where session.machine.source != facts {
      sessions.handle(.sourceChanged(facts), session, clock.now)
    }
  }

  /// Tells a session of its source once more: its profile has changed, or it has just been made.
  func tell(_ session: Session) {
    guard let source = session.source else { return }
    sessions.handle(.sourceChanged(source.machine.factsForDerived), session, clock.now)
  }

  /// What was derived from credentials that a client dropped goes with them.
  func clear(from source: Session) {
    for session in derived(from: source) {
      sessions.handle(.cleared(.credentials), session, clock.now)
      clear(from: session)
    }
  }

  /// Refuses the callers that wait for a sign-in to the source.
  ///
  /// - Returns: how many callers wait.
  func release(from source: Session) -> Int {
    derived(from: source).reduce(0) { sum, session in
      let before = session.machine.waiterCount
      sessions.handle(.released, session, clock.now)
      return sum + before - session.machine.waiterCount + release(from: session)
    }
  }

  /// A derived session ends before its source.
  func end(from source: Session) {
    for session in derived(from: source) { sessions.end(session) }
  }

  /// The derived session's use is its source's, too.
  func markUsed(_ session: Session, _ now: Instant) {
    guard let source = session.source, !source.hasEnded else { return }
    sessions.markUsed(source, now)
  }

  // MARK: Questions

  /// Asks a session's source for credentials. The outcome comes as of any call.
  func ask(_ demand: SourceDemand, _ call: CallID, of session: Session) {
    lastID += 1
    let id = lastID
    questions[id] = Question(asker: session, call: call, demand: demand)
    idsByCall[call] = id
    deferred.later { [unowned self] in put(id) }
  }

  private func put(_ id: UInt64) {
    guard let question = questions[id] else { return }
    guard let source = question.asker.source, !source.hasEnded else {
      return answer(id, .failed(.unfitSession(of: .sts)))
    }
    let (now, demand) = (clock.now, question.demand)
    var waiter = Waiter(
      id: id, want: .credentials, minimumLife: demand.leastLife(of: source.machine.credentials),
      mustRefresh: demand.mustRefresh, arrived: now, wait: demand.wait)
    waiter.isUnattended = demand.isUnattended
    waiter.triesOnce = demand.triesOnce
    // The calls count for the client that waits.
    if !demand.isUnattended { source.asking.client = question.asker.asking.client }
    sessions.handle(.asked(waiter), source, now)
  }

  /// The call is not needed any more.
  func withdraw(_ call: CallID) {
    guard let id = idsByCall[call], let question = remove(id),
      let source = question.asker.source
    else { return }
    deferred.later { [unowned self] in sessions.handle(.waiterLeft(id), source, clock.now) }
  }

  /// A client waits for the call now.
  func prioritise(_ call: CallID) {
    guard let id = idsByCall[call], let question = questions[id] else { return }
    withdraw(call)
    ask(question.demand.inPerson, call, of: question.asker)
  }

  /// Takes a source's answer to a question.
  ///
  /// - Parameter error: nil if the source has credentials.
  /// - Returns: false if a client waits under that id.
  func take(_ waiter: UInt64, from source: Session, _ error: ProtocolError? = nil) -> Bool {
    guard waiter >= Self.firstID else { return false }
    guard let error else {
      answer(waiter, .sourceRenewed)
      return true
    }
    answer(
      waiter,
      .failed(
        .ofSource(error, last: source.machine.lastFailure?.failure)))
    return true
  }

  private func answer(_ id: UInt64, _ outcome: UpstreamOutcome) {
    guard let question = remove(id) else { return }
    deferred.later { [unowned self] in
      guard !question.asker.hasEnded else { return }
      sessions.handle(.callFinished(question.call, outcome), question.asker, clock.now)
    }
  }

  private func remove(_ id: UInt64) -> Question? {
    guard let question = questions.removeValue(forKey: id) else { return nil }
    idsByCall[question.call] = nil
    return question
  }
}
