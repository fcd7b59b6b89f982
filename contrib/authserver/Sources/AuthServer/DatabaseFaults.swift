import AuthCore
import AuthStore
import Logging
import Synchronization

/// Says in the log that the database does not do what it is asked: of each kind of failure the first
/// at once, and then one line a minute, however many requests fail by it and come through between.
final class DatabaseFaults: Sendable {
  private struct State {
    /// When a kind of failure was last in the log.
    var logged: [String: Timestamp] = [:]
    /// Failures since the last line.
    var count = 0
    /// The last line says that the database fails.
    var isSaid = false
  }

  private let log: Logger
  private let metrics: Metrics
  private let now: @Sendable () -> Timestamp
  private let state = Mutex(State())

  init(log: Logger, metrics: Metrics, now: @escaping @Sendable () -> Timestamp) {
    self.log = log
    self.metrics = metrics
    self.now = now
  }

  func note(_ error: any Error) {
    metrics.set(.databaseUp, to: 0)
    // Reasons differ from one request to the next.
    let kind = (error as? StoreError)?.kind ?? "\(type(of: error))"
    let time = now()
    let count: Int? = state.withLock { state in
      state.count += 1
      let minute = Interval.seconds(0)..<Interval.minutes(1)
      if let last = state.logged[kind], minute.contains(time - last) { return nil }
      state.logged[kind] = time
      state.isSaid = true
      defer { state.count = 0 }
      return state.count
    }
    guard let count else { return }
    var metadata: Logger.Metadata = ["reason": "\(error)", "failures": "\(count)"]
    if case StoreError.full = error {
      metadata["hint"] = "make room; 'host revoke' and 'user disable' still work"
    }
    log.error("database", metadata: metadata)
  }

  /// Something was written.
  func end() {
    metrics.set(.databaseUp, to: 1)
    let wasSaid = state.withLock { state in
      defer { state.isSaid = false }
      return state.isSaid
    }
    if wasSaid { log.notice("the database takes what is written again") }
  }
}
