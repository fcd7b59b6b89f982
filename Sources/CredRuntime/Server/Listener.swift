internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc

/// A socket at which clients connect. Its owner closes the descriptor.
protocol Listener: AnyObject {
  var descriptor: Int32 { get }
  /// See ``UserPlace/allowance``.
  var allowance: UnixSocketPath? { get }
  /// The limit that its clients hit where they have too many connections.
  var hitByExcess: HitLimit { get }

  /// Looks who has connected.
  ///
  /// - Returns: nil for a client that was refused, whoever it is. Its descriptor is closed.
  func newcomer(_ descriptor: Int32, _ now: Instant) -> Newcomer?

  /// Refuses a client beyond a limit, and closes its descriptor.
  func refuse(_ newcomer: Newcomer, _ excess: ProtocolError)

  /// The connection of a client for which there is room. It owns the descriptor.
  func connection(
    of newcomer: Newcomer, user: UserQueue, token: UInt64, at server: SocketServer, _ now: Instant
  ) -> any FramedConnection
}

/// A client that was accepted, before its connection is in the table.
struct Newcomer {
  let descriptor: Int32
  let peer: Peer
  /// The account for which its connection counts; nil while the user is looked up.
  let account: Account?
  /// What the kernel's table of connections says of a TCP client; nil if it says nothing.
  var attested: AttestedPeer?
}

/// The sockets at which a server accepts clients.
final class Listeners {
  private let loop: EventLoop
  /// See ``ConnectionTable/mark``.
  private let mark: UInt64
  private var all: [any Listener] = []
  private var timer: EventSource?

  init(_ loop: EventLoop, mark: UInt64) throws(SystemError) {
    self.loop = loop
    self.mark = mark
    timer = try loop.timer { [unowned self] _ in self.resume() }
  }

  var allowances: Set<UnixSocketPath?> { Set(all.map(\.allowance)) }

  func add(_ listener: any Listener) throws(SystemError) {
    all.append(listener)
    try SystemError.check(watch(listener), "watch descriptor \(listener.descriptor)")
  }

  func removeAll() {
    for listener in all { loop.remove(listener.descriptor) }
    all.removeAll()
  }

  /// The token of a listener, which no connection has.
  private func token(of listener: any Listener) -> UInt64 { mark | UInt64(listener.descriptor) }

  private func watch(_ listener: any Listener) -> Int32 {
    loop.add(listener.descriptor, CREDD_EPOLL_IN, token(of: listener))
  }

  /// Accepts some clients, if the event is a listener's.
  ///
  /// - Parameter admit: returns false for a client that is refused at once. That takes no object and no
  ///   turn: a user who connects without end fills the backlog, in which other users wait behind.
  func accept(_ event: credd_ready, _ admit: (Int32, any Listener, Instant) -> Bool) {
    guard let listener = all.first(where: { token(of: $0) == event.token }) else { return }
    // If another process shuts down a shared listener, the listener stays ready for ever without a
    // client.
    guard event.events & (CREDD_EPOLL_HUP | CREDD_EPOLL_ERR) == 0 else {
      loop.remove(listener.descriptor)
      return all.removeAll { $0 === listener }
    }
    let now = loop.now
    let end = now + ServerLimits.turnTime
    var admitted = 0
    while admitted < ServerLimits.acceptsPerTurn {
      let descriptor = credd_accept(listener.descriptor)
      switch -descriptor {
      case EAGAIN:
        return
      case ECONNABORTED, EINTR:
        // The client is already gone.
        if loop.now >= end { return }
      case 1...:
        // Descriptors or memory ran out. The connection stays in the backlog; an immediate retry
        // would spin.
        return stop()
      default:
        if admit(descriptor, listener, now) {
          admitted += 1
        } else if loop.now >= end {
          return
        }
      }
    }
  }

  private func stop() {
    for listener in all { loop.remove(listener.descriptor) }
    timer?.arm(at: loop.now + ServerLimits.acceptPause)
  }

  /// If a listener cannot be watched now, it is tried again.
  private func resume() {
    guard all.allSatisfy({ [0, -EEXIST].contains(watch($0)) }) else { return stop() }
  }
}
