import AuthCore
import NIOCore
import Synchronization

/// Counts connections, and refuses those beyond the limit.
///
/// Once half of them are taken, a source has its share of that half, and no more: one that opens as
/// many as it can shuts nobody else out. All that come through one balancer are one source.
final class OpenConnections: Sendable {
  private struct State {
    var channels: [ObjectIdentifier: any Channel] = [:]
    var bySource: [String: Int] = [:]
    var isEnding = false
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
    state.withLock { $0.channels.count >= limit / 2 } ? Limits.crowdedIdleTime : Limits.idleTime
  }

  struct TooMany: Error {}

  func enter(_ channel: any Channel, from peer: Peer) throws {
    let source = peer.source ?? "local"
    try state.withLock { state in
      let mine = state.bySource[source] ?? 0
      let sources = state.bySource.count + (mine == 0 ? 1 : 0)
      let count = state.channels.count
      guard !state.isEnding, count < limit, count < limit / 2 || mine < limit / (2 * sources) + 1
      else { throw TooMany() }
      state.channels[ObjectIdentifier(channel)] = channel
      state.bySource[source] = mine + 1
      show(count + 1)
    }
    channel.closeFuture.whenComplete { [self] _ in leave(channel, source) }
  }

  private func leave(_ channel: any Channel, _ source: String) {
    state.withLock { state in
      state.channels[ObjectIdentifier(channel)] = nil
      let mine = (state.bySource[source] ?? 1) - 1
      state.bySource[source] = mine > 0 ? mine : nil
      show(state.channels.count)
    }
  }

  /// Closes those that wait for a request at once, others once theirs is answered, and all when the
  /// time is over.
  func end(within time: Interval) async {
    let channels = state.withLock { state in
      state.isEnding = true
      return Array(state.channels.values)
    }
    let timers = channels.map { channel in
      channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
      return channel.eventLoop.scheduleTask(in: .milliseconds(time.milliseconds)) {
        channel.close(promise: nil)
      }
    }
    for channel in channels { try? await channel.closeFuture.get() }
    for timer in timers { timer.cancel() }
  }

  private func show(_ count: Int) {
    metrics?.set("credd_authserver_connections", to: Double(count))
  }
}
