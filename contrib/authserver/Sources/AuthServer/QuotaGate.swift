public import AuthCore
public import AuthStore

/// Lets callbacks through to Cognito at the rate that all servers share, as ``Admission`` says. Slices
/// come from the database; within one, a callback costs no query.
public actor QuotaGate {
  private typealias Outcome = Result<Void, Refusal>

  private let store: AuthStore
  private let rate: Int
  private let metrics: Metrics
  private let now: @Sendable () -> Timestamp
  private var admission: Admission<UInt64>
  private var waiting: [UInt64: CheckedContinuation<Outcome, Never>] = [:]
  private var lastID: UInt64 = 0
  private var isPumping = false

  public init(
    store: AuthStore, rate: Int, metrics: Metrics, now: @escaping @Sendable () -> Timestamp
  ) {
    self.store = store
    self.rate = rate
    self.metrics = metrics
    self.now = now
    admission = Admission(rate: rate)
  }

  /// Returns when it is this host's turn.
  public func enter(host: String) async throws(Refusal) {
    lastID += 1
    let id = lastID
    switch admission.enter(id, host: host, at: now()) {
    case .goesAhead: return
    case .refused(let retryAfter): throw refusal(retryAfter)
    case .waits: break
    case .waitsInPlace(let other): refuse([other])
    }
    let outcome = await withCheckedContinuation { continuation in
      waiting[id] = continuation
      startPump()
    }
    try outcome.get()
  }

  private func startPump() {
    guard !isPumping else { return }
    isPumping = true
    Task { await pump() }
  }

  private func pump() async {
    while admission.count > 0 {
      metrics.set(.quotaWaiting, to: Double(admission.count))
      do {
        let calls = try await store.takeQuota(admission.slice, rate: rate)
        for id in admission.add(calls, at: now()) { end(id, .success(())) }
      } catch {
        for id in admission.removeAll() { end(id, .failure(.databaseAway)) }
        break
      }
      refuse(admission.removeLate(at: now()))
      guard admission.count > 0 else { break }
      try? await Task.sleep(for: .milliseconds(admission.interval.milliseconds))
    }
    metrics.set(.quotaWaiting, to: 0)
    isPumping = false
  }

  private func refuse(_ refused: [Admission<UInt64>.Refused]) {
    for one in refused { end(one.waiter, .failure(refusal(one.retryAfter))) }
  }

  private func refusal(_ retryAfter: Int) -> Refusal {
    metrics.count(.tokens, "quota")
    return Refusal(
      429, "Throttled", "the quota for tokens is used up for the moment", retryAfter: retryAfter)
  }

  private func end(_ id: UInt64, _ outcome: Outcome) {
    waiting.removeValue(forKey: id)?.resume(returning: outcome)
  }
}

extension Refusal {
  static let databaseAway = Refusal(
    503, "DatabaseUnavailable", "the server's database is away for the moment", retryAfter: 5)
}
