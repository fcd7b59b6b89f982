import CredCore
import Logging

/// The turns of calls: the queue in which each call waits, and the calls whose outcomes are still
/// wanted.
final class CallTurns {
  private let clock: any Clock
  private let log: Logger
  var queues: CallQueues
  /// Calls that have begun or wait for their turn.
  private var calls: [CallID: PendingCall] = [:]
  /// Completions that are due, and must not run within the present call of a function.
  private var deferred = DeferredWork()
  /// One timer for all queues and for deferred work.
  private var timer: (any Timer)?

  private struct PendingCall {
    /// Nil if the outcome is no longer wanted.
    var completion: ((UpstreamOutcome) -> Void)?
    let queue: CallQueue?
    var isCancelled = false
    /// Whether the request of the call was sent, or its prepared outcome was taken.
    var isSent = false
  }

  /// After this time of deferred work, clients are served again.
  private static let turnTime: Duration = .microseconds(25)

  init(_ clock: any Clock, _ log: Logger, settings: DaemonSettings) {
    self.clock = clock
    self.log = log
    queues = CallQueues(settings)
    timer = clock.makeTimer { [unowned self] in self.timerFired() }
  }

  /// The number of calls that have begun or wait for their turn.
  var count: Int { calls.count }

  // MARK: A session's calls

  /// Makes a call in its turn, or at once if it reaches no upstream.
  ///
  /// - Parameters:
  ///   - place: where a call at a backend goes.
  ///   - make: makes the call, and gives the outcome later.
  func start(
    _ request: CallRequest, at place: PoolPlace,
    _ completion: @escaping (UpstreamOutcome) -> Void,
    make: @escaping (CallTurn, @escaping (UpstreamOutcome) -> Void) -> Void
  ) {
    let queue = queues.queue(for: request, at: place)
    calls[request.id] = PendingCall(completion: completion, queue: queue)
    guard let queue else {
      return make(turn(of: request.id, in: nil)) { [unowned self] outcome in
        self.finish(request.id, outcome)
      }
    }
    let call = Admission.Call(
      id: request.id, profile: request.profile.settings.name, isInPerson: request.isInPerson,
      isRetry: request.isRetry, dependsOnUserInput: request.call.dependsOnUserInput,
      user: request.user, account: request.account)
    queue.enter(call, clock) { [unowned self] refusal in
      later { [unowned self] in begin(request, queue, refusal, make) }
    }
    armTimer()
  }

  /// Begins a call whose turn has come.
  private func begin(
    _ request: CallRequest, _ queue: CallQueue, _ refusal: UpstreamFailure?,
    _ make: (CallTurn, @escaping (UpstreamOutcome) -> Void) -> Void
  ) {
    if let refusal { return finish(request.id, .failed(refusal)) }
    guard isWanted(request.id) else { return }
    make(turn(of: request.id, in: queue)) { [unowned self] outcome in
      callEnded(queue, request.id, outcome.failure)
      if !request.call.dependsOnUserInput || outcome.failure == nil {
        logOutage(of: queue, outcome.failure, request.user)
      }
      finish(request.id, outcome)
    }
  }

  /// Whether a prepared call may be sent now.
  func mayBeSent(_ id: CallID) -> Bool {
    guard isWanted(id) else { return false }
    calls[id]?.isSent = true
    return true
  }

  /// Whether the outcome of a call whose turn has come is still wanted. If not, the call gives its
  /// place to the next one.
  private func isWanted(_ id: CallID) -> Bool {
    if calls[id]?.completion != nil { return true }
    let call = calls.removeValue(forKey: id)
    call?.queue?.handle(.notSent(id), clock)
    armTimer()
    return false
  }

  private func finish(_ id: CallID, _ outcome: UpstreamOutcome) {
    calls.removeValue(forKey: id)?.completion?(outcome)
  }

  private func turn(of id: CallID, in queue: CallQueue?) -> CallTurn {
    CallTurn(id, in: queue) { [unowned self] in waitAgain($0, in: $1, $2) }
  }

  // MARK: Other calls

  /// Makes a call at a backend in its turn. The call belongs to no session.
  func perform<Outcome>(
    _ id: CallID, for user: UnixUser?, in profile: Profile, at backend: BackendSettings,
    _ place: PoolPlace = .primary,
    _ work: @escaping (CallTurn, @escaping Completion<Outcome>) -> Void,
    completion: @escaping Completion<Outcome>
  ) {
    perform(
      Admission.Call(
        id: id, profile: profile.settings.name, isInPerson: true, isRetry: false,
        dependsOnUserInput: true, user: user),
      in: queues.queue(of: backend, at: place), work, completion: completion)
  }

