/// Decides when calls to one upstream endpoint are made: within its rate and width and in a fair
/// order. While the endpoint is unavailable, almost no calls are made.
///
/// Each upstream endpoint has its own value, so that an unavailable endpoint does not delay calls
/// to others. Events go in and actions come out, as in ``SessionMachine``; ``nextWake`` is the time
/// of the next `timePassed`.
public struct Admission: Sendable {
  /// The limits of an upstream endpoint.
  public struct Policy: Sendable, Equatable {
    public var rate: Rate
    /// The most calls under way at once.
    public var width: Int

    public init(rate: Rate, width: Int) {
      self.rate = rate
      self.width = width
    }
  }

  /// A call to be made.
  public struct Call: Sendable, Equatable {
    public let id: CallID
    /// Profiles take turns.
    public let profile: String
    /// Whether a client waits for the call.
    public var isInPerson: Bool
    /// Whether the call repeats a failed one.
    public let isRetry: Bool
    /// Whether the call contains input of a user, like a sign-in. Then its failure is not evidence
    /// of an outage: otherwise a user who makes a backend answer 429 or 500 to one name could block
    /// the backend for all users.
    public let dependsOnUserInput: Bool
    /// The user for whom the call is made; nil if that is unknown.
    public let user: UnixUser?
    /// The account of that user, because one person may have many uids; nil if that is unknown.
    public let account: Account?
    /// Whether the call only checks that the upstream endpoint answers. It waits behind calls for
    /// which a client waits. It is made during an outage too, because people check then. Its result
    /// is not evidence for other calls.
    public let isCheck: Bool

    public init(
      id: CallID, profile: String, isInPerson: Bool, isRetry: Bool,
      dependsOnUserInput: Bool = false, user: UnixUser? = nil, account: Account? = nil,
      isCheck: Bool = false
    ) {
      self.id = id
      self.profile = profile
      self.isInPerson = isInPerson
      self.isRetry = isRetry
      self.dependsOnUserInput = dependsOnUserInput
      self.user = user
      self.account = account ?? user.map { .user($0.uid) }
      self.isCheck = isCheck
    }
  }

  public enum Event: Sendable {
    case asked(Call)
    /// A client now waits for a call for which no client waited before.
    case prioritised(CallID)
    /// A call is no longer wanted. Ignored if it is under way or has ended.
    case cancelled(CallID)
    /// An admitted call was cancelled before it was sent: that says nothing about the endpoint.
    case notSent(CallID)
    /// An admitted call ended, with a failure or without.
    case ended(CallID, UpstreamFailure?)
    /// ``nextWake`` has come.
    case timePassed
  }

  /// An action for the daemon; actions are carried out in order.
  public enum Action: Sendable, Equatable {
    case admit(CallID)
    /// The call is not made and ends with this failure.
    case refuse(CallID, UpstreamFailure)
  }

  /// The most background refreshes that wait. Calls of clients are limited by the number of
  /// connections.
  static let queueLimit = 10_000
  /// The most users with a separate breaker. If there are more, some have none.
  static let usersKept = 1024
  /// How long a call waits for its turn. After that it fails, and the session pauses.
  static let longestWait: Duration = .seconds(60)

  public let upstream: Upstream
  public private(set) var policy: Policy
  private var bucket: TokenBucket
  private var breaker = CircuitBreaker()
  /// Breakers of users whose last calls failed.
  private var ofUsers: [UnixUser: CircuitBreaker] = [:]
  private var budget = RetryBudget()
  private var queue = AdmissionQueue()
  /// Waiting checks, the oldest first: at most ``Limits/Check/underWay``.
  private var checks: [AdmissionQueue.Entry] = []
  /// Admitted calls, and the breakers for which each of them is a probe.
  private var underWay: [CallID: (call: Call, probes: Probes)] = [:]

  private struct Probes: OptionSet {
    let rawValue: UInt8
    static let ofAll = Probes(rawValue: 1)
    static let ofUser = Probes(rawValue: 2)
  }

  /// When the daemon must send `timePassed`, at the latest.
  public private(set) var nextWake = Instant.distantFuture

  public init(_ upstream: Upstream, _ policy: Policy) {
    self.upstream = upstream
    self.policy = policy
    bucket = TokenBucket(policy.rate)
  }

  /// Changes the limits. Waiting calls and calls under way go on.
  public mutating func apply(_ policy: Policy) {
    guard policy != self.policy else { return }
    if policy.rate != self.policy.rate { bucket = TokenBucket(policy.rate) }
    self.policy = policy
  }

