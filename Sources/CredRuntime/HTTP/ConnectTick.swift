internal import CredCore
internal import CredService

/// Lets libcurl go on at short intervals while a transfer connects, and only then.
///
/// When an address does not answer, libcurl passes on to the next one of the name, but opens the
/// socket only when it is called again, and asks for no call before the transfer's deadline
/// (https://github.com/curl/curl/issues/11920).
final class ConnectTick {
  /// libcurl gives each address half of the time that is left, so a late call would cost the last
  /// addresses most.
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

  /// Notes that a transfer connects, or that it does not any more: it has a connection, or has ended.
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
