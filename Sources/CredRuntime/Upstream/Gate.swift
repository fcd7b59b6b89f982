internal import CredCore

/// Where calls to one endpoint wait for their turn: does what its ``Admission`` decides.
final class Gate {
  private var admission: Admission
  private var waiting: [UInt64: CheckedContinuation<UpstreamFailure?, Never>] = [:]

  init(_ upstream: Upstream, _ policy: Admission.Policy) {
    admission = Admission(upstream, policy)
  }

  var nextWake: Instant { admission.nextWake }

  func adopt(_ policy: Admission.Policy) {
    admission.adopt(policy)
  }

  /// Waits until the call may be made; the failure it ends with where it may not.
  func enter(_ call: Admission.Call, _ clock: EventLoop, _ entered: () -> Void) async
    -> UpstreamFailure?
  {
    await withCheckedContinuation { continuation in
      waiting[call.id] = continuation
      handle(.asked(call), clock)
      entered()
    }
  }

  func handle(_ event: Admission.Event, _ clock: EventLoop) {
    let actions = admission.handle(event, now: clock.now, wallTime: clock.wallTime)
    if case .withdrawn(let id) = event {
      waiting.removeValue(forKey: id)?.resume(returning: withdrawn)
    }
    for action in actions {
      switch action {
      case .admit(let id): waiting.removeValue(forKey: id)?.resume(returning: nil)
      case .refuse(let id, let failure):
        waiting.removeValue(forKey: id)?.resume(returning: failure)
      }
    }
  }

  /// The end of a call that its session has forgotten: nobody sees it.
  var withdrawn: UpstreamFailure {
    UpstreamFailure(
      upstream: admission.upstream, failureClass: .transient(retryAfter: nil), code: .internal,
      message: "the call to \(admission.upstream) is no longer wanted", severity: .expected)
  }
}
