import AuthCore
import AuthStore
import Logging
import Synchronization

/// Says in the log that the database does not do what it is asked: the first time at once, and then
/// once a minute, however many requests fail by it.
final class DatabaseFaults: Sendable {
  private struct State {
    var reason: String?
    var logged = Timestamp(milliseconds: 0)
    /// Failures since the last line.
    var count = 0
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
    metrics.set("credd_authserver_database_up", to: 0)
    let (reason, time) = ("\(error)", now())
    let count: Int? = state.withLock { state in
      state.count += 1
      let isKnown = state.reason == reason && (time - state.logged) < .minutes(1)
      guard !isKnown else { return nil }
      defer { state = State(reason: reason, logged: time) }
      return state.count
    }
    guard let count else { return }
    var metadata: Logger.Metadata = ["reason": "\(reason)", "failures": "\(count)"]
    if case StoreError.full = error {
      metadata["hint"] = "make room; 'host revoke' and 'user disable' still work"
    }
    log.error("database", metadata: metadata)
  }

  /// Something was written.
  func end() {
    metrics.set("credd_authserver_database_up", to: 1)
    let had = state.withLock { state in
      defer { state = State() }
      return state.reason != nil
    }
    if had { log.notice("the database takes what is written again") }
  }
}
