import CredCore

/// Whether the configuration's files have changed since they were read: then they wait for a reload. A thread
/// looks at them when somebody asks for what they may explain, at most once a second.
final class ChangedFiles {
  /// How long a result counts.
  static let keptFor: Duration = .seconds(1)
  /// The time for a look. After a longer look, no look follows for this time.
  static let time: Duration = .seconds(1)
  static let failureKeptFor: Duration = .seconds(60)

  /// A request that waits for the look.
  private struct Waiting {
    let client: UInt64
    let call: CallID
    let body: (Turn, String?) -> Void
  }

  private let clock: any Clock
  private let background: any Background
  private let configuration: ConfigurationInForce
  private let clients: Clients
  private let sessions: SessionTable
  private var waiting: [Waiting] = []
  private var known: (haveChanged: Bool, until: Instant)?
  /// Counts the configurations: a look that began before a reload tells nothing after it.
  private var generation = 0

  /// Whether files have changed; blocks. Nil where nothing is looked at.
  private var look: (@Sendable () -> Bool)?
  private var command = ""

  init(
    host: Host, configuration: ConfigurationInForce, clients: Clients, sessions: SessionTable
  ) {
    clock = host.clock
    background = host.background
    self.configuration = configuration
    self.clients = clients
    self.sessions = sessions
  }

  /// - Parameters:
  ///   - command: makes credd read its configuration again.
  ///   - haveChanged: blocks.
  func watch(reloadedBy command: String, haveChanged: @escaping @Sendable () -> Bool) {
    look = haveChanged
    self.command = command
    generation += 1
    known = nil
  }

  private func advice(_ haveChanged: Bool) -> String? {
    guard haveChanged else { return nil }
    return "credd's configuration has changed since it was read: '\(command)' applies it"
  }

  /// Runs `body` with what to do if files have changed: at once, or when that is known, unless the client
  /// has left by then. Nothing is said over a socket with a cap or at the endpoint, nor while a reload would
  /// be refused.
  func whenKnown(_ turn: Turn, _ body: @escaping (Turn, String?) -> Void) {
    guard let look, configuration.problem == nil, case .main = turn.door, turn.client.http == nil
    else { return body(turn, nil) }
    if let known, turn.now < known.until { return body(turn, advice(known.haveChanged)) }
    let call = sessions.nextCallID()
    turn.wait(for: call)
    waiting.append(Waiting(client: turn.client.id, call: call, body: body))
    guard waiting.count == 1 else { return }
    background.runOnce(.configuration, deadline: clock.now + Self.time, look) {
      [unowned self, generation] haveChanged in
      finish(haveChanged, generation)
    }
  }

  /// - Parameter haveChanged: nil if the look took too long.
  private func finish(_ haveChanged: Bool?, _ generation: Int) {
    let isValid = generation == self.generation
    let found = isValid ? haveChanged ?? false : false
    if isValid {
      let kept = haveChanged == nil ? Self.failureKeptFor : Self.keptFor
      known = (found, clock.now + kept)
    }
    let ready = waiting
    waiting = []
    for waiting in ready {
      guard let turn = clients.endWait(waiting.client, for: waiting.call) else { continue }
      waiting.body(turn, advice(found))
    }
  }

  /// Refuses. Changed files may be the reason why there is no such profile, or why it is closed: that is
  /// said whoever asks, and whatever there is.
  func refuse(_ error: ProtocolError, _ turn: Turn) {
    guard error.endsAccess else { return turn.refuse(error) }
    whenKnown(turn) { turn, advice in
      var error = error
      if let advice { error.message += " (\(advice))" }
      turn.refuse(error)
    }
  }
}
