internal import CredCore
internal import CredService

/// Lets libcurl go on at short intervals while a transfer connects, and only then.
///
/// If an address does not answer, libcurl goes on to the next address of the name. But it opens the
/// socket only when it is called again, and does not ask for a call before the transfer's deadline
/// (https://github.com/curl/curl/issues/11920).
final class ConnectTick {
  /// libcurl gives each address half of the remaining time, so a late call would take most time
  /// from the last addresses.
  static let interval: Duration = .milliseconds(250)

  private let clock: any Clock
  private let act: () -> Void
  private var timer: (any Timer)?
  private var connecting: Set<ObjectIdentifier> = []

  init(_ clock: any Clock, act: @escaping () -> Void) {
    self.clock = clock
    self.act = act
    timer = clock.makeTimer { [unowned self] in self.fire() }
  }

  /// Notes that a transfer begins to connect, or that it does not connect any more because it has a
  /// connection or has ended.
  func note(_ transfer: AnyObject, isConnecting: Bool) {
    let wasIdle = connecting.isEmpty
    if isConnecting {
      connecting.insert(ObjectIdentifier(transfer))
    } else {
      connecting.remove(ObjectIdentifier(transfer))
    }
    if connecting.isEmpty != wasIdle { arm() }
  }

  private func fire() {
    act()
    arm()
  }

  private func arm() {
    timer?.arm(at: connecting.isEmpty ? nil : clock.now + Self.interval)
  }
}
