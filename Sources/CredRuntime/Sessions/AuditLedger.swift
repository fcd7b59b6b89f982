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

  /// When each was last known to be the same.
  private var processes: [Int32: Instant] = [:]
  private(set) var lastCaller: Caller?

  /// Other credentials from now on.
  mutating func begin() {
    processes.removeAll(keepingCapacity: true)
  }

  /// Whether this process was not handed them before.
  ///
  /// - Parameter started: when the process began; nil where that cannot be told.
  mutating func isNew(_ pid: Int32, now: Instant, started: () -> Instant?) -> Bool {
    // Outside this daemon's pid namespace all processes have this number.
    guard pid > 0 else { return true }
    if let seen = processes[pid] {
      let isSame = now - seen < Self.trustedFor || started().map { $0 <= seen } ?? false
      processes[pid] = now
      return !isSame
    }
    if processes.count >= Self.processesKept { processes.removeAll(keepingCapacity: true) }
    processes[pid] = now
    return true
  }

  mutating func note(_ caller: Caller) { lastCaller = caller }
}
