import CredCore

/// One call from its entry into a queue to its outcome. It fetches what its next step wants, takes a
/// turn for each request, and reads the replies.
///
/// Every call ends, because its turn, its files, its requests and its command have deadlines.
final class RunningCall<Outcome>: TurnTaking {
  /// What stays the same in both regions of a user pool.
  struct Terms {
    let admission: Admission.Call
    /// The user whose outage the end of the call may show; nil where it shows none.
    var witness: UnixUser?
    /// How ``PoolReplicas`` chooses the region; nil for a call without a choice.
    var choice: ReplicaCall?
    /// Prepares the first step.
    let prepare: (CallInputs) throws(Unprepared) -> Prepared<Outcome>
    /// Gets the result, and where the call was made.
    let done: (Result<Outcome, UpstreamFailure>, PoolPlace) -> Void
  }

  private let terms: Terms
  private unowned let turns: CallTurns
  private unowned let sender: Sender
  private unowned let replicas: PoolReplicas
  private var preparation: Preparation<Outcome>
  private var inputs = CallInputs()
  /// Whether a request may be sent.
  private var hasTurn = false
  /// The failure because of which a request is made once more.
  private var first: UpstreamFailure?
  /// The result in the other region, if the call was made there before.
  private var former: Result<Outcome, UpstreamFailure>?

  init(_ terms: Terms, _ turns: CallTurns, _ sender: Sender, _ replicas: PoolReplicas) {
    self.terms = terms
    self.turns = turns
    self.sender = sender
    self.replicas = replicas
    preparation = Preparation(next: terms.prepare)
  }

  private var id: CallID { terms.admission.id }

  // MARK: Its turns

  /// - Parameters:
  ///   - queue: nil for a call that reaches no upstream.
  ///   - place: where a call at a backend goes.
  func enter(_ queue: CallQueue?, at place: PoolPlace) {
    preparation = Preparation(next: terms.prepare)
    inputs = CallInputs(at: place)
    (first, hasTurn) = (nil, false)
    turns.enter(terms.admission, in: queue, self)
  }

  func turnCame(_ refusal: UpstreamFailure?) {
    if let refusal {
      if turns.goesOn(id) { finish(.failure(first ?? refusal)) }
    } else {
      hasTurn = true
      goOn()
    }
  }

  // MARK: Its steps

  private func goOn() {
    guard turns.goesOn(id) else { return }
    do throws(Unprepared) {
      make(try preparation.next(inputs))
    } catch {
      switch error {
      case .wanting: fetch()
      case .failed(let failure): settle(.failure(failure))
      }
    }
  }

  private func fetch() {
    guard let wanted = inputs.wanted else {
      preconditionFailure("a step wants something of other inputs")
    }
    guard case .document(let issuer, let exchange) = wanted else {
      return sender.fetch(wanted, for: inputs) { [self] in goOn() }
    }
    send(exchange) { [self] document in
      inputs.documents[issuer] = document
      goOn()
    }
  }

  private func make(_ step: Prepared<Outcome>) {
    switch step {
    case .exchange(let exchange):
      send(exchange) { [self] result in finish(result) }
    case .part(let exchange):
      send(exchange) { [self] result in
        switch result {
        case .failure(let failure): finish(.failure(failure))
        case .success(let next):
          (preparation, first) = (next, nil)
          goOn()
        }
      }
    case .command(let command):
      turns.noteSent(id)
      sender.run(command) { [self] result in finish(result) }
    case .outcome(let outcome): settle(.success(outcome))
    }
  }

  /// Sends a request in a turn, and once more if its failure allows that. Without a turn, the step is
  /// prepared anew when that comes.
  private func send<Reply>(_ exchange: Exchange<Reply>, _ take: @escaping Completion<Reply>) {
    turns.noteSent(id)
    guard hasTurn else { return turns.enterAgain(id) }
    hasTurn = false
    sender.send(exchange) { [self] result in
      guard let failure = result.failure?.following(first) else { return take(result) }
      guard first != nil || !exchange.isRepeated(failure) else {
        first = failure
        inputs.beginAnew()
        return goOn()
      }
      take(exchange.meaning(failure).map { .success($0) } ?? .failure(failure))
    }
  }

  // MARK: Its end

  /// Ends the call without a request, when the present event is over.
  private func settle(_ result: Result<Outcome, UpstreamFailure>) {
    turns.noteSent(id)
    turns.deferred.later { [self] in finish(result) }
  }

  private func finish(_ result: Result<Outcome, UpstreamFailure>) {
    let (failure, place) = (result.failure, inputs.place)
    let showsOutages = failure == nil || !terms.admission.dependsOnUserInput
    guard turns.end(id, failure, of: showsOutages ? terms.witness : nil) else { return }
    guard let choice = terms.choice else { return terms.done(result, place) }
    replicas.note(failure, of: choice, at: place)
    if let former, place == .replica, failure?.meansReplicaIsAway ?? false {
      return terms.done(former, .primary)
    }
    guard former == nil, let failure, replicas.mayGoOn(choice, after: failure, at: place) else {
      return terms.done(result, place)
    }
    former = result
    let other: PoolPlace = place == .primary ? .replica : .primary
    enter(turns.queues.queue(of: choice.backend, at: other), at: other)
  }
}
