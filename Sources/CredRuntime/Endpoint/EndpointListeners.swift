internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc

/// The sockets at which the endpoint's clients connect, on the clients' own epoll.
@safe final class EndpointListeners {
  /// The bit that is set in the tokens of listeners, and never in those of connections.
  static let tokenBit: UInt64 = 1 << 62
  private static let acceptsPerTurn = 4
  /// How long nobody is accepted after descriptors or memory ran out: a retry at once would spin.
  private static let pause = Duration.milliseconds(100)

  private let loop: EventLoop
  private var listeners: [Int32: EndpointAddress] = [:]
  private var timer: EventSource?

  init(_ loop: EventLoop) throws(SystemError) {
    self.loop = loop
    timer = try loop.timer { [unowned self] _ in self.resume() }
  }

  /// In the order in which they were opened.
  var addresses: [EndpointAddress] { listeners.sorted { $0.key < $1.key }.map(\.value) }

  /// A listener stays the caller's.
  func add(_ listener: Int32, _ address: EndpointAddress) throws(SystemError) {
    listeners[listener] = address
    try SystemError.check(watch(listener), "watch descriptor \(listener)")
  }

  func removeAll() {
    listeners.keys.forEach(loop.remove)
    listeners = [:]
    timer?.arm(at: nil)
  }

  /// Accepts a few clients if an event's token is a listener's.
  func accept(_ token: UInt64, _ admit: (Int32, EndpointAddress) -> Void) {
    let listener = Int32(truncatingIfNeeded: token)
    guard token & Self.tokenBit != 0, let address = listeners[listener] else { return }
    for _ in 0..<Self.acceptsPerTurn {
      let descriptor = credd_accept(listener)
      switch -descriptor {
      case EAGAIN: return
      case ECONNABORTED, EINTR: continue
      case 1...: return stop()
      default: admit(descriptor, address)
      }
    }
  }

  private func watch(_ listener: Int32) -> Int32 {
    loop.add(
      listener, CREDD_EPOLL_IN,
      EndpointServer.tokenBit | Self.tokenBit | UInt64(listener))
  }

  /// For a while.
  private func stop() {
    listeners.keys.forEach(loop.remove)
    timer?.arm(at: loop.now + Self.pause)
  }

  /// A listener that cannot be watched now is tried again.
  private func resume() {
    guard listeners.keys.allSatisfy({ [0, -EEXIST].contains(watch($0)) }) else { return stop() }
  }
}