  /// Makes a call in its turn in any queue. The call belongs to no session.
  func perform<Outcome>(
    _ call: Admission.Call, in queue: CallQueue,
    _ work: @escaping (CallTurn, @escaping Completion<Outcome>) -> Void,
    completion: @escaping Completion<Outcome>
  ) {
    let id = call.id
    register(id, in: queue)
    queue.enter(call, clock) { [unowned self] refusal in
      if let refusal {
        return later { [unowned self] in
          if end(id) { completion(.failure(refusal)) }
        }
      }
      calls[id]?.isSent = true
      work(turn(of: id, in: queue)) { [unowned self] result in
        callEnded(queue, id, result.failure)
        if end(id) { completion(result) }
      }
    }
    armTimer()
  }

  /// Registers a call that belongs to no session.
  func register(_ id: CallID, in queue: CallQueue?) {
    calls[id] = PendingCall(completion: nil, queue: queue)
  }

  /// - Returns: whether the call's outcome is wanted.
  func end(_ id: CallID) -> Bool {
    calls.removeValue(forKey: id).map { !$0.isCancelled } ?? false
  }

  /// Calls `body` later: when a call under way may send one more request, or with a failure.
  func waitAgain(
    _ id: CallID, in queue: CallQueue, _ body: @escaping (UpstreamFailure?) -> Void
  ) {
    queue.enterAgain(id, clock) { [unowned self] refusal in later { body(refusal) } }
    armTimer()
  }

  // MARK: What a session decides later

  func prioritise(_ id: CallID) {
    calls[id]?.queue?.handle(.prioritised(id), clock)
    armTimer()
  }

  /// Cancels a call that was not sent. Returns false for any other call, which goes on.
  func withdraw(_ id: CallID) -> Bool {
    guard let call = calls[id], !call.isSent else { return false }
    cancel(id)
    return true
  }

  func cancel(_ id: CallID) {
    guard let call = calls[id] else { return }
    calls[id]?.completion = nil
    calls[id]?.isCancelled = true
    guard let queue = call.queue, queue.withdraw(id, clock) else { return }
    // The call waited for its turn, and sends nothing more.
    calls[id] = nil
    armTimer()
  }

  // MARK: The end of a call

  private func callEnded(_ queue: CallQueue, _ id: CallID, _ failure: UpstreamFailure?) {
    queue.handle(.ended(id, failure), clock)
    armTimer()
  }

  /// An outage is logged once when it begins, and once when it ends.
  private func logOutage(of queue: CallQueue, _ failure: UpstreamFailure?, _ user: UnixUser) {
    let now = clock.now
    guard let change = queue.recordEnd(failure, of: user, now) else { return }
    var metadata: Logger.Metadata = ["upstream": "\(queue.upstream)"]
    if !queue.operation.isEmpty { metadata["operation"] = "\(queue.operation)" }
    switch change {
    case .began(let failure, let since, let isOfOneUser):
      metadata["since"] = "\((clock.wallTime + (since - now)).iso8601)"
      metadata["detail"] = failure.detail.map { "\($0)" }
      if isOfOneUser { metadata["for_uid"] = "\(user.uid)" }
      log.log(.upstreamUnavailable, .warning, "calls fail: \(failure.summary)", metadata)
    case .ended(let length):
      metadata["seconds"] = "\(length.components.seconds)"
      log.log(
        .upstreamAvailable, .notice,
        "\(queue.upstream) works again, after \(length.components.seconds) s", metadata)
    }
  }

  // MARK: Later

  /// Runs `work` when the present event is over.
  func later(_ work: @escaping () -> Void) {
    deferred.append(work)
    armTimer()
  }

  private func timerFired() {
    let now = clock.now
    // A call that ends may add a queue.
    for queue in queues.due(now) { queue.handle(.timePassed, clock) }
    runDeferred()
    armTimer()
  }

  /// Runs deferred work, but only for a short time, so that other sources of the loop are served:
  /// 10,000 calls may end at once when a server stops answering. Work that is deferred meanwhile
  /// waits for the next run.
  private func runDeferred() {
    let end = clock.now + Self.turnTime
    var left = deferred.count
    while left > 0, let work = deferred.popFirst() {
      work()
      left -= 1
      guard clock.now < end else { return }
    }
  }

  private func armTimer() {
    guard deferred.isEmpty else { return arm(clock.now) }
    let next = queues.nextWake
    arm(next == .distantFuture ? nil : next)
  }

  private func arm(_ deadline: Instant?) { timer?.arm(at: deadline) }
}

extension UpstreamCall {
  /// Whether the call depends on one user's input. Then its failure says nothing about calls of
  /// other users.
  fileprivate var dependsOnUserInput: Bool {
    if case .signIn = self { true } else { false }
  }
}
