package import CredCore
package import Logging

/// Makes the calls of sessions: waits for their turn, turns them into exchanges, reads the replies.
///
/// Every call ends: its turn, its files, its request and its command have deadlines.
package final class UpstreamClient: UpstreamPerforming {
  /// Everything needed to make calls.
  package struct Services {
    let clock: any Clock
    let background: any Background
    let queries: any HostQueries
    let http: any HTTPSending
    let commands: any CommandRunning
    let crypto: any CryptoLoading
    /// This host's name, for `{host}` in templates.
    let hostName: String
    let log: Logger

    package init(
      clock: any Clock, background: any Background, queries: any HostQueries,
      http: any HTTPSending, commands: any CommandRunning, crypto: any CryptoLoading,
      hostName: String, log: Logger
    ) {
      self.clock = clock
      self.background = background
      self.queries = queries
      self.http = http
      self.commands = commands
      self.crypto = crypto
      self.hostName = hostName
      self.log = log
    }
  }

  /// A file that the configuration names by a key.
  struct NamedFile: Hashable {
    let path: String
    let key: String
  }

  typealias FileContent = Result<Secret, InvalidInput>

  typealias Completion<Value> = (Result<Value, UpstreamFailure>) -> Void

  let services: Services
  /// Generates uids of devices at sample servers.
  var random: any RandomNumberGenerator
  let developerCredentials: DeveloperCredentialsCache
  /// The discovery documents that were read.
  var providers: [ProviderKey: KnownProvider] = [:]
  /// Files that are being read, with the calls that wait for them: a file on a dead disk takes one
  /// thread and leaves the others to files that can be read.
  var filesBeingRead: [NamedFile: [(FileContent?) -> Void]] = [:]
  /// Those of them that missed their deadline.
  var hangingFiles: Set<NamedFile> = []
  var queues: CallQueues
  /// Calls that have begun or wait for their turn.
  private var calls: [CallID: PendingCall] = [:]
  /// Completions that are due but would come within `start`.
  private var deferred = DeferredWork()
  package var requestEnded: ((EndedRequest) -> Void)?
  /// For all queues, and for what is deferred.
  private var timer: (any Timer)?

  private struct PendingCall {
    /// Nil if the outcome is no longer wanted.
    var completion: ((UpstreamOutcome) -> Void)?
    let queue: CallQueue?
    var isCancelled = false
    /// Whether its request has gone out, or what was prepared in its place.
    var isSent = false
  }

  /// An exchange that takes longer ends as a failure and is tried again.
  static let awsTimeout: Duration = .seconds(10)
  /// The same for a small file that the configuration names.
  static let fileTimeout: Duration = .seconds(5)

  /// Clients are served again after this time.
  private static let turnTime: Duration = .microseconds(25)

  package init(
    _ services: Services, settings: DaemonSettings, random: any RandomNumberGenerator
  ) {
    self.services = services
    queues = CallQueues(settings)
    self.random = random
    developerCredentials = Self.makeDeveloperCredentials(services, random: random)
    timer = services.clock.makeTimer { [unowned self] in self.timerFired() }
  }

  /// Drops what belongs to the old backends and limits. Queues stay, with their outages, and get
  /// the limits of their next call.
  package func apply(_ settings: DaemonSettings) {
    queues.settings = settings
    developerCredentials.removeAll()
    providers = [:]
  }

  package var callCount: Int { calls.count }

  // MARK: Calls

  package func start(
    _ request: CallRequest, completion: @escaping (UpstreamOutcome) -> Void
  ) {
    let queue = queues.queue(for: request)
    calls[request.id] = PendingCall(completion: completion, queue: queue)
    guard let queue else {
      return make(request) { [unowned self] outcome in
        self.finish(request.id, outcome)
      }
    }
    let call = Admission.Call(
      id: request.id, profile: request.profile.settings.name, isInPerson: request.isInPerson,
      isRetry: request.isRetry, dependsOnUserInput: request.call.dependsOnUserInput,
      user: request.user)
    queue.enter(call, services.clock) { [unowned self] refusal in
      later { [unowned self] in begin(request, queue, refusal) }
    }
    armTimer()
  }

  /// A call has had its turn.
  private func begin(_ request: CallRequest, _ queue: CallQueue, _ refusal: UpstreamFailure?) {
    if let refusal { return finish(request.id, .failed(refusal)) }
    guard isWanted(request.id) else { return }
    make(request) { [unowned self] outcome in
      callEnded(queue, request.id, outcome.failure)
      if !request.call.dependsOnUserInput || outcome.failure == nil {
        logOutage(of: queue, outcome.failure, request.user)
      }
      finish(request.id, outcome)
    }
  }

  package func signOut(
    _ request: BackendSignOut, completion: @escaping (UpstreamFailure?) -> Void
  ) {
    guard let backend = request.profile.backend else { return later { completion(nil) } }
    perform(request.id, for: request.user, in: request.profile, at: backend) {
      [unowned self] (done: @escaping Completion<Void>) in
      signOutAtBackend(request) { done($0.map { .failure($0) } ?? .success(())) }
    } completion: {
      completion($0.failure)
    }
  }

  package func account(
    _ call: AccountCall,
    completion: @escaping (Result<AccountResult, UpstreamFailure>) -> Void
  ) {
    guard let backend = call.profile.backend else {
      preconditionFailure("a profile without a backend has no accounts")
    }
    perform(call.id, for: nil, in: call.profile, at: backend) {
      [unowned self] (done: @escaping Completion<AccountResult>) in
      if case .userPool = backend.kind { return poolAccount(call, done) }
      guard case .signUp(let signUp) = call.input else {
        preconditionFailure("the profile refuses what its backend does not do")
      }
      signUpAtBackend(signUp, call.user, backend) { result in
        done(result.map { .signedUp($0) })
      }
    } completion: {
      completion($0)
    }
  }

  /// Does something at a backend that is no session's call, in its turn.
  func perform<Outcome>(
    _ id: CallID, for user: UnixUser?, in profile: Profile, at backend: BackendSettings,
    _ work: @escaping (@escaping Completion<Outcome>) -> Void,
    completion: @escaping Completion<Outcome>
  ) {
    perform(
      Admission.Call(
        id: id, profile: profile.settings.name, isInPerson: true, isRetry: false,
        dependsOnUserInput: true, user: user),
      in: queues.queue(of: backend), work, completion: completion)
  }

  /// The same in the turn of any queue.
  func perform<Outcome>(
    _ call: Admission.Call, in queue: CallQueue,
    _ work: @escaping (@escaping Completion<Outcome>) -> Void,
    completion: @escaping Completion<Outcome>
  ) {
    let id = call.id
    register(id, in: queue)
    queue.enter(call, services.clock) { [unowned self] refusal in
      if let refusal {
        return later { [unowned self] in
          if end(id) { completion(.failure(refusal)) }
        }
      }
      calls[id]?.isSent = true
      work { [unowned self] result in
        callEnded(queue, id, result.failure)
        if end(id) { completion(result) }
      }
    }
    armTimer()
  }

  /// Registers something that is no session's call.
  func register(_ id: CallID, in queue: CallQueue?) {
    calls[id] = PendingCall(completion: nil, queue: queue)
  }

  /// - Returns: whether its outcome is wanted.
  func end(_ id: CallID) -> Bool {
    calls.removeValue(forKey: id).map { !$0.isCancelled } ?? false
  }

  package func prioritise(_ id: CallID) {
    calls[id]?.queue?.handle(.prioritised(id), services.clock)
    armTimer()
  }

  package func withdraw(_ id: CallID) -> Bool {
    guard let call = calls[id], !call.isSent else { return false }
    cancel(id)
    return true
  }

  package func cancel(_ id: CallID) {
    guard let call = calls[id] else { return }
    calls[id]?.completion = nil
    calls[id]?.isCancelled = true
    guard let queue = call.queue, queue.withdraw(id, services.clock) else { return }
    // The call waited for its turn and was not sent.
    calls[id] = nil
    armTimer()
  }

  /// Whether a prepared call is sent now.
  func mayBeSent(_ id: CallID) -> Bool {
    guard isWanted(id) else { return false }
    calls[id]?.isSent = true
    return true
  }

  /// Whether the outcome of a call whose turn has come is still wanted. If not, the call gives its
  /// place to the next one.
  private func isWanted(_ id: CallID) -> Bool {
    if calls[id]?.completion != nil { return true }
    let call = calls.removeValue(forKey: id)
    call?.queue?.handle(.notSent(id), services.clock)
    armTimer()
    return false
  }

  private func finish(_ id: CallID, _ outcome: UpstreamOutcome) {
    calls.removeValue(forKey: id)?.completion?(outcome)
  }

  private func callEnded(_ queue: CallQueue, _ id: CallID, _ failure: UpstreamFailure?) {
    queue.handle(.ended(id, failure), services.clock)
    armTimer()
  }

  /// An outage is logged once when it begins, and once when it ends.
  private func logOutage(of queue: CallQueue, _ failure: UpstreamFailure?, _ user: UnixUser) {
    let now = services.clock.now
    guard let change = queue.recordEnd(failure, of: user, now) else { return }
    var metadata: Logger.Metadata = ["upstream": "\(queue.upstream)"]
    if !queue.operation.isEmpty { metadata["operation"] = "\(queue.operation)" }
    switch change {
    case .began(let failure, let since, let isOfOneUser):
      metadata["since"] = "\((services.clock.wallTime + (since - now)).iso8601)"
      metadata["detail"] = failure.detail.map { "\($0)" }
      if isOfOneUser { metadata["for_uid"] = "\(user.uid)" }
      services.log.log(
        .upstreamUnavailable, .warning, "calls fail: \(failure.summary)", metadata)
    case .ended(let length):
      metadata["seconds"] = "\(length.components.seconds)"
      services.log.log(
        .upstreamAvailable, .notice,
        "\(queue.upstream) works again, after \(length.components.seconds) s", metadata)
    }
  }

  // MARK: Later

  /// Runs `work` when the present event is over.
  func later(_ work: @escaping () -> Void) {
    deferred.append(work)
    armTimer()
  }

  private func timerFired() {
    let now = services.clock.now
    // A call that ends may need a queue that there was not.
    for queue in queues.inOrder where queue.nextWake <= now {
      queue.handle(.timePassed, services.clock)
    }
    runDeferred()
    armTimer()
  }

  /// Runs the deferred work for as long as other sources of the loop may run: 10,000 calls may end at
  /// once when an endpoint stops answering. Work that is deferred meanwhile waits for the next time.
  private func runDeferred() {
    let end = services.clock.now + Self.turnTime
    var left = deferred.count
    while left > 0, let work = deferred.popFirst() {
      work()
      left -= 1
      guard services.clock.now < end else { return }
    }
  }

  private func armTimer() {
    guard deferred.isEmpty else { return arm(services.clock.now) }
    let next = queues.nextWake
    arm(next == .distantFuture ? nil : next)
  }

  private func arm(_ deadline: Instant?) { timer?.arm(at: deadline) }
}

extension Profile {
  /// The profile by whose backend a session's tokens are renewed: the one that gave them.
  func giving(_ session: PoolSession) -> Profile {
    link.flatMap { $0.plan.backend.issuer == session.issuer ? $0 : nil } ?? self
  }
}

extension UpstreamCall {
  /// The call depends on one user's input: its failure says nothing about calls of other users.
  fileprivate var dependsOnUserInput: Bool {
    if case .signIn = self { true } else { false }
  }
}

extension UpstreamOutcome {
  fileprivate var failure: UpstreamFailure? {
    if case .failed(let failure) = self { failure } else { nil }
  }
}
