import CredCore
import Logging

/// The clocks of backends. They cost credd nothing, since developer tokens count by AWS's clock. But AWS
/// refuses what a backend signs 5 minutes off, so the journal names a clock that is wrong.
final class BackendClocks {
  private let clock: any Clock
  private let log: Logger
  /// By their backends, of which a configuration has few.
  private var known: [Upstream: ClockSkew] = [:]

  init(_ services: UpstreamServices) {
    clock = services.clock
    log = services.log
  }

  /// Takes the time of a reply. Until AWS's time is known, nobody can tell which clock is wrong.
  func note(_ time: WallTime, of upstream: Upstream) {
    guard let aws = clock.awsTime,
      let change = known[upstream, default: ClockSkew()].compare(server: time, local: aws)
    else { return }
    switch change {
    case .off(let difference):
      let seconds = Int(difference / .seconds(1))
      log.warning(
        "the clock of \(upstream) is \(abs(seconds)) s \(seconds > 0 ? "fast" : "slow"): set it there",
        metadata: ["upstream": "\(upstream)", "seconds": "\(seconds)"])
    case .right: log.notice("the clock of \(upstream) is right again")
    }
  }
}
