internal import CLinux
internal import CredCore
internal import Glibc

/// Connections beyond a limit, which have their answer, until their clients have taken it.
///
/// A connection that is closed in an orderly way keeps its client's port for as long as the client keeps
/// its end, so a user could take all ports of the host. A reset gives the port back. But a client whose
/// request comes after the reset fails to send it, and looks for no answer. So some connections are read
/// until their clients have closed, for a moment at most; the others are reset at once.
@safe final class RefusedConnections {
  private static let check = Duration.milliseconds(50)
  private static let readsPerCheck = 4

  private let loop: EventLoop
  private let time: Duration
  private var held: [(descriptor: Int32, until: Instant)] = []
  private var timer: EventSource?

  /// - Parameter time: how long a client may take.
  init(_ loop: EventLoop, time: Duration) throws(SystemError) {
    self.loop = loop
    self.time = time
    timer = try loop.timer { [unowned self] _ in self.look() }
  }

  deinit { endAll() }

  var count: Int { held.count }

  /// Takes over a connection that was answered.
  func take(_ descriptor: Int32) {
    guard held.count < Limits.Endpoint.refusedConnections else { return reset(descriptor) }
    credd_finish_sending(descriptor)
    let now = loop.now
    if held.isEmpty { timer?.arm(at: now + Self.check) }
    held.append((descriptor, now + time))
  }

  /// Resets all connections.
  func endAll() {
    for connection in held { reset(connection.descriptor) }
    held = []
    timer?.arm(at: nil)
  }

  private func look() {
    let now = loop.now
    held.removeAll { descriptor, until in
      if hasEnded(descriptor) {
        credd_close(descriptor)
      } else if until <= now {
        reset(descriptor)
      } else {
        return false
      }
      return true
    }
    timer?.arm(at: held.isEmpty ? nil : now + Self.check)
  }

  /// Drops the client's bytes: if some stayed unread, the close would be a reset.
  private func hasEnded(_ descriptor: Int32) -> Bool {
    var bytes = [UInt8](repeating: 0, count: Limits.Endpoint.headBytes)
    defer { unsafe credd_wipe(&bytes, bytes.count) }
    for _ in 0..<Self.readsPerCheck {
      let count = unsafe credd_read(descriptor, &bytes, bytes.count)
      if count == -Int(EAGAIN) { return false }
      if count <= 0 { return true }
    }
    return false
  }

  private func reset(_ descriptor: Int32) {
    credd_reset_on_close(descriptor)
    credd_close(descriptor)
  }
}
