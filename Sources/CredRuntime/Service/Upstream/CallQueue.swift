internal import CredCore

/// Where calls to one endpoint wait for their turn: does what its ``Admission`` decides.
final class Gate {
  private var admission: Admission
  private var waiting: [CallID: CheckedContinuation<UpstreamFailure?, Never>] = [:]

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
    if case .cancelled(let id) = event {
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

/// Which gate a call goes through.
extension UpstreamClient {
  /// What has its own rate, width and outages: a backend, or one operation of AWS at one host.
  struct Endpoint: Hashable {
    let upstream: Upstream
    let operation: String
    let host: String
  }

  /// A call's place among those that wait.
  struct Ticket: Sendable {
    let id: CallID
    let isRetry: Bool
  }

  /// A place for a call that is about to be performed. It may be hurried or withdrawn from now on.
  func issueTicket(isInPerson: Bool, isRetry: Bool) -> Ticket {
    let id = tickets.next()
    issued[id] = isInPerson
    return Ticket(id: id, isRetry: isRetry)
  }

  /// Makes a call when its turn has come.
  func perform(
    _ call: UpstreamCall, _ profile: Profile, _ user: User, _ ticket: Ticket
  ) async -> UpstreamOutcome {
    guard let gate = gate(of: call, profile) else {
      issued[ticket.id] = nil
      return await make(call, profile, user)
    }
    if let failure = await enter(gate, profile, ticket, dependsOnUserInput: call.isSignIn) {
      return .failed(failure)
    }
    let outcome = await make(call, profile, user)
    leave(gate, ticket, outcome.failure)
    return outcome
  }

  /// Tells a backend of a sign-out when its turn has come.
  func perform(_ farewell: Farewell) async -> UpstreamFailure? {
    guard let backend = farewell.profile.backend else { return nil }
    let gate = gate(of: backend)
    let ticket = issueTicket(isInPerson: true, isRetry: false)
    if let failure = await enter(gate, farewell.profile, ticket, dependsOnUserInput: true) {
      return failure
    }
    let failure = await signOut(farewell)
    leave(gate, ticket, failure)
    return failure
  }

  /// A call that may be waiting is wanted more, or no longer.
  func handle(_ event: Admission.Event, of ticket: CallID) {
    // Its task may not have begun yet.
    if issued[ticket] != nil {
      if case .prioritised = event { issued[ticket] = true } else { issued[ticket] = nil }
    }
    places[ticket]?.handle(event, loop)
    armTimer()
  }

  private func enter(
    _ gate: Gate, _ profile: Profile, _ ticket: Ticket, dependsOnUserInput: Bool
  ) async -> UpstreamFailure? {
    guard let isInPerson = issued.removeValue(forKey: ticket.id) else {
      return gate.withdrawn
    }
    places[ticket.id] = gate
    let failure = await gate.enter(
      Admission.Call(
        id: ticket.id, profile: profile.settings.name, isInPerson: isInPerson,
        isRetry: ticket.isRetry, dependsOnUserInput: dependsOnUserInput), loop, armTimer)
    places[ticket.id] = nil
    return failure
  }

  private func leave(_ gate: Gate, _ ticket: Ticket, _ failure: UpstreamFailure?) {
    gate.handle(.ended(ticket.id, failure), loop)
    armTimer()
  }

  func wakeGates() {
    let now = loop.now
    for gate in gates.values where gate.nextWake <= now { gate.handle(.timePassed, loop) }
    armTimer()
  }

  private func armTimer() {
    let next = gates.values.map(\.nextWake).min() ?? .distantFuture
    timer?.arm(at: next == .distantFuture ? nil : next)
  }

  // MARK: Endpoints

  private func gate(of call: UpstreamCall, _ profile: Profile) -> Gate? {
    switch call {
    case .readTokenFile: nil
    case .signIn, .tokenCallback: profile.backend.map(gate)
    case .getID: gate(.cognitoIdentity, "GetId", profile.cognito.endpoint, daemon.getIDRate)
    case .getOpenIDToken:
      gate(
        .cognitoIdentity, "GetOpenIdToken", profile.cognito.endpoint, daemon.getOpenIDTokenRate)
    case .getCredentials:
      gate(
        .cognitoIdentity, "GetCredentialsForIdentity", profile.cognito.endpoint,
        daemon.getCredentialsRate)
    case .assumeRole:
      gate(.sts, "AssumeRoleWithWebIdentity", profile.sts.endpoint, daemon.assumeRoleRate)
    }
  }

  private func gate(of backend: BackendSettings) -> Gate {
    let upstream = Upstream.backend(backend.name)
    return gate(
      Endpoint(upstream: upstream, operation: "", host: ""),
      Admission.Policy(rate: backend.rateLimit, width: backend.maxParallel))
  }

  private func gate(
    _ upstream: Upstream, _ operation: String, _ endpoint: AWSEndpoint, _ rate: Rate
  ) -> Gate {
    gate(
      Endpoint(upstream: upstream, operation: operation, host: endpoint.url),
      // A service that hangs leaves connections for others.
      Admission.Policy(rate: rate, width: max(1, daemon.upstreamConnections / 2)))
  }

  private func gate(_ endpoint: Endpoint, _ policy: Admission.Policy) -> Gate {
    if let gate = gates[endpoint] {
      gate.adopt(policy)
      return gate
    }
    let gate = Gate(endpoint.upstream, policy)
    gates[endpoint] = gate
    return gate
  }
}

extension UpstreamCall {
  fileprivate var isSignIn: Bool {
    if case .signIn = self { true } else { false }
  }
}

extension UpstreamOutcome {
  fileprivate var failure: UpstreamFailure? {
    if case .failed(let failure) = self { failure } else { nil }
  }
}
