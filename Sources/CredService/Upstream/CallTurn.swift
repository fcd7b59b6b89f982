import CredCore

/// The turn of a call that was admitted. Each of its requests takes a turn of the upstream's rate: the first
/// one that on which the call was admitted, a second try and every other request a further one.
final class CallTurn {
  private let id: CallID
  /// Nil for a call that reaches no upstream.
  private let queue: CallQueue?
  private unowned let turns: CallTurns
  private var isTaken = false

  init(_ id: CallID, in queue: CallQueue?, _ turns: CallTurns) {
    self.id = id
    self.queue = queue
    self.turns = turns
  }

  /// Calls `send` when a request may be sent, or with the reason why not: the first time at once, then later.
  /// Never, if the call is cancelled meanwhile.
  func take(_ send: @escaping (UpstreamFailure?) -> Void) {
    guard isTaken, let queue else {
      isTaken = true
      return send(nil)
    }
    turns.waitAgain(id, in: queue, send)
  }
}