  /// Since when the upstream endpoint is unavailable, and when it is tried again; nil while it answers.
  public var outage: (since: Instant, retryAt: Instant)? {
    switch breaker.state {
    case .closed: nil
    case .open(let outage), .probing(let outage): (outage.since, outage.retryAt)
    }
  }

  /// Takes one event.
  ///
  /// - Parameter wallTime: `now` on the wall clock, only for messages.
  public mutating func handle(_ event: Event, now: Instant, wallTime: WallTime) -> [Action] {
    var context = EventContext(now: now, wallTime: wallTime)
    switch event {
    case .asked(let call): accept(call, &context)
    case .prioritised(let id): queue.prioritise(id)
    case .cancelled(let id):
      queue.remove(id)
      checks.removeAll { $0.call.id == id }
    case .notSent(let id):
      if let (call, probes) = underWay.removeValue(forKey: id) { inconclusive(call, probes) }
    case .ended(let id, let failure): end(id, failure, &context)
    case .timePassed: break
    }
    refuseLate(&context)
    admit(&context)
    nextWake = soonest()
    return context.actions
  }

  private struct EventContext {
    let now: Instant
    let wallTime: WallTime
    var actions: [Action] = []
  }

  // MARK: New calls

  private mutating func accept(_ call: Call, _ context: inout EventContext) {
    guard !call.isCheck else {
      return checks.append(AdmissionQueue.Entry(call: call, arrived: context.now))
    }
    if case .refuse(let outage) = breaker.verdict(isInPerson: call.isInPerson, context.now) {
      return context.actions.append(.refuse(call.id, unavailable(outage, context)))
    }
    if let outage = outageOfUser(call, context.now) {
      return context.actions.append(.refuse(call.id, unavailable(outage, context, isOwn: true)))
    }
    if !call.isInPerson {
      if queue.backgroundCount >= Self.queueLimit {
        return context.actions.append(.refuse(call.id, .queueFull(upstream)))
      }
      if call.isRetry, let pause = budget.retry(context.now) {
        return context.actions.append(.refuse(call.id, .retriesUsedUp(upstream, pause)))
      }
    }
    queue.append(call, context.now)
  }

  /// The outage for the user of a call; nil if the call may be made, perhaps as a probe.
  private func outageOfUser(_ call: Call, _ now: Instant) -> CircuitBreaker.Outage? {
    guard let breaker = call.user.flatMap({ ofUsers[$0] }) else { return nil }
    switch (breaker.verdict(isInPerson: call.isInPerson, now), breaker.state) {
    case (.refuse(let outage), _), (.wait, .probing(let outage)): return outage
    default: return nil
    }
  }

  /// - Parameter isOwn: whether the last failure was that of a call of the same user.
  private func unavailable(
    _ outage: CircuitBreaker.Outage, _ context: EventContext, isOwn: Bool = false
  ) -> UpstreamFailure {
    .unavailable(
      outage.failure, isOwn: isOwn, since: context.wallTime + (outage.since - context.now),
      retryAt: context.wallTime + (max(outage.retryAt, context.now) - context.now),
      callersIn: max(outage.callersFrom - context.now, .zero))
  }

  // MARK: Waiting calls

  private mutating func admit(_ context: inout EventContext) {
    while underWay.count < policy.width {
      if let check = checks.first, !queue.hasCallers {
        guard bucket.take(context.now) else { return }
        checks.removeFirst()
        underWay[check.call.id] = (check.call, [])
        context.actions.append(.admit(check.call.id))
        continue
      }
      guard !queue.isEmpty else { return }
      let isProbe: Bool
      switch breaker.verdict(isInPerson: queue.hasCallers, context.now) {
      case .pass: isProbe = false
      case .probe: isProbe = true
      // The upstream endpoint became unavailable while these calls waited.
      case .refuse(let outage):
        refuseAll(unavailable(outage, context), &context)
        continue
      case .wait: return
      }
      guard bucket.take(context.now) else { return }
      guard let call = queue.popFirst() else { return }
      if let outage = outageOfUser(call, context.now) {
        context.actions.append(.refuse(call.id, unavailable(outage, context, isOwn: true)))
        continue
      }
      if isProbe { breaker.probeBegan() }
      var probes = probeOfUser(call, context.now)
      if isProbe { probes.insert(.ofAll) }
      underWay[call.id] = (call, probes)
      context.actions.append(.admit(call.id))
    }
  }

  private mutating func probeOfUser(_ call: Call, _ now: Instant) -> Probes {
    guard let user = call.user, let breaker = ofUsers[user],
      case .probe = breaker.verdict(isInPerson: call.isInPerson, now)
    else { return [] }
    ofUsers[user]?.probeBegan()
    return .ofUser
  }

