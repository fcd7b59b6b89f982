/// Decides when calls to one upstream endpoint are made: within its rate and width and in a fair
/// order. While the endpoint is unavailable, almost no calls are made.
///
/// The rate counts requests: a call that sends another one, such as a second try, is admitted again for
/// it, before all calls that have not begun.
///
/// Each upstream endpoint has a separate value, so that an unavailable endpoint does not delay
/// calls to others. Events go in and actions come out, as in ``SessionMachine``. ``nextWake`` is
/// the time of the next `timePassed`.
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
    /// Profiles are served round robin.
    public let profile: String
    /// Whether a client waits for the call.
    public var isInPerson: Bool
    /// Whether the call repeats a failed one.
    public let isRetry: Bool
    /// Whether the call contains input of a user, like a sign-in. Then its failure is not evidence
    /// of an outage. Otherwise a user could make a backend answer 429 or 500 to one name, and so
    /// block the backend for all users.
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
    /// A call under way is to send one more request.
    case askedAgain(CallID)
    /// A call is no longer wanted. Ignored if its request is under way, or if it has ended.
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
    /// The call may send its request; after `askedAgain`, one more.
    case admit(CallID)
    /// The call is not made and ends with this failure. After `askedAgain` its next request is not sent,
    /// and the call is under way until the daemon reports its end.
    case refuse(CallID, UpstreamFailure)
  }

  /// The most background refreshes that wait. Calls of clients are limited by the number of
  /// connections.
  static let queueLimit = 10_000
  /// The most users with a separate breaker. If there are more, some have none.
  static let usersKept = 1024
  /// How long a call waits until it is admitted. After that it fails, and the session pauses.
  static let longestWait: Duration = .seconds(60)

  public let upstream: Upstream
  public private(set) var policy: Policy
  /// Upstream endpoints that share a rate hand it on.
  public var bucket: TokenBucket
  private var breaker = CircuitBreaker()
  /// Breakers of single users, after calls of the user that failed.
  private var ofUsers: [UnixUser: CircuitBreaker] = [:]
  private var budget = RetryBudget()
  private var queue = AdmissionQueue()
  /// Waiting checks, the oldest first: at most ``Limits/Check/underWay``.
  private var checks: [AdmissionQueue.Entry] = []
  /// Admitted calls, and the breakers for which each of them is a probe.
  private var underWay: [CallID: (call: Call, probes: Probes)] = [:]
  /// Those of them that wait to send one more request, the oldest first. They count as under way, so
  /// there are at most as many as the width.
  private var further: [(id: CallID, since: Instant)] = []

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

  /// Whether clients wait for calls that are not admitted yet.
  public var hasCallers: Bool { queue.hasCallers }

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
    case .askedAgain(let id): acceptFurther(id, &context)
    case .cancelled(let id):
      queue.remove(id)
      checks.removeAll { $0.call.id == id }
      if leaveFurther(id) { leave(id) }
    case .notSent(let id): leave(id)
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

  /// The call has begun, so an outage does not stop it: a refresh token that was sent with unknown
  /// outcome is good for some seconds more.
  private mutating func acceptFurther(_ id: CallID, _ context: inout EventContext) {
    guard underWay[id] != nil else {
      // It has ended, and nobody waits for it.
      return context.actions.append(.refuse(id, .queueFull(upstream)))
    }
    further.append((id, context.now))
  }

  /// Returns whether the call waited to send one more request.
  private mutating func leaveFurther(_ id: CallID) -> Bool {
    guard let index = further.firstIndex(where: { $0.id == id }) else { return false }
    further.remove(at: index)
    return true
  }

  /// A call ends of which nothing is known.
  private mutating func leave(_ id: CallID) {
    if let (call, probes) = underWay.removeValue(forKey: id) { inconclusive(call, probes) }
  }

  /// The outage for the user of a call; nil if the call may be made, perhaps as a probe.
  private func outageOfUser(_ call: Call, _ now: Instant) -> CircuitBreaker.Outage? {
    guard let breaker = call.user.flatMap({ ofUsers[$0] }) else { return nil }
    switch (breaker.verdict(isInPerson: call.isInPerson, now), breaker.state) {
    case (.refuse(let outage), _), (.wait, .probing(let outage)): return outage
    default: return nil
    }
  }

  /// - Parameter isOwn: whether a call of the same user was the last one that failed.
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
    while let next = further.first {
      guard bucket.take(context.now) else { return }
      further.removeFirst()
      context.actions.append(.admit(next.id))
    }
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
    while let oldest = further.first, oldest.since + Self.longestWait <= context.now {
      further.removeFirst()
      context.actions.append(.refuse(oldest.id, .queueFull(upstream)))
    }
  }

  private mutating func soonest() -> Instant {
    let arrivals = [queue.oldest()?.arrived, checks.first?.arrived, further.first?.since]
    guard let oldest = arrivals.compactMap(\.self).min() else { return .distantFuture }
    let late = oldest + Self.longestWait
    guard further.isEmpty else { return min(late, bucket.nextToken) }
    // If the width is used up, or a probe is under way, a further call must wait until one ends.
    guard underWay.count < policy.width else { return late }
    if case .probing = breaker.state, checks.isEmpty || queue.hasCallers { return late }
    return min(late, bucket.nextToken)
  }
}
