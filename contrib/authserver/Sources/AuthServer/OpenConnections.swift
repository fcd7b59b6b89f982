import AuthCore
import NIOCore
import Synchronization

/// Counts connections, and refuses those beyond the limit.
///
/// Once half of them are taken, a source has its share of that half, and no more: one that opens as
/// many as it can shuts nobody else out. All that come through one balancer are one source.
final class OpenConnections: Sendable {
  private struct State {
    var count = 0
    var bySource: [String: Int] = [:]
  }

  private let state = Mutex(State())
  private let limit: Int
  private let metrics: Metrics?

  init(limit: Int, metrics: Metrics?) {
    self.limit = limit
    self.metrics = metrics
  }

  /// How long a connection may stay without a request: not for long where they are running out.
  var idleTime: Interval {
    state.withLock { $0.count >= limit / 2 } ? Limits.crowdedIdleTime : Limits.idleTime
  }

  struct TooMany: Error {}

  func enter(_ channel: any Channel, from peer: Peer) throws {
    let source = peer.source ?? "local"
    try state.withLock { state in
      let mine = state.bySource[source] ?? 0
      let sources = state.bySource.count + (mine == 0 ? 1 : 0)
      guard state.count < limit, state.count < limit / 2 || mine < limit / (2 * sources) + 1 else {
        throw TooMany()
      }
      state.count += 1
      state.bySource[source] = mine + 1
      show(state.count)
    }
    channel.closeFuture.whenComplete { [self] _ in leave(source) }
  }

  private func leave(_ source: String) {
    state.withLock { state in
      state.count -= 1
      let mine = (state.bySource[source] ?? 1) - 1
      state.bySource[source] = mine > 0 ? mine : nil
      show(state.count)
    }
  }

  private func show(_ count: Int) {
    metrics?.set("credd_authserver_connections", to: Double(count))
  }
}