  private mutating func end(
    _ id: CallID, _ failure: UpstreamFailure?, _ context: inout EventContext
  ) {
    guard let (call, probes) = underWay.removeValue(forKey: id), !call.isCheck else { return }
    if failure == nil { budget.succeeded(wasRetry: call.isRetry) }
    if let failure, failure.failureClass.isTransient, call.dependsOnUserInput {
      inconclusive(call, probes)
    } else {
      breaker.ended(failure, of: call.account, wasProbe: probes.contains(.ofAll), context.now)
      endForUser(call, failure, probes, context.now)
    }
  }

  private mutating func endForUser(
    _ call: Call, _ failure: UpstreamFailure?, _ probes: Probes, _ now: Instant
  ) {
    guard let user = call.user else { return }
    var breaker = ofUsers[user] ?? CircuitBreaker(isShared: false)
    breaker.ended(failure, of: .user(user.uid), wasProbe: probes.contains(.ofUser), now)
    let hasRoom = ofUsers[user] != nil || ofUsers.count < Self.usersKept
    ofUsers[user] = breaker.isIdle || !hasRoom ? nil : breaker
  }

  private mutating func inconclusive(_ call: Call, _ probes: Probes) {
    breaker.inconclusive(wasProbe: probes.contains(.ofAll))
    guard let user = call.user else { return }
    ofUsers[user]?.inconclusive(wasProbe: probes.contains(.ofUser))
  }

  private mutating func refuseAll(_ failure: UpstreamFailure, _ context: inout EventContext) {
    for id in queue.removeAll() { context.actions.append(.refuse(id, failure)) }
  }

  private mutating func refuseLate(_ context: inout EventContext) {
    while let oldest = queue.oldest(), oldest.arrived + Self.longestWait <= context.now {
      queue.remove(oldest.id)
      context.actions.append(.refuse(oldest.id, .queueFull(upstream)))
    }
    while let oldest = checks.first, oldest.arrived + Self.longestWait <= context.now {
      checks.removeFirst()
      context.actions.append(.refuse(oldest.call.id, .queueFull(upstream)))
    }
  }

  private mutating func soonest() -> Instant {
    let arrivals = [queue.oldest()?.arrived, checks.first?.arrived]
    guard let oldest = arrivals.compactMap(\.self).min() else { return .distantFuture }
    let late = oldest + Self.longestWait
    // If the width is used up, or a probe is under way, a further call must wait until one ends.
    guard underWay.count < policy.width else { return late }
    if case .probing = breaker.state, checks.isEmpty || queue.hasCallers { return late }
    return min(late, bucket.nextToken)
  }
}

extension UpstreamFailure {
  /// A call that was not made because the upstream endpoint is unavailable.
  ///
  /// - Parameters:
  ///   - failure: the last failure of the upstream endpoint.
  ///   - isOwn: whether that failure was of a call of the same user.
  ///   - callersIn: the time until a call with a waiting client is tried.
  static func unavailable(
    _ failure: UpstreamFailure, isOwn: Bool = false, since: WallTime, retryAt: WallTime,
    callersIn: Duration
  ) -> Self {
    let (what, failureClass): (String, FailureClass) =
      if case .throttled = failure.failureClass {
        ("throttled", .throttled(retryAfter: callersIn))
      } else {
        ("offline", .transient(retryAfter: callersIn))
      }
    let times = "\(what) since \(since.iso8601), retrying at \(retryAt.iso8601): "
    var unavailable = Self(
      upstream: failure.upstream, failureClass: failureClass, code: failure.code,
      message: "\(times)\(isOwn ? failure.message : failure.summary)",
      summary: "\(times)\(failure.summary)", severity: .expected)
    unavailable.isWithheld = true
    unavailable.reason = failure.reason
    // The URL in the detail may name another user.
    if isOwn { unavailable.detail = failure.detail }
    return unavailable
  }

  /// A call that was not made because too many wait before it.
  static func queueFull(_ upstream: Upstream) -> Self {
    var full = Self(upstream, FailureTable.queueFull, retryAfter: .seconds(5))
    full.isWithheld = true
    return full
  }

  /// A check that was not made because its time was over.
  public static func notAsked(_ upstream: Upstream) -> Self {
    var notAsked = Self(upstream, FailureTable.notAsked)
    notAsked.isWithheld = true
    return notAsked
  }

  /// A retry that was not made because too many retries fail.
  static func retriesUsedUp(_ upstream: Upstream, _ pause: Duration) -> Self {
    var usedUp = Self(upstream, FailureTable.retriesUsedUp, retryAfter: pause)
    usedUp.isWithheld = true
    return usedUp
  }
}
