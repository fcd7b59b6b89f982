/// Which processes were handed the present credentials of a session.
struct AuditLedger {
  /// Whoever was handed credentials last, for `status`.
  struct Caller: Equatable {
    let pid: Int32
    let unit: String?
  }

  /// Processes remembered. With more, some are written down twice.
  static let processesKept = 256

  private var processes: Set<Int32> = []
  private(set) var lastCaller: Caller?

  /// Other credentials from now on.
  mutating func begin() {
    processes.removeAll(keepingCapacity: true)
  }

  /// Whether this process was not handed them before.
  mutating func isNew(_ pid: Int32) -> Bool {
    if processes.count >= Self.processesKept { processes.removeAll(keepingCapacity: true) }
    return processes.insert(pid).inserted
  }

  mutating func note(_ caller: Caller) { lastCaller = caller }
}
