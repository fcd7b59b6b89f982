import CLinux
import CredCore
import CredctlKit
import Glibc

/// One connection to the daemon. Every call has a time limit.
struct ControlSocket: ~Copyable {
  let path: SocketPath
  private let descriptor: Descriptor

  init(connectingTo path: SocketPath, seconds: Int) throws(TransportError) {
    let address = try Self.address(of: path.path)
    let descriptor = Descriptor(owning: try Self.open())
    // A full backlog blocks connect(2) of a Unix socket, and a slow reader blocks send(2). Both
    // obey this limit.
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    unsafe setsockopt(
      descriptor.number, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    try Self.connect(descriptor.number, to: address, seconds: seconds)
    self.path = path
    self.descriptor = descriptor
  }

  /// The user who listens, as the kernel recorded it when the socket began to listen.
  func listener() throws(TransportError) -> Listener {
    var peer = credd_peer()
    guard unsafe credd_peer_credentials(descriptor.number, &peer) == 0 else {
      throw Self.failure(of: "getsockopt")
    }
    return Listener(
      uid: peer.uid, own: geteuid(), overflow: credd_overflow_uid, hasEveryUid: credd_has_every_uid
    ) {
      var uid: uid_t = 0
      return unsafe credd_local_user("/etc/passwd", "credd", &uid) == 1 ? uid : nil
    }
  }

  func send(_ bytes: [UInt8], seconds: Int) throws(TransportError) {
    var sent = 0
    while sent < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { all in
        unsafe Glibc.send(
          descriptor.number, all.baseAddress?.advanced(by: sent), all.count - sent, 0)
      }
      guard count < 0 else {
        sent += count
        continue
      }
      switch errno {
      case EINTR: continue
      // The daemon may have refused a line that is too long, and closed the connection. Its reply
      // says why.
      case EPIPE, ECONNRESET: return
      case EAGAIN: throw .replyTimedOut(seconds: seconds)
      default: throw Self.failure(of: "send")
      }
    }
  }

  /// Reads until the buffer holds a line.
  ///
  /// - Parameters:
  ///   - seconds: the time limit; nil to wait until the reader of standard output is gone.
  ///   - terminal: a terminal in raw mode, at which Ctrl-C ends the wait; -1 for none.
  func receiveLine(
    into buffer: ReplyBuffer, seconds: Int?, watching terminal: CInt = -1
  ) throws(TransportError) {
    let deadline = seconds.map { Clock.nanoseconds + Int64($0) * 1_000_000_000 }
    while !buffer.holdsLine {
      guard try waitForInput(until: deadline, watching: terminal) else {
        throw .replyTimedOut(seconds: seconds ?? 0)
      }
      let count = unsafe try buffer.fill { space in
        unsafe read(descriptor.number, space.baseAddress, space.count)
      }
      if count > 0 { continue }
      guard count < 0 else { throw .closedEarly }
      switch errno {
      case EINTR, EAGAIN: continue
      case ECONNRESET: throw .closedEarly
      default: throw Self.failure(of: "read")
      }
    }
  }

  /// - Returns: whether there is something to read before the deadline.
  private func waitForInput(
    until deadline: Int64?, watching terminal: CInt
  ) throws(TransportError) -> Bool {
    if terminal >= 0 { return try waitForInputOrInterrupt(until: deadline, terminal) }
    var line = WaitLine()
    defer { line.erase() }
    while true {
      let left = deadline.map { $0 - Clock.nanoseconds }
      guard left ?? 1 > 0 else { return false }
      var input = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
      guard let left else { return try waitForInputOrClosedOutput(input) }
      if credd_noted_end() != 0 { throw .interrupted }
      let ready = unsafe poll(&input, 1, Self.milliseconds(left))
      if ready > 0 { return true }
      if ready < 0, errno != EINTR { throw Self.failure(of: "poll") }
      if ready == 0 { line.show() }
    }
  }

  /// At most a second, because a signal may come just before the wait.
  private static func milliseconds(_ nanoseconds: Int64) -> CInt {
    CInt(min(nanoseconds / 1_000_000 + 1, 1000))
  }

  /// Waits for input, while the user may give up.
  private func waitForInputOrInterrupt(
    until deadline: Int64?, _ terminal: CInt
  ) throws(TransportError) -> Bool {
    while true {
      let left = deadline.map { $0 - Clock.nanoseconds } ?? Int64.max
      guard left > 0 else { return false }
      var entries = [
        pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0),
        pollfd(fd: terminal, events: Int16(POLLIN), revents: 0),
      ]
      if credd_noted_end() != 0 { throw .interrupted }
      if unsafe poll(&entries, nfds_t(entries.count), Self.milliseconds(left)) < 0, errno != EINTR {
        throw Self.failure(of: "poll")
      }
      if entries[0].revents != 0 { return true }
      if entries[1].revents != 0, Terminal.isInterrupted(terminal) { throw .interrupted }
    }
  }

  /// poll(2) reports an error of standard output as soon as the last reader of a pipe is gone,
  /// although it is polled for no events.
  private func waitForInputOrClosedOutput(_ input: pollfd) throws(TransportError) -> Bool {
    var entries = [input, pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)]
    while unsafe poll(&entries, nfds_t(entries.count), -1) < 0 {
      guard errno == EINTR else { throw Self.failure(of: "poll") }
    }
    if entries[0].revents != 0 { return true }
    throw .outputClosed
  }
}

extension ControlSocket {
  private static func open() throws(TransportError) -> CInt {
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    let opened = socket(AF_UNIX, type, 0)
    guard opened >= 0 else { throw failure(of: "socket") }
    guard opened <= STDERR_FILENO else { return opened }
    // If standard output is closed, the socket could get its number, and the credentials would be
    // written to the socket.
    let moved = fcntl(opened, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
    guard moved >= 0 else { throw failure(of: "fcntl") }
    close(opened)
    return moved
  }

  private static func address(of path: String) throws(TransportError) -> sockaddr_un {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let fits = unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in
      guard path.utf8.count < room.count else { return false }
      unsafe room.copyBytes(from: path.utf8)
      return true
    }
    guard fits else { throw .pathTooLong(limit: MemoryLayout.size(ofValue: address.sun_path) - 1) }
    return address
  }

  private static func connect(
    _ descriptor: CInt, to address: sockaddr_un, seconds: Int
  ) throws(TransportError) {
    while true {
      let result = unsafe withUnsafePointer(to: address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      guard result != 0 else { return }
      switch errno {
      case EINTR: continue
      case EISCONN: return
      case ENOENT, ECONNREFUSED, ENOTDIR: throw .noListener
      case EACCES, EPERM: throw .notPermitted
      case EAGAIN, ETIMEDOUT: throw .connectTimedOut(seconds: seconds)
      default: throw failure(of: "connect")
      }
    }
  }

  private static func failure(of call: String) -> TransportError {
    .system(call: call, text: ErrorText.of(errno))
  }
}

/// Owns a file descriptor and closes it.
struct Descriptor: ~Copyable {
  let number: CInt

  init(owning number: CInt) {
    self.number = number
  }

  deinit { close(number) }
}
