import CredCore

/// The processes that got the present credentials of a session, which belong to one user.
struct AuditLedger {
  /// The last process that got credentials, for `status`.
  struct Caller: Equatable {
    let pid: Int32
    let unit: String?
  }

  /// A process while it is one user's: by setuid(2) it may become another's, for whom it then asks.
  struct Process: Hashable {
    let pid: Int32
    let uid: UInt32
  }

  /// The number of remembered processes. With more, some are recorded twice.
  static let processesKept = 256

  /// How long a pid is assumed to be the same process. The kernel uses all other pids before it
  /// reuses one.
  static let trustedFor: Duration = .seconds(60)

  /// The credentials that the ledger is about.
  private var credentials: (key: String, received: Instant)?
  /// The first process, and when it was last identified. Most sessions have no other, so they need
  /// no dictionary.
  private var first: (process: Process, seen: Instant)?
  private var others: [Process: Instant] = [:]
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
  mutating func isNew(_ process: Process, now: Instant, started: () -> Instant?) -> Bool {
    // All processes outside this daemon's pid namespace have this number.
    guard process.pid > 0 else { return true }
    let seen = first?.process == process ? first?.seen : others[process]
    if first == nil || first?.process == process {
      first = (process, now)
    } else {
      if seen == nil, others.count >= Self.processesKept { others.removeAll(keepingCapacity: true) }
      others[process] = now
    }
    guard let seen else { return true }
    return !(now - seen < Self.trustedFor || started().map { $0 <= seen } ?? false)
  }

  mutating func record(_ caller: Caller) { lastCaller = caller }
}
