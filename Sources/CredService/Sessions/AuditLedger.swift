import CredCore

/// The processes that got the present credentials of a session.
struct AuditLedger {
  /// The last process that got credentials, for `status`.
  struct Caller: Equatable {
    let pid: Int32
    let unit: String?
  }

  /// The most processes that are remembered. If there are more, some are recorded twice.
  static let processesKept = 256

  /// How long a pid is assumed to be the same process. The kernel uses all other pids before it
  /// reuses one.
  static let trustedFor: Duration = .seconds(60)

  /// The credentials that the ledger is about.
  private var credentials: (key: String, received: Instant)?
  /// The first process, and when it was last identified. Most sessions have only one process, so
  /// they need no dictionary.
  private var first: (pid: Int32, seen: Instant)?
  private var others: [Int32: Instant] = [:]
  private(set) var lastCaller: Caller?

  /// Starts again if the credentials are not the same as before.
  mutating func begin(_ key: String, received: Instant) {
    if let credentials, credentials == (key, received) { return }
    credentials = (key, received)
    first = nil
    others = [:]
  }

  /// Whether this is the first time that the process gets the credentials.
  ///
  /// - Parameter started: when the process began; nil if unknown.
  mutating func isNew(_ pid: Int32, now: Instant, started: () -> Instant?) -> Bool {
    // All processes outside this daemon's pid namespace have the pid 0.
    guard pid > 0 else { return true }
    let seen = first?.pid == pid ? first?.seen : others[pid]
    if first == nil || first?.pid == pid {
      first = (pid, now)
    } else {
      if seen == nil, others.count >= Self.processesKept { others.removeAll(keepingCapacity: true) }
      others[pid] = now
    }
    guard let seen else { return true }
    return !(now - seen < Self.trustedFor || started().map { $0 <= seen } ?? false)
  }

  mutating func record(_ caller: Caller) { lastCaller = caller }
}
