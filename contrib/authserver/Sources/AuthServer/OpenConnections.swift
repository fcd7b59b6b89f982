import AuthCore
import NIOCore
import Synchronization

/// Counts connections, and refuses those beyond the limit.
///
/// Once half of them are taken, a source has its share of that half, and no more: one that opens as
/// many as it can shuts nobody else out. All that come through one balancer are one source, unless it
/// says whose they are.
final class OpenConnections: Sendable {
  private struct State {
    var channels: [ObjectIdentifier: (channel: any Channel, source: String?)] = [:]
    var bySource: [String: Int] = [:]
    var isEnding = false

    mutating func count(_ source: String, _ limit: Int) throws {
      let mine = bySource[source] ?? 0
      let sources = bySource.count + (mine == 0 ? 1 : 0)
      guard channels.count < limit / 2 || mine < limit / (2 * sources) + 1 else { throw TooMany() }
      bySource[source] = mine + 1
    }
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

  /// - Parameter source: nil for a balancer's, until that says whose it is.
  func enter(_ channel: any Channel, from source: String?) throws {
    try state.withLock { state in
      guard !state.isEnding, state.channels.count < limit else { throw TooMany() }
      if let source { try state.count(source, limit) }
      state.channels[ObjectIdentifier(channel)] = (channel, source)
      show(state.channels.count)
    }
    channel.closeFuture.whenComplete { [self] _ in leave(channel) }
  }

  /// The balancer has said whose it is.
  func name(_ channel: any Channel, _ source: String) throws {
    try state.withLock { state in
      guard state.channels[ObjectIdentifier(channel)] != nil else { throw Peer.Gone() }
      try state.count(source, limit)
      state.channels[ObjectIdentifier(channel)]?.source = source
    }
  }

  private func leave(_ channel: any Channel) {
    state.withLock { state in
      let source = state.channels.removeValue(forKey: ObjectIdentifier(channel))?.source
      show(state.channels.count)
      guard let source else { return }
      let mine = (state.bySource[source] ?? 1) - 1
      state.bySource[source] = mine > 0 ? mine : nil
    }
  }

  /// Closes those that wait for a request at once, others once theirs is answered, and all when the
  /// time is over.
  func end(within time: Interval) async {
    let channels = state.withLock { state in
      state.isEnding = true
      return state.channels.values.map(\.channel)
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
    metrics?.set(.connections, to: Double(count))
  }
}
