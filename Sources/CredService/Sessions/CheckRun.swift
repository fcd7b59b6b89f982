import CredCore

/// The results of a `check` so far, for a user and a profile.
final class CheckRun {
  let began: Instant
  let client: UInt64
  /// The id by which the requests to servers are cancelled.
  let call: CallID
  /// Whether the client may see the texts of upstreams and their addresses.
  let isForAdmin: Bool
  var steps: [CheckStep] = []
  /// The calls of the session that have ended, by their names.
  private var calls: [String: (tries: Int, time: Duration)] = [:]
  /// Whether the client got no result, so that the check is made anew.
  private(set) var isForgotten = false

  init(began: Instant, client: UInt64, call: CallID, isForAdmin: Bool = false) {
    self.began = began
    self.client = client
    self.call = call
    self.isForAdmin = isForAdmin
  }

  func forget() { isForgotten = true }

  /// Whether something is to be mended, which its user wants to see tried again.
  var hasFailed: Bool { !steps.allSatisfy(\.isOK) }

  /// From when on the same may be checked again.
  var nextFrom: Instant {
    began + (hasFailed ? Limits.Check.pauseOfFailed : Limits.Check.pause)
  }

  /// A call of the session that is being checked has ended. However often it is tried while the check
  /// waits, it is one step with the last result.
  func note(_ name: String, _ failure: UpstreamFailure?, in time: Duration) {
    let former = calls[name]
    let (tries, time) = ((former?.tries ?? 0) + 1, (former?.time ?? .zero) + time)
    calls[name] = (tries, time)
    let text = failure.map { CheckStep.text(of: $0, forAdmin: isForAdmin) } ?? "answered"
    let step = CheckStep(
      name, isOK: failure == nil, duration: time,
      detail: tries == 1 ? text : "\(text); \(tries) tries")
    if former != nil, let index = steps.lastIndex(where: { $0.name == name }) {
      steps[index] = step
    } else {
      steps.append(step)
    }
  }
}
