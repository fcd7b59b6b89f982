import CredCore

/// A rate that holds for the calls of several queues together.
final class SharedRate {
  private var rate: Rate
  var bucket: TokenBucket

  init(_ rate: Rate) {
    self.rate = rate
    bucket = TokenBucket(rate)
  }

  func apply(_ rate: Rate) {
    guard rate != self.rate else { return }
    self.rate = rate
    bucket = TokenBucket(rate)
  }
}

/// The waiting calls of one upstream endpoint: carries out the decisions of its ``Admission``.
final class CallQueue {
  private var admission: Admission
  private var outages = OutageWatch()
  let upstream: Upstream
  /// The operation of AWS; empty for a backend.
  let operation: String
  private var waiting: [CallID: (UpstreamFailure?) -> Void] = [:]
  /// Nil if its rate is its own.
  private let shared: SharedRate?

  init(
    _ upstream: Upstream, _ policy: Admission.Policy, operation: String = "",
    shared: SharedRate? = nil
  ) {
    self.upstream = upstream
    self.operation = operation
    self.shared = shared
    admission = Admission(upstream, policy)
  }

  /// Too early, if another queue took the token of a shared rate: then nothing happens.
  var nextWake: Instant { admission.nextWake }
  /// Whether clients wait for their turn.
  var hasCallers: Bool { admission.hasCallers }

  func apply(_ policy: Admission.Policy) {
    admission.apply(policy)
  }

  /// Calls `body` once, perhaps at once: when the call may be made, or with a failure if it is
  /// refused. Report the end of a call with ``Admission/Event/ended(_:_:)``.
  func enter(
    _ call: Admission.Call, _ clock: any Clock, _ body: @escaping (UpstreamFailure?) -> Void
  ) {
    waiting[call.id] = body
    handle(.asked(call), clock)
  }

  /// The same for one more request of a call that is under way. If it is refused, the call is still to be
  /// ended.
  func enterAgain(
    _ id: CallID, _ clock: any Clock, _ body: @escaping (UpstreamFailure?) -> Void
  ) {
    waiting[id] = body
    handle(.askedAgain(id), clock)
  }

  /// Logs the end of a call.
  ///
  /// - Parameter user: the user for whom it was made.
  func recordEnd(
    _ failure: UpstreamFailure?, of user: UnixUser, _ now: Instant
  ) -> OutageWatch.Change? {
    outages.ended(failure, of: user, now)
  }

  /// Takes a call out of the queue. Returns false if the call has had its turn, and waits for no further one.
  func withdraw(_ id: CallID, _ clock: any Clock) -> Bool {
    guard waiting.removeValue(forKey: id) != nil else { return false }
    handle(.cancelled(id), clock)
    return true
  }

  func handle(_ event: Admission.Event, _ clock: any Clock) {
    if let shared { admission.bucket = shared.bucket }
    let actions = admission.handle(event, now: clock.now, wallTime: clock.wallTime)
    shared?.bucket = admission.bucket
    for action in actions {
      switch action {
      case .admit(let id): waiting.removeValue(forKey: id)?(nil)
      case .refuse(let id, let failure): waiting.removeValue(forKey: id)?(failure)
      }
    }
  }
}
