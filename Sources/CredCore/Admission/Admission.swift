/// Which calls to one endpoint are made, and when: within its rate and width, in a fair order, and
/// hardly any while it does not answer.
///
/// Each endpoint has its own, so that one that is away holds up nobody else. Events go in, actions
/// come out, as with ``SessionMachine``; ``nextWake`` says when time has to be told.
public struct Admission: Sendable {
  /// What an endpoint bears.
  public struct Policy: Sendable, Equatable {
    public var rate: Rate
    /// Calls under way at once.
    public var width: Int

    public init(rate: Rate, width: Int) {
      self.rate = rate
      self.width = width
    }
  }

  /// A call that wants to be made.
  public struct Call: Sendable, Equatable {
    public let id: CallID
    /// Whose turn it uses: the profile.
    public let lane: String
    /// Somebody waits for it.
    public var isInPerson: Bool
    /// One like it has failed just before.
    public let isRetry: Bool
    /// What one user made up is in it, as in a sign-in. That it fails says nothing about the calls of
    /// others: else whoever gets a backend to answer 429 or 500 to one name takes it from everyone.
    public let isOfUsersMaking: Bool

    public init(
      id: CallID, lane: String, isInPerson: Bool, isRetry: Bool, isOfUsersMaking: Bool = false
    ) {
      self.id = id
      self.lane = lane
      self.isInPerson = isInPerson
      self.isRetry = isRetry
      self.isOfUsersMaking = isOfUsersMaking
    }
  }

  /// What happens.
  public enum Event: Sendable {
    case asked(Call)
    /// Somebody waits for a call that nobody waited for.
    case hurried(CallID)
    /// A call is wanted no longer. Ignored where it is under way or gone.
    case withdrawn(CallID)
    /// A call that was admitted ended; with its failure, if it failed.
    case ended(CallID, UpstreamFailure?)
    /// ``nextWake`` has come.
    case timePassed
  }

  /// What the daemon does, in order.
  public enum Action: Sendable, Equatable {
    case admit(CallID)
    /// The call is not made; it ends with this failure.
    case refuse(CallID, UpstreamFailure)
  }

  /// Background refreshes that wait. Callers in person have a connection each, which bounds them.
  static let queueLimit = 10_000
  /// How long a call waits for its turn. Longer, and the session had better rest.
  static let longestWait: Duration = .seconds(60)

  public let upstream: Upstream
  public private(set) var policy: Policy
  private var bucket: TokenBucket
  private var breaker = CircuitBreaker()
  private var budget = RetryBudget()
  private var queue = FairQueue()
  /// By id, and which of them is a probe.
  private var underWay: [CallID: (call: Call, isProbe: Bool)] = [:]
  /// When the daemon must send `timePassed`, at the latest.
  public private(set) var nextWake = Instant.distantFuture

  public init(_ upstream: Upstream, _ policy: Policy) {
    self.upstream = upstream
    self.policy = policy
    bucket = TokenBucket(policy.rate)
  }

  /// Other limits from now on; what waits and what is under way goes on.
  public mutating func adopt(_ policy: Policy) {
    guard policy != self.policy else { return }
    if policy.rate != self.policy.rate { bucket = TokenBucket(policy.rate) }
    self.policy = policy
  }

  /// Calls that wait for their turn.
  public var waitingCount: Int { queue.count }

  /// Calls that were let through and have not ended.
  public var underWayCount: Int { underWay.count }

  /// Since when the endpoint has not answered, and when it is called again; nil while it answers.
  public var outage: (since: Instant, retryAt: Instant)? {
    switch breaker.state {
    case .closed: nil
    case .open(let outage), .probing(let outage): (outage.since, outage.retryAt)
    }
  }

  /// Takes one event.
  ///
  /// - Parameter wallTime: `now` on the wall clock, for words alone.
  public mutating func handle(_ event: Event, now: Instant, wallTime: WallTime) -> [Action] {
    var turn = Turn(now: now, wallTime: wallTime)
    switch event {
    case .asked(let call):
      accept(call, &turn)
    case .hurried(let id):
      queue.hurry(id)
    case .withdrawn(let id):
      queue.remove(id)
    case .ended(let id, let failure):
      end(id, failure, &turn)
    case .timePassed:
      break
    }
    dismissLate(&turn)
    admit(&turn)
    nextWake = soonest()
    return turn.actions
  }

  private struct Turn {
    let now: Instant
    let wallTime: WallTime
    var actions: [Action] = []
  }

  // MARK: Coming

