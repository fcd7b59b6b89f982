import CredCore
import Logging

/// A call that waits for turns.
protocol TurnTaking: AnyObject {
  /// The call may send a request, or is refused. Comes later, and never once the call has left its
  /// queue.
  func turnCame(_ refusal: UpstreamFailure?)
}

/// The turns of calls: the queue in which each call waits, and the calls whose outcomes are still
/// wanted.
final class CallTurns {
  private let clock: any Clock
  private let log: Logger
  var queues: CallQueues
  /// Calls that have begun or wait for their turn.
  private var calls: [CallID: PendingCall] = [:]
  let deferred: DeferredWork
  /// One timer for all queues.
  private var timer: (any Timer)?

  private struct PendingCall {
    let call: any TurnTaking
    /// Nil for a call that reaches no upstream.
    let queue: CallQueue?
    var phase = Phase.waiting
    var isCancelled = false
  }

  private enum Phase {
    /// Waits in its queue for its first turn.
    case waiting
    /// Has its turn, or was refused.
    case begun
    /// Has sent a request, or its outcome was known without one.
    case sent
    /// Waits in its queue for a further turn.
    case waitingAgain

    var isInQueue: Bool { self == .waiting || self == .waitingAgain }
  }

  init(_ clock: any Clock, _ log: Logger, settings: DaemonSettings) {
    self.clock = clock
    self.log = log
    queues = CallQueues(settings)
    deferred = DeferredWork(clock, turnTime: .microseconds(25))
    timer = clock.makeTimer { [unowned self] in self.timerFired() }
  }

  /// The number of calls that have begun or wait for their turn.
  var count: Int { calls.count }

  // MARK: Turns

  /// Lets a call wait for its turn. One that reaches no upstream has it at once.
  func enter(_ admission: Admission.Call, in queue: CallQueue?, _ call: any TurnTaking) {
    calls[admission.id] = PendingCall(call: call, queue: queue)
    if let queue {
      handle(.asked(admission), in: queue)
    } else {
      turnCame(to: admission.id, nil)
    }
  }

  /// Lets a call under way wait until it may send one more request.
  func enterAgain(_ id: CallID) {
    guard let queue = calls[id]?.queue else { return turnCame(to: id, nil) }
    calls[id]?.phase = .waitingAgain
    handle(.askedAgain(id), in: queue)
  }

  /// Whether a call waits for a turn.
  func isWaiting(_ id: CallID) -> Bool { calls[id]?.phase.isInQueue ?? false }

  /// Whether a call goes on. One that was cancelled gives its place to the next one.
  func goesOn(_ id: CallID) -> Bool {
    guard let call = calls[id] else { return false }
    guard call.isCancelled else { return true }
    calls[id] = nil
    if let queue = call.queue { handle(.notSent(id), in: queue) }
    return false
  }

  /// Notes that a call sends a request, or that its outcome is known.
  func noteSent(_ id: CallID) { calls[id]?.phase = .sent }

  /// Ends a call.
  ///
  /// - Parameter user: whose outage its end may show, or the end of one; nil for a call that shows none.
  /// - Returns: whether the call's outcome is wanted.
  func end(_ id: CallID, _ failure: UpstreamFailure?, of user: UnixUser?) -> Bool {
    guard let call = calls.removeValue(forKey: id) else { return false }
    if let queue = call.queue, call.phase == .sent {
      handle(.ended(id, failure), in: queue)
      if let user { logOutage(of: queue, failure, user) }
    }
    return !call.isCancelled
  }

  private func handle(_ event: Admission.Event, in queue: CallQueue) {
    for action in queue.handle(event, clock) {
      switch action {
      case .admit(let id): turnCame(to: id, nil)
      case .refuse(let id, let failure): turnCame(to: id, failure)
      }
    }
    armTimer()
  }

  private func turnCame(to id: CallID, _ refusal: UpstreamFailure?) {
    guard let pending = calls[id] else { return }
    calls[id]?.phase = pending.phase == .waitingAgain ? .sent : .begun
    deferred.later { pending.call.turnCame(refusal) }
  }

  // MARK: What is decided later

  func prioritise(_ id: CallID) {
    if let queue = calls[id]?.queue { handle(.prioritised(id), in: queue) }
  }

  /// Cancels a call that was not sent. Returns false for any other call, which goes on.
  func withdraw(_ id: CallID) -> Bool {
    guard let call = calls[id], call.phase == .waiting || call.phase == .begun else { return false }
    cancel(id)
    return true
  }

  func cancel(_ id: CallID) {
    guard let call = calls[id] else { return }
    guard call.phase.isInQueue, let queue = call.queue else {
      calls[id]?.isCancelled = true
      return
    }
    // The call sends nothing more.
    calls[id] = nil
    handle(.cancelled(id), in: queue)
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

  private func timerFired() {
    // A call that ends may add a queue.
    for queue in queues.due(clock.now) { handle(.timePassed, in: queue) }
    armTimer()
  }

  private func armTimer() {
    let next = queues.nextWake
    timer?.arm(at: next == .distantFuture ? nil : next)
  }
}
