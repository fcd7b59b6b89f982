internal import CredCore

/// Which processes were handed the present credentials of a session.
struct AuditLedger {
  /// Whoever was handed credentials last, for `status`.
  struct Caller: Equatable {
    let pid: Int32
    let unit: String?
  }

  /// Processes remembered. With more, some are written down twice.
  static let processesKept = 256

  /// For how long a pid that was seen is taken for the same process unasked. None is given anew so
  /// soon: each must have been given once before.
  static let trustedFor: Duration = .seconds(60)

  /// The first process, and when it was last known to be the same. Most sessions have no other, and
  /// need no dictionary.
  private var first: (pid: Int32, seen: Instant)?
  private var others: [Int32: Instant] = [:]
  private(set) var lastCaller: Caller?

  /// Other credentials from now on.
  mutating func begin() {
    first = nil
    others = [:]
  }

  /// Whether this process was not handed them before.
  ///
  /// - Parameter started: when the process began; nil where that cannot be told.
  mutating func isNew(_ pid: Int32, now: Instant, started: () -> Instant?) -> Bool {
    // Outside this daemon's pid namespace all processes have this number.
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

  mutating func note(_ caller: Caller) { lastCaller = caller }
}
