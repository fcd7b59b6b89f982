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
  /// Whether the client got no result, so that the check is made anew.
  private(set) var isForgotten = false

  init(began: Instant, client: UInt64, call: CallID, isForAdmin: Bool = false) {
    self.began = began
    self.client = client
    self.call = call
    self.isForAdmin = isForAdmin
  }

  func forget() { isForgotten = true }

  /// A call of the session that is being checked has ended.
  func note(_ name: String, _ failure: UpstreamFailure?, in time: Duration) {
    // A renewal may be tried again while the check waits for it: the last result counts.
    steps.removeAll { $0.name == name && !$0.isOK }
    steps.append(
      CheckStep(
        name, isOK: failure == nil, duration: time,
        detail: failure.map { CheckStep.text(of: $0, forAdmin: isForAdmin) } ?? "answered"))
  }
}
