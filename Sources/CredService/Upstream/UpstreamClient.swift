package import CredCore

/// Makes the calls of sessions and of users: gives each its queue and its steps.
package final class UpstreamClient: UpstreamPerforming {
  private let turns: CallTurns
  private let sender: Sender
  private let memory: ExchangeMemory

  package init(
    _ services: UpstreamServices, settings: DaemonSettings, random: any RandomNumberGenerator
  ) {
    turns = CallTurns(services.clock, services.log, settings: settings)
    memory = ExchangeMemory(services, random: random)
    sender = Sender(services, memory.developerCredentials)
  }

  /// Drops the state of the old backends and limits. Queues stay with their outages, and get new
  /// limits with their next call.
  package func apply(_ settings: DaemonSettings) {
    turns.queues.settings = settings
    memory.forget()
  }

  package var callCount: Int { turns.count }

  package var requestEnded: ((EndedRequest) -> Void)? {
    get { sender.requestEnded }
    set { sender.requestEnded = newValue }
  }

  package func prioritise(_ id: CallID) { turns.prioritise(id) }
  package func withdraw(_ id: CallID) -> Bool { turns.withdraw(id) }
  package func cancel(_ id: CallID) { turns.cancel(id) }

  package func hostEnrolmentEnd(at backend: String) -> WallTime? {
    memory.enrolments.end(at: backend)
  }

  /// The region of the replica that serves a profile's user pool now; nil while the primary does.
  package func replicaInUse(of profile: Profile) -> String? {
    profile.backend.flatMap { memory.replicas.nameInUse($0) }
  }

  package func logoutURL(of profile: Profile) -> String? {
    CalledBackend(profile, memory).flatMap { ProviderExchanges($0)?.logoutURL }
  }

  private func run<Outcome>(
    _ terms: RunningCall<Outcome>.Terms, in queue: CallQueue?, at place: PoolPlace = .primary
  ) {
    RunningCall(terms, turns, sender, memory.replicas).enter(queue, at: place)
  }

  // MARK: Calls of sessions

  package func start(
    _ request: CallRequest, completion: @escaping (UpstreamOutcome) -> Void
  ) {
    let (replicas, renewal) = (memory.replicas, renewal(request))
    let place = renewal.map { replicas.first($0) } ?? .primary
    let calls = request.profile.calls(memory)
    let admission = Admission.Call(
      id: request.id, profile: request.profile.settings.name, isInPerson: request.isInPerson,
      isRetry: request.isRetry, dependsOnUserInput: request.call.dependsOnUserInput,
      user: request.user, account: request.account)
    let terms = RunningCall<UpstreamOutcome>.Terms(
      admission: admission, witness: request.user, choice: renewal
    ) { [unowned self] inputs throws(Unprepared) in
      try prepared(request, calls, inputs)
    } done: { result, place in
      switch (result, renewal) {
      case (.failure(let failure), let renewal?) where place == .replica:
        completion(.failed(failure.ofReplica(renewal.backend.replicaName ?? "")))
      case (.failure(let failure), _): completion(.failed(failure))
      case (.success(let outcome), let renewal):
        if let renewal, place == .primary { replicas.renewed(outcome, renewal) }
        completion(outcome)
      }
    }
    run(terms, in: queue(for: request, calls, at: place), at: place)
  }

  /// The queue of a call; nil for a call that reaches no upstream.
  private func queue(
    for request: CallRequest, _ calls: any WayCalls, at place: PoolPlace
  ) -> CallQueue? {
    let profile = request.profile
    switch request.call {
    case .signIn, .tokenCallback:
      return profile.backend.map { turns.queues.queue(of: $0) }
    case .renewProviderTokens(let session, _):
      return profile.giving(session).backend.map { turns.queues.queue(of: $0, at: place) }
    default:
      return calls.queue(of: request.call, in: &turns.queues)
    }
  }

  /// A renewal at a user pool, for its replica; nil for another call.
  private func renewal(_ request: CallRequest) -> ReplicaCall? {
    guard case .renewProviderTokens(let session, _) = request.call,
      let backend = request.profile.giving(session).backend, backend.replicaName != nil
    else { return nil }
    return ReplicaCall(
      backend: backend, uid: request.user.uid, use: .token(session.refreshToken))
  }

  private func prepared(
    _ request: CallRequest, _ calls: any WayCalls, _ inputs: CallInputs
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    let (profile, user) = (request.profile, request.user)
    switch request.call {
    case .signIn(let username, let password):
      guard let backend = CalledBackend(profile, memory, inputs) else {
        preconditionFailure("the plan of a profile without a backend takes no passwords")
      }
      return try backend.exchanges.signIn(username, password, user)
    case .renewProviderTokens(let session, let way):
      guard let backend = CalledBackend(profile.giving(session), memory, inputs) else {
        throw .failed(.unfitSession(of: calls.upstream))
      }
      return try backend.exchanges.renew(session, way, user)
    case .tokenCallback(let identityID, let logins, let session, let isForced):
      guard let backend = CalledBackend(profile, memory, inputs) else {
        throw .failed(.unfitSession(of: calls.upstream))
      }
      guard let provider = profile.settings.developerProvider else {
        throw .failed(.unfitSession(of: backend.upstream))
      }
      let parts = TokenQueryParts(
        identityID: identityID, logins: logins, session: session, isForced: isForced,
        caller: request.caller, isPersonal: request.isPersonal)
      let query = try backend.query(parts, at: provider, for: user)
      return try backend.exchanges.token(query, parts, user)
    case .readTokenFile, .getID, .getOpenIDToken, .getCredentials, .assumeRole, .derive:
      return try calls.prepared(request.call, for: user, inputs)
    case .renewSource: preconditionFailure("the service asks a session's source by itself")
    }
  }

  // MARK: At backends

  package func signOut(
    _ request: BackendSignOut, completion: @escaping (UpstreamFailure?) -> Void
  ) {
    let (profile, memory) = (request.profile, memory)
    guard let backend = profile.backend else { return turns.deferred.later { completion(nil) } }
    // A sign-out everywhere may have to renew first, and its refresh token goes to one region alone.
    let use = ReplicaUse.anew(mayBeginTwice: !request.isGlobal)
    run(
      RunningCall.Terms(
        admission: Admission.Call(request.id, in: profile, for: request.user),
        choice: ReplicaCall(backend: backend, uid: request.user.uid, use: use)
      ) { inputs throws(Unprepared) in
        try CalledBackend(profile, backend, memory, inputs).exchanges.signOut(request)
      } done: { result, place in
        completion(result.failure?.of(place, backend))
      }, at: backend)
  }

  package func account(
    _ call: AccountCall,
    completion: @escaping (Result<AccountResult, UpstreamFailure>) -> Void
  ) {
    let (profile, memory) = (call.profile, memory)
    guard let backend = profile.backend else {
      preconditionFailure("a profile without a backend has no accounts")
    }
    let use: ReplicaUse = call.input.isDoneByReplica ? .anew(mayBeginTwice: true) : .never
    run(
      RunningCall.Terms(
        admission: Admission.Call(call.id, in: profile, for: nil),
        choice: ReplicaCall(backend: backend, uid: call.user.uid, use: use)
      ) { inputs throws(Unprepared) in
        try CalledBackend(profile, backend, memory, inputs).exchanges.account(call)
      } done: { result, place in
        completion(result.mapError { $0.of(place, backend) })
      }, at: backend)
  }

  /// Makes a call at a backend that belongs to no session, in the region that ``PoolReplicas`` chooses.
  ///
  /// - Parameter place: where a sign-in began; nil for another call.
  private func run<Outcome>(
    _ terms: RunningCall<Outcome>.Terms, at backend: BackendSettings, in place: PoolPlace? = nil
  ) {
    let place = place ?? terms.choice.map { memory.replicas.first($0) } ?? .primary
    run(terms, in: turns.queues.queue(of: backend, at: place), at: place)
  }

  // MARK: Steps of sign-ins

  package func converse(
    _ call: ConversationCall,
    completion: @escaping (PoolConversation.Event, PoolPlace) -> Void
  ) {
    let (profile, memory) = (call.profile, memory)
    guard let backend = profile.backend else {
      preconditionFailure("a profile without a backend has no user pool")
    }
    let admission = Admission.Call(call.id, in: profile, for: call.user)
    switch call.step {
    case .compute(let proof):
      let terms = RunningCall<PoolProof.Result>.Terms(admission: admission) {
        inputs throws(Unprepared) in
        .outcome(try inputs.result(of: proof, for: .backend(backend.name)))
      } done: { result, place in
        completion(result.event { .computed($0) }, place)
      }
      run(terms, in: nil, at: call.place)
    case .send(let request):
      // A sign-in ends where it began.
      let use: ReplicaUse =
        request.begins ? .anew(mayBeginTwice: request.mayBeginTwice) : .never
      let terms = RunningCall.Terms(
        admission: admission,
        choice: ReplicaCall(backend: backend, uid: call.user.uid, use: use)
      ) { inputs throws(Unprepared) in
        try CalledBackend(profile, backend, memory, inputs).exchanges.answer(request)
      } done: { result, place in
        completion(result.event { .replied($0) }, place)
      }
      run(terms, at: backend, in: request.begins ? nil : call.place)
    }
  }

  package func converse(
    _ call: ProviderCall,
    completion: @escaping (Result<ProviderReply, UpstreamFailure>) -> Void
  ) {
    let (profile, memory) = (call.profile, memory)
    guard let backend = profile.backend else {
      preconditionFailure("a profile without a backend has no provider")
    }
    run(
      RunningCall.Terms(admission: Admission.Call(call.id, in: profile, for: call.user)) {
        inputs throws(Unprepared) in
        let called = CalledBackend(profile, backend, memory, inputs)
        guard let exchanges = ProviderExchanges(called) else {
          throw .failed(.unfitSession(of: called.upstream))
        }
        return try exchanges.prepared(call.request)
      } done: { result, _ in
        completion(result)
      }, at: backend)
  }

  // MARK: Checks

  package func probe(
    _ request: ProbeRequest, completion: @escaping ([ProbeOutcome]) -> Void
  ) {
    let places = request.profiles.flatMap { self.places(of: $0) }
    ProbeRun(request, places, turns, memory.services, completion).start()
  }

  private func places(of profile: Profile) -> [ProbedPlace] {
    var places: [ProbedPlace] = []
    for profile in [profile, profile.link].compactMap({ $0 }) {
      places += CalledBackend(profile, memory)?.exchanges.places(turns) ?? []
    }
    places += profile.calls(memory).places(&turns.queues)
    return places + (profile.source.map { self.places(of: $0) } ?? [])
  }
}

