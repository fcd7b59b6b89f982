internal import CLinux
internal import CredCore
internal import CredService

/// One client's descriptor and buffers. Owns the descriptor.
final class Connection {
  let descriptor: Int32
  let peer: Peer
  let user: UserQueue
  /// Nil for a refused connection.
  var client: Client?
  private unowned let server: ClientServer
  /// Index and generation in the server's table; epoll returns this token with each event.
  let token: UInt64
  let accepted: Instant
  /// Whether unread data may carry descriptors: see `credd_receive`. False if the kernel passes
  /// none, and after the end of the input.
  private var mayCarryDescriptors: Bool

  /// Cuts the input into lines, and keeps the beginning of an unfinished line.
  private var framer = LineFramer()
  /// The number of bytes that `framer` holds. A separate number, like ``backlog``, because reading
  /// `framer` would cost a check of exclusive access, a third of the instructions of a cached
  /// `get`.
  private(set) var partialBytes = 0
  /// Bytes that were read after a request that still waits, and how many of them are used.
  var unread: [UInt8] = []
  var unreadPosition = 0
  /// Replies whose first `outboundStart` bytes were sent.
  private var outbound: [UInt8] = []
  private var outboundStart = 0
  /// The bytes of replies that wait to be written.
  private(set) var backlog = 0

  /// This connection's part of ``UserQueue/unfinishedBytes`` and ``UserQueue/backlogBytes``.
  var countedUnfinished = 0
  var countedBacklog = 0
  /// Whether the connection is in the ``ReadyQueue``. The next field is the next connection there.
  var isReady = false
  var nextReady: Connection?
  /// Reported events that are not handled yet: epoll reports each once.
  var events: UInt32 = 0

  /// Whether the peer has sent something.
  var hasSentData = false
  /// Whether the peer sends nothing more; it may still read.
  var isInputFinished = false
  /// Whether the connection got replies outside its own turn: see ``ClientServer/writeReplies()``.
  var hasPendingReply = false
  /// Whether the connection closes as soon as `outbound` is empty.
  var isClosing = false
  /// Whether the connection was removed from the table.
  var isClosed = false
  /// Whether the connection has a deadline: see ``ClientServer/updateStallDeadline(_:_:)``.
  var isStalled = false
  /// Whether epoll reports when the peer takes replies again.
  var watchesWritable = false

  init(
    descriptor: Int32, peer: Peer, user: UserQueue, token: UInt64, accepted: Instant,
    server: ClientServer
  ) {
    self.descriptor = descriptor
    self.peer = peer
    self.user = user
    self.server = server
    self.token = token
    self.accepted = accepted
    mayCarryDescriptors = credd_may_carry_descriptors(descriptor)
  }

  deinit {
    credd_close_client(descriptor, mayCarryDescriptors)
  }

  /// Returns what `read` returns; `-EBADMSG` if the peer passes descriptors.
  func read(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
    guard mayCarryDescriptors else {
      return unsafe credd_read(descriptor, buffer.baseAddress, buffer.count)
    }
    let count = unsafe credd_receive(descriptor, buffer.baseAddress, buffer.count)
    if count == 0 { mayCarryDescriptors = false }
    return count
  }

  /// Whether there may be data to read, or the end of the input.
  var hasInput: Bool { events & (CREDD_EPOLL_IN | CREDD_EPOLL_RDHUP) != 0 }

  /// Whether the peer neither sends nor reads any more.
  var isGone: Bool { events & (CREDD_EPOLL_HUP | CREDD_EPOLL_ERR) != 0 }

  /// Records a short read. Epoll will report more data. But it will not report the end again, and
  /// it will not report data behind out-of-band data, at which a read stops.
  func readShort() {
    guard events & (CREDD_EPOLL_RDHUP | CREDD_EPOLL_HUP | CREDD_EPOLL_PRI) == 0 else { return }
    events &= ~CREDD_EPOLL_IN
  }

  /// Records that there is nothing to read, or that the input has ended.
  func inputDrained() {
    events &= ~(CREDD_EPOLL_IN | CREDD_EPOLL_RDHUP | CREDD_EPOLL_PRI)
  }

  // MARK: Lines

  var holdsPartialLine: Bool { partialBytes > 0 }

  /// Bytes of an unfinished line, and of lines after a waiting request.
  var unfinishedBytes: Int { partialBytes + unread.count }

  /// See ``LineFramer/next(in:from:)``.
  func nextLine(in chunk: borrowing Span<UInt8>, from position: inout Int) -> LineFramer.Step {
    defer { partialBytes = framer.partialBytes }
    return framer.next(in: chunk, from: &position, newline: LineFramer.fastNewline)
  }

  /// See ``LineFramer/finish()``.
  func lastLine() -> [UInt8]? {
    partialBytes = 0
    return framer.finish()
  }

  /// Drops lines that were read and not answered.
  func dropLines() {
    framer = LineFramer()
    partialBytes = 0
    unread = []
    unreadPosition = 0
  }

  // MARK: Replies

  /// Adds to the backlog.
  func enqueue(_ bytes: [UInt8]) {
    // The backlog is usually empty. Then the reply is shared instead of copied.
    if backlog == 0 { outbound = bytes } else { outbound.append(contentsOf: bytes) }
    backlog += bytes.count
  }

  /// Writes as much of the backlog as the peer takes; returns what `send` returns.
  func sendBacklog() -> Int {
    let sent = unsafe outbound.withUnsafeBytes { bytes in
      unsafe credd_send(
        descriptor, bytes.baseAddress.map { unsafe $0 + outboundStart },
        bytes.count - outboundStart)
    }
    guard sent > 0 else { return sent }
    outboundStart += sent
    backlog -= sent
    if backlog == 0 {
      outbound = []
      outboundStart = 0
    }
    return sent
  }

  // MARK: Its user's bytes

  /// Updates the counts of the user's bytes.
  func countBytes() {
    let (unfinished, backlog) = isClosed ? (0, 0) : (unfinishedBytes, backlog)
    if unfinished != countedUnfinished {
      user.unfinishedBytes += unfinished - countedUnfinished
      countedUnfinished = unfinished
    }
    if backlog != countedBacklog {
      user.backlogBytes += backlog - countedBacklog
      countedBacklog = backlog
    }
  }
}

extension Connection: ReplySink {
  func send(_ reply: [UInt8]) { server.reply(reply, to: self) }

  func finish() { isClosing = true }

  /// Whether a request waits for its answer. Meanwhile no further line is read.
  var isWaiting: Bool { client?.isWaiting ?? false }
}

extension Connection: PeerFacts {
  func groups() -> [UInt32] { Peer.groups(of: descriptor, primary: peer.gid) }

  func unit() -> String? { CallerUnit.name(of: peer, on: descriptor, accepted: accepted) }

  var isUnitHidden: Bool { CallerUnit.isHidden(peer) }

  func isAlive() -> Bool {
    guard peer.pid > 0, case .known(let pidfd) = PeerProcess(of: descriptor) else { return false }
    defer { credd_close(pidfd) }
    return credd_pidfd_alive(pidfd) == 1
  }

  func startTime() -> Instant? { CallerUnit.started(peer) }
}
