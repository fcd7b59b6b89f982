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

/// The waiting calls of one upstream endpoint, as its ``Admission`` decides about them.
final class CallQueue {
  private var admission: Admission
  private var outages = OutageWatch()
  let upstream: Upstream
  /// The operation of AWS; empty for a backend.
  let operation: String
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

  /// Logs the end of a call.
  ///
  /// - Parameter user: the user for whom it was made.
  func recordEnd(
    _ failure: UpstreamFailure?, of user: UnixUser, _ now: Instant
  ) -> OutageWatch.Change? {
    outages.ended(failure, of: user, now)
  }

  /// - Returns: what to do with waiting calls.
  func handle(_ event: Admission.Event, _ clock: any Clock) -> [Admission.Action] {
    if let shared { admission.bucket = shared.bucket }
    defer { shared?.bucket = admission.bucket }
    return admission.handle(event, now: clock.now, wallTime: clock.wallTime)
  }
}
