package import CredCore

/// Takes the result of a request to an upstream, later.
typealias Completion<Value> = (Result<Value, UpstreamFailure>) -> Void

/// Makes the calls of sessions: waits for the turn of each, makes an exchange of it, reads the
/// reply.
///
/// Every call ends, because its turn, its files, its request and its command have deadlines.
package final class UpstreamClient: UpstreamPerforming {
  private let turns: CallTurns
  private let sender: Sender
  private let memory: ExchangeMemory
  private let probes: ServerProbes

  package init(
    _ services: UpstreamServices, settings: DaemonSettings, random: any RandomNumberGenerator
  ) {
    turns = CallTurns(services.clock, services.log, settings: settings)
    sender = Sender(services, turns)
    memory = ExchangeMemory(sender, random: random)
    probes = ServerProbes(turns, sender, memory)
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

  /// The profile's backend; nil if it has none.
  private func backend(of profile: Profile) -> CalledBackend? {
    CalledBackend(profile, sender, memory)
  }

  package func hostEnrolmentEnd(at backend: String) -> WallTime? {
    memory.enrolments.end(at: backend)
  }

  // MARK: Calls of sessions

  package func start(
    _ request: CallRequest, completion: @escaping (UpstreamOutcome) -> Void
  ) {
    guard let renewal = renewal(request) else { return start(request, at: .primary, completion) }
    let replicas = memory.replicas
    replicas.serve(renewal) { [unowned self] place, done in
      start(request, at: place, done)
    } failure: {
      $0.failure
    } completion: { outcome, place in
      guard place == .replica else {
        if case .providerTokens(let tokens, _) = outcome { replicas.renewed(tokens, renewal) }
        return completion(outcome)
      }
      completion(outcome.ofReplica(renewal.backend.replicaName ?? ""))
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

  private func start(
    _ request: CallRequest, at place: PoolPlace,
    _ completion: @escaping (UpstreamOutcome) -> Void
  ) {
    turns.start(request, at: place, completion) { [unowned self] turn, done in
      make(request, turn, at: place, done)
    }
  }

  /// Makes a call whose turn has come. The outcome comes later, never within this function. If the
  /// call is cancelled before it is sent, no outcome comes.
  ///
  /// - Parameter first: the failure because of which the call is made once more.
  private func make(
    _ request: CallRequest, _ turn: CallTurn, at place: PoolPlace,
    after first: UpstreamFailure? = nil, _ done: @escaping (UpstreamOutcome) -> Void
  ) {
    prepare(request, turn, at: place) { [unowned self] prepared in
      guard turns.mayBeSent(request.id) else { return }
      switch prepared {
      case .success(.exchange(let exchange)):
        send(exchange, of: request, turn, at: place, after: first, done)
      case .success(.command(let command, let read)):
        sender.run(command, reading: read) { done($0.outcome) }
      case .success(.outcome(let outcome)):
        turns.later { done(outcome) }
      case .failure(let failure):
        turns.later { done(.failed(failure)) }
      }
    }
  }

  /// Sends a prepared call. A second try takes a turn of its own, and may be cancelled while it waits.
  private func send(
    _ exchange: Exchange<UpstreamOutcome>, of request: CallRequest, _ turn: CallTurn,
    at place: PoolPlace, after first: UpstreamFailure?, _ done: @escaping (UpstreamOutcome) -> Void
  ) {
    turn.take { [unowned self] refusal in
      guard turns.mayBeSent(request.id) else { return }
      if let refusal { return done(.failed(first ?? refusal)) }
      sender.send(exchange) { [unowned self] result in
        if let failure = result.failure, exchange.isRepeated(failure), first == nil {
          return make(request, turn, at: place, after: failure, done)
        }
        done(result.mapError { $0.following(first) }.outcome)
      }
    }
  }

  private func prepare(
    _ request: CallRequest, _ turn: CallTurn, at place: PoolPlace,
    _ done: @escaping Completion<PreparedCall>
  ) {
    let (profile, user) = (request.profile, request.user)
    switch request.call {
    case .signIn(let username, let password):
      guard let backend = backend(of: profile)?.taking(turn) else {
        preconditionFailure("the plan of a profile without a backend takes no passwords")
      }
      backend.exchanges.signIn(username, password, user, done)
    case .renewProviderTokens(let session, let way):
      guard let backend = backend(of: profile.giving(session))?.taking(turn, at: place) else {
        return done(.failure(.unfitSession(of: profile.upstream)))
      }
      backend.exchanges.renew(session, way, user, done)
    case .tokenCallback(let identityID, let logins, let session, let isForced):
      prepareToken(
        TokenQueryParts(
          identityID: identityID, logins: logins, session: session, isForced: isForced,
          caller: request.caller, isPersonal: request.isPersonal), profile, user, turn, done)
    case .readTokenFile:
      sender.readTokenFile(of: profile, done)
    case .assumeRole(_, let token) where profile.directRole != nil:
      let direct = DirectExchanges(profile, sender)
      done(
        Result { () throws(UpstreamFailure) in
          guard let direct else { throw .unfitSession(of: .sts) }
          return .exchange(try direct.assumeRole(token, user))
        })
    case .getID, .getOpenIDToken, .getCredentials, .assumeRole:
      guard let aws = AWSExchanges(profile: profile, sender: sender) else {
        return done(.failure(.unfitSession(of: .cognitoIdentity)))
      }
      prepare(request.call, aws, user, done)
    case .derive(let source):
      guard let derived = DerivedExchanges(profile, sender, memory) else {
        return done(.failure(.unfitSession(of: .sts)))
      }
      derived.derive(from: source, user, done)
    case .renewSource: preconditionFailure("the service asks a session's source by itself")
    }
  }

  private func prepare(
    _ call: UpstreamCall, _ aws: AWSExchanges, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    switch call {
    case .getID(let logins):
      done(Result { () throws(UpstreamFailure) in .exchange(try aws.getID(logins)) })
    case .getOpenIDToken(let identityID, let logins):
      done(.success(.exchange(aws.getOpenIDToken(identityID, logins))))
    case .getCredentials(let identityID, let logins, let role):
      done(.success(.exchange(aws.getCredentials(identityID, logins, role))))
    case .assumeRole(let identityID, let token):
      aws.assumeRole(identityID, token, user, done)
    case .signIn, .readTokenFile, .renewProviderTokens, .tokenCallback, .renewSource, .derive:
      preconditionFailure("these are no calls of an identity pool")
    }
  }

  private func prepareToken(
    _ parts: TokenQueryParts, _ profile: Profile, _ user: UnixUser, _ turn: CallTurn,
    _ done: @escaping Completion<PreparedCall>
  ) {
    guard let backend = backend(of: profile)?.taking(turn),
      let provider = profile.settings.developerProvider
    else { return done(.failure(.unfitSession(of: profile.upstream))) }
    do throws(UpstreamFailure) {
      let query = try backend.query(parts, at: provider, for: user)
      backend.exchanges.token(query, parts, user, done)
    } catch {
      done(.failure(error))
    }
  }

  // MARK: At backends

  package func signOut(
    _ request: BackendSignOut, completion: @escaping (UpstreamFailure?) -> Void
  ) {
    guard let backend = backend(of: request.profile) else {
      return turns.later { completion(nil) }
    }
    // A sign-out everywhere may have to renew first, and its refresh token goes to one region alone.
    let use = ReplicaUse.anew(mayBeginTwice: !request.isGlobal)
    perform(request.id, for: request.user, uid: request.user.uid, at: backend, replica: use) {
      backend, done in
      backend.exchanges.signOut(request) { done($0.map { .failure($0) } ?? .success(())) }
    } completion: { (result: Result<Void, UpstreamFailure>, place) in
      completion(result.failure?.of(place, backend.settings))
    }
  }

  package func account(
    _ call: AccountCall,
    completion: @escaping (Result<AccountResult, UpstreamFailure>) -> Void
  ) {
    guard let backend = backend(of: call.profile) else {
      preconditionFailure("a profile without a backend has no accounts")
    }
    let use: ReplicaUse = call.input.isDoneByReplica ? .anew(mayBeginTwice: true) : .never
    perform(call.id, for: nil, uid: call.user.uid, at: backend, replica: use) { backend, done in
      backend.exchanges.account(call, done)
    } completion: { result, place in
      completion(result.mapError { $0.of(place, backend.settings) })
    }
  }

  /// Makes a call at a backend in its turn, in the region that ``PoolReplicas`` chooses.
  ///
  /// - Parameters:
  ///   - user: for whom; nil if no outage may be learned from the call.
  ///   - uid: of the user who asks.
  ///   - place: where the sign-in began; nil for another call.
  private func perform<Outcome>(
    _ id: CallID, for user: UnixUser?, uid: UInt32, at backend: CalledBackend,
    in place: PoolPlace? = nil, replica use: ReplicaUse,
    _ work: @escaping (CalledBackend, @escaping Completion<Outcome>) -> Void,
    completion: @escaping (Result<Outcome, UpstreamFailure>, PoolPlace) -> Void
  ) {
    let call = ReplicaCall(backend: backend.settings, uid: uid, use: use)
    memory.replicas.serve(call, at: place) { [unowned self] place, done in
      turns.perform(id, for: user, in: backend.profile, at: backend.settings, place) {
        work(backend.taking($0, at: place), $1)
      } completion: { (result: Result<Outcome, UpstreamFailure>) in
        done(result)
      }
    } failure: {
      $0.failure
    } completion: {
      completion($0, $1)
    }
  }

  /// The region of the replica that serves a profile's user pool now; nil while the primary does.
  package func replicaInUse(of profile: Profile) -> String? {
    profile.backend.flatMap { memory.replicas.nameInUse($0) }
  }

  package func probe(
    _ request: ProbeRequest, completion: @escaping ([ProbeOutcome]) -> Void
  ) {
    probes.start(request, completion)
  }

  // MARK: Steps of sign-ins

  package func converse(
    _ call: ConversationCall,
    completion: @escaping (PoolConversation.Event, PoolPlace) -> Void
  ) {
    guard let backend = backend(of: call.profile) else {
      preconditionFailure("a profile without a backend has no user pool")
    }
    switch call.step {
    case .compute(let proof):
      turns.register(call.id, in: nil)
      sender.compute(proof, for: backend.upstream) { [unowned self] result in
        guard turns.end(call.id) else { return }
        switch result {
        case .success(let computed): completion(.computed(computed), call.place)
        case .failure(let failure): completion(.failed(failure), call.place)
        }
      }
    case .send(let request):
      // A sign-in ends where it began.
      let use: ReplicaUse =
        request.begins ? .anew(mayBeginTwice: request.mayBeginTwice) : .never
      perform(
        call.id, for: call.user, uid: call.user.uid, at: backend,
        in: request.begins ? nil : call.place, replica: use
      ) { backend, done in
        backend.exchanges.answer(request, done)
      } completion: { result, place in
        switch result {
        case .success(let reply): completion(.replied(reply), place)
        case .failure(let failure): completion(.failed(failure), place)
        }
      }
    }
  }

  package func converse(
    _ call: ProviderCall,
    completion: @escaping (Result<ProviderReply, UpstreamFailure>) -> Void
  ) {
    guard let backend = backend(of: call.profile) else {
      preconditionFailure("a profile without a backend has no provider")
    }
    turns.perform(call.id, for: call.user, in: call.profile, at: backend.settings) {
      [unowned self] (turn: CallTurn, done: @escaping Completion<ProviderReply>) in
      let finish: Completion<ProviderReply> = { [unowned self] result in
        turns.later { done(result) }
      }
      guard let exchanges = ProviderExchanges(backend.taking(turn)) else {
        return finish(.failure(.unfitSession(of: backend.upstream)))
      }
      exchanges.take(call.request, finish)
    } completion: { result in
      completion(result)
    }
  }

  package func logoutURL(of profile: Profile) -> String? {
    backend(of: profile).flatMap { ProviderExchanges($0)?.logoutURL }
  }
}

extension UpstreamFailure {
  /// This failure, made temporary if a replica says that the user is not signed in.
  fileprivate func of(_ place: PoolPlace, _ backend: BackendSettings) -> UpstreamFailure {
    guard place == .replica, code == .signInRequired else { return self }
    return ofReplica(backend.replicaName ?? "")
  }
}

extension UpstreamOutcome {
  fileprivate func ofReplica(_ name: String) -> UpstreamOutcome {
    failure.map { .failed($0.ofReplica(name)) } ?? self
  }
}

extension Profile {
  /// Where a session of the profile gets what it needs first.
  fileprivate var upstream: Upstream {
    if let backend { return .backend(backend.name) }
    return identityPool == nil ? .sts : .cognitoIdentity
  }

  /// The profile whose backend gave a session's tokens, and so renews them.
  func giving(_ session: ProviderSession) -> Profile {
    link.flatMap { $0.plan.backend.issuer == session.issuer ? $0 : nil } ?? self
  }
}

extension Result<UpstreamOutcome, UpstreamFailure> {
  fileprivate var outcome: UpstreamOutcome {
    switch self {
    case .success(let outcome): outcome
    case .failure(let failure): .failed(failure)
    }
  }
}
