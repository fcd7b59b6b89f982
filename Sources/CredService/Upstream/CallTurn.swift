import CredCore

/// The turn of a call that was admitted. Each of its requests takes a turn of the upstream's rate: the first
/// one that on which the call was admitted, a second try and every other request a further one.
final class CallTurn {
  private let id: CallID
  /// Nil for a call that reaches no upstream.
  private let queue: CallQueue?
  private let waitAgain: (CallID, CallQueue, @escaping (UpstreamFailure?) -> Void) -> Void
  private var isTaken = false

  /// - Parameter waitAgain: waits for a further turn.
  init(
    _ id: CallID, in queue: CallQueue?,
    waitAgain: @escaping (CallID, CallQueue, @escaping (UpstreamFailure?) -> Void) -> Void
  ) {
    self.id = id
    self.queue = queue
    self.waitAgain = waitAgain
  }

  /// Calls `send` when a request may be sent, or with the reason why not: the first time at once, then later.
  /// Never, if the call is cancelled meanwhile.
  func take(_ send: @escaping (UpstreamFailure?) -> Void) {
    guard isTaken, let queue else {
      isTaken = true
      return send(nil)
    }
    waitAgain(id, queue, send)
  }
}
