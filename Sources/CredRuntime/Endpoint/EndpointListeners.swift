internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc

/// The sockets at which the endpoint's clients connect, on the clients' own epoll.
@safe final class EndpointListeners {
  /// The bit that is set in the tokens of listeners, and never in those of connections.
  static let tokenBit: UInt64 = 1 << 62
  private static let acceptsPerTurn = 4
  /// The pause in accepting after descriptors or memory ran out: an immediate retry would spin.
  private static let pause = Duration.milliseconds(100)

  private let loop: EventLoop
  private var listeners: [Int32: EndpointAddress] = [:]
  private var timer: EventSource?

  init(_ loop: EventLoop) throws(SystemError) {
    self.loop = loop
    timer = try loop.timer { [unowned self] _ in self.resume() }
  }

  /// The addresses, in the order in which they were opened.
  var addresses: [EndpointAddress] { listeners.sorted { $0.key < $1.key }.map(\.value) }

  /// Adds a listener, which the caller still owns.
  func add(_ listener: Int32, _ address: EndpointAddress) throws(SystemError) {
    listeners[listener] = address
    try SystemError.check(watch(listener), "watch descriptor \(listener)")
  }

  func removeAll() {
    listeners.keys.forEach(loop.remove)
    listeners = [:]
    timer?.arm(at: nil)
  }

  /// Accepts a few clients if the event's token belongs to a listener.
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

  /// Stops accepting for a while.
  private func stop() {
    listeners.keys.forEach(loop.remove)
    timer?.arm(at: loop.now + Self.pause)
  }

  /// If a listener cannot be watched now, it is tried again.
  private func resume() {
    guard listeners.keys.allSatisfy({ [0, -EEXIST].contains(watch($0)) }) else { return stop() }
  }
}
