import CredCore

/// The time by which credd signs requests to AWS: this host's, and the server's own once it has refused a
/// signature for its time, as SDKs do. The journal says that the host's clock is wrong.
final class SignatureClock {
  private let clock: any Clock
  /// A server's time minus this host's, as its last refusal showed it, by the server's URL.
  private var differences: [String: Duration] = [:]

  init(_ clock: any Clock) {
    self.clock = clock
  }

  func now(at server: String) -> WallTime { clock.wallTime + difference(of: server) }

  /// Takes the time of a server from a reply that refused a signature for its time.
  ///
  /// A clock that was set since shows a small difference: then this host's time is right again. A server
  /// that does not say its time is signed for by this host's.
  ///
  /// Other calls are signed and refused meanwhile, so the time that was refused comes with the refusal.
  ///
  /// - Parameters:
  ///   - signed: the time of the refused signature.
  ///   - time: of the reply; nil if it had none.
  /// - Returns: whether the next signature has so different a time that it may be taken.
  func refused(signed: WallTime, by server: String, at time: WallTime?) -> Bool {
    let shown = time.map { $0 - clock.wallTime } ?? .zero
    differences[server] = Self.isOff(shown) ? shown : nil
    return Self.isOff(now(at: server) - signed)
  }

  /// The servers are others after a reload.
  func forget() { differences = [:] }

  private func difference(of server: String) -> Duration { differences[server] ?? .zero }

  /// `Date` has whole seconds.
  private static func isOff(_ difference: Duration) -> Bool {
    let least = Limits.Upstream.signatureSkew - .seconds(1)
    return difference > least || .zero - difference > least
  }
}