  private mutating func accept(_ call: Call, _ turn: inout Turn) {
    if case .refuse(let outage) = breaker.verdict(isInPerson: call.isInPerson, turn.now) {
      return turn.actions.append(.refuse(call.id, away(outage, turn)))
    }
    if !call.isInPerson {
      if queue.backgroundCount >= Self.queueLimit {
        return turn.actions.append(.refuse(call.id, .crowded(upstream)))
      }
      if call.isRetry, let pause = budget.retry(turn.now) {
        return turn.actions.append(.refuse(call.id, .retriesUsedUp(upstream, pause)))
      }
    }
    queue.append(call, turn.now)
  }

  private func away(_ outage: CircuitBreaker.Outage, _ turn: Turn) -> UpstreamFailure {
    .away(
      outage.failure, since: turn.wallTime + (outage.since - turn.now),
      retryAt: turn.wallTime + (max(outage.retryAt, turn.now) - turn.now),
      callersIn: max(outage.callersFrom - turn.now, .zero))
  }

  // MARK: Going

  private mutating func admit(_ turn: inout Turn) {
    while !queue.isEmpty, underWay.count < policy.width {
      let isProbe: Bool
      switch breaker.verdict(isInPerson: queue.hasCallers, turn.now) {
      case .pass: isProbe = false
      case .probe: isProbe = true
      // Refused where it waited for a place while the endpoint went away.
      case .refuse(let outage): return refuseAll(away(outage, turn), &turn)
      case .wait: return
      }
      guard bucket.take(turn.now) else { return }
      guard let call = queue.popFirst() else { return }
      if isProbe { breaker.probeBegan() }
      underWay[call.id] = (call, isProbe)
      turn.actions.append(.admit(call.id))
    }
  }

  private mutating func end(_ id: CallID, _ failure: UpstreamFailure?, _ turn: inout Turn) {
    guard let (call, isProbe) = underWay.removeValue(forKey: id) else { return }
    if failure == nil { budget.succeeded(wasRetry: call.isRetry) }
    if let failure, failure.failureClass.isTransient, call.isOfUsersMaking {
      breaker.learntNothing(wasProbe: isProbe)
    } else {
      breaker.ended(failure, wasProbe: isProbe, turn.now)
    }
  }

  private mutating func refuseAll(_ failure: UpstreamFailure, _ turn: inout Turn) {
    for id in queue.removeAll() { turn.actions.append(.refuse(id, failure)) }
  }

  private mutating func dismissLate(_ turn: inout Turn) {
    while let oldest = queue.oldest(), oldest.arrived + Self.longestWait <= turn.now {
      queue.remove(oldest.id)
      turn.actions.append(.refuse(oldest.id, .crowded(upstream)))
    }
  }

  private mutating func soonest() -> Instant {
    guard let oldest = queue.oldest() else { return .distantFuture }
    let late = oldest.arrived + Self.longestWait
    // Whoever waits for a place or for a probe goes on when a call ends.
    guard underWay.count < policy.width else { return late }
    if case .probing = breaker.state { return late }
    return min(late, bucket.nextToken)
  }
}

extension UpstreamFailure {
  /// A call that was not made, because those before it were not answered.
  ///
  /// - Parameters:
  ///   - failure: the last of them.
  ///   - callersIn: from when on a caller in person is a reason to try.
  static func away(
    _ failure: UpstreamFailure, since: WallTime, retryAt: WallTime, callersIn: Duration
  ) -> Self {
    let (what, failureClass): (String, FailureClass) =
      if case .throttled = failure.failureClass {
        ("throttled", .throttled(retryAfter: callersIn))
      } else {
        ("offline", .transient(retryAfter: callersIn))
      }
    var away = Self(
      upstream: failure.upstream, failureClass: failureClass, code: failure.code,
      message:
        "\(what) since \(since.iso8601), retrying at \(retryAt.iso8601): \(failure.message)",
      severity: .expected)
    away.isWithheld = true
    return away
  }

  /// A call that found too many before it.
  static func crowded(_ upstream: Upstream) -> Self {
    var crowded = Self(upstream, FailureTable.crowded, retryAfter: .seconds(5), said: nil)
    crowded.isWithheld = true
    return crowded
  }

  /// A retry too many, while most of them fail.
  static func retriesUsedUp(_ upstream: Upstream, _ pause: Duration) -> Self {
    var usedUp = Self(upstream, FailureTable.retriesUsedUp, retryAfter: pause, said: nil)
    usedUp.isWithheld = true
    return usedUp
  }
}