extension Admission.Call {
  /// A call that belongs to no session.
  ///
  /// - Parameter user: for whom; nil if no outage may be learned from the call.
  fileprivate init(_ id: CallID, in profile: Profile, for user: UnixUser?) {
    self.init(
      id: id, profile: profile.settings.name, isInPerson: true, isRetry: false,
      dependsOnUserInput: true, user: user)
  }
}

extension UpstreamCall {
  /// Whether the call depends on one user's input. Then its failure says nothing about calls of
  /// other users.
  fileprivate var dependsOnUserInput: Bool {
    if case .signIn = self { true } else { false }
  }
}

extension UpstreamFailure {
  /// This failure, made temporary if a replica says that the user is not signed in.
  fileprivate func of(_ place: PoolPlace, _ backend: BackendSettings) -> UpstreamFailure {
    guard place == .replica, code == .signInRequired else { return self }
    return ofReplica(backend.replicaName ?? "")
  }
}

extension Result where Failure == UpstreamFailure {
  fileprivate func event(_ event: (Success) -> PoolConversation.Event) -> PoolConversation.Event {
    switch self {
    case .success(let value): event(value)
    case .failure(let failure): .failed(failure)
    }
  }
}

extension Profile {
  /// The profile whose backend gave a session's tokens, and so renews them.
  func giving(_ session: ProviderSession) -> Profile {
    link.flatMap { $0.plan.backend.issuer == session.issuer ? $0 : nil } ?? self
  }
}
