import CredCore

/// The queues in which calls wait for their turn: one for each backend, and for each operation of AWS at
/// one host. Each has its own rate, width and outages; all of STS's have one rate together.
struct CallQueues {
  private struct Key: Hashable {
    let upstream: Upstream
    let operation: String
    let host: String
    /// The AWS account whose limit holds; empty where it is not known, or where the caller's makes no
    /// difference.
    var account = ""
  }

  /// The limits of AWS's services. A queue gets another limit with its next call.
  var settings: DaemonSettings
  private var queues: [Key: CallQueue] = [:]
  /// The same queues in the order of their first use, so that the order of service never varies.
  private(set) var inOrder: [CallQueue] = []
  private let rateOfSTS: SharedRate
  /// How often queues were due.
  private var turns = 0

  init(_ settings: DaemonSettings) {
    self.settings = settings
    rateOfSTS = SharedRate(settings.assumeRoleRate)
  }

  /// When the first of the queues has something to do.
  var nextWake: Instant { inOrder.reduce(Instant.distantFuture) { min($0, $1.nextWake) } }

  /// The queues that have something to do now. Those that share a rate take turns, and those in which
  /// clients wait come first.
  mutating func due(_ now: Instant) -> [CallQueue] {
    let due = inOrder.filter { $0.nextWake <= now }
    guard due.count > 1 else { return due }
    turns += 1
    let first = turns % due.count
    let inTurn = due[first...] + due[..<first]
    return inTurn.filter(\.hasCallers) + inTurn.filter { !$0.hasCallers }
  }

  // MARK: Which queue

  /// All profiles assume roles by web identity at one STS in one queue.
  mutating func queueOfRoles(_ sts: STS) -> CallQueue {
    queue("AssumeRoleWithWebIdentity", sts.host, settings.assumeRoleRate, .sts)
  }

  /// The replica of a user pool has its own outages.
  mutating func queue(of backend: BackendSettings, at place: PoolPlace = .primary) -> CallQueue {
    queue(
      Key(
        upstream: .backend(backend.name), operation: place == .replica ? "replica" : "", host: ""),
      Admission.Policy(rate: backend.rateLimit, width: backend.maxParallel))
  }

  /// - Parameter account: of AWS, where a limit holds for it alone.
  mutating func queue(
    _ operation: String, _ host: AWSHost, _ rate: Rate,
    _ upstream: Upstream = .cognitoIdentity, account: String = ""
  ) -> CallQueue {
    queue(
      Key(upstream: upstream, operation: operation, host: host.url, account: account),
      // A service that hangs must not take all connections.
      Admission.Policy(rate: rate, width: max(1, settings.upstreamConnections / 2)))
  }

  private mutating func queue(_ key: Key, _ policy: Admission.Policy) -> CallQueue {
    if key.upstream == .sts { rateOfSTS.apply(policy.rate) }
    if let queue = queues[key] {
      queue.apply(policy)
      return queue
    }
    let queue = CallQueue(
      key.upstream, policy, operation: key.operation,
      shared: key.upstream == .sts ? rateOfSTS : nil)
    queues[key] = queue
    inOrder.append(queue)
    return queue
  }
}
