import CredCore

/// The time by which credd signs requests to AWS: this host's, and AWS's own once a signature was refused
/// for its time, as SDKs do. The journal says that the host's clock is wrong.
final class SignatureClock {
  private let clock: any Clock
  /// AWS's time minus this host's, as the last refusal showed it.
  private var difference = Duration.zero

  init(_ clock: any Clock) {
    self.clock = clock
  }

  var now: WallTime { clock.wallTime + difference }

  /// Takes AWS's time from a reply that refused a signature for its time; nil if the reply had none.
  ///
  /// A clock that was set since shows a small difference: then this host's time is right again.
  func refused(at server: WallTime?) {
    guard let server else { return }
    let shown = server - clock.wallTime
    let isOff = shown > Limits.Upstream.signatureSkew || .zero - shown > Limits.Upstream.signatureSkew
    difference = isOff ? shown : .zero
  }
}
