internal import CLinux
internal import CredCore
internal import CredService

/// One client's descriptor and buffers. Owns the descriptor. A ``FramedConnection`` says what its bytes
/// mean.
class Connection {
  let descriptor: Int32
  let user: UserQueue
  unowned let server: SocketServer
  /// Index and generation in the server's table; epoll returns this token with each event.
  let token: UInt64
  /// Nil for a client that has none at the service: before it begins, and if it is refused.
  final var client: Client?
  /// Whether unread data may carry descriptors: see `credd_receive`. False if the kernel passes
  /// none, and after the end of the input.
  private final var mayCarryDescriptors: Bool

  /// The bytes of an unfinished request. A number, like ``backlog``, because reading what keeps these
  /// bytes would cost a check of exclusive access, a third of the instructions of a cached `get`.
  final var partialBytes = 0
  /// Bytes that were read after a request that still waits, and how many of them are used.
  final var unread: [UInt8] = []
  final var unreadPosition = 0
  /// Replies whose first `outboundStart` bytes were sent.
  private final var outbound: [UInt8] = []
  private final var outboundStart = 0
  /// The bytes of replies that wait to be written.
  private(set) final var backlog = 0

  /// This connection's part of ``UserQueue/unfinishedBytes`` and ``UserQueue/backlogBytes``.
  private final var countedUnfinished = 0
  private final var countedBacklog = 0
  /// Whether the connection is in the ``ReadyQueue``. The next field is the next connection there.
  final var isReady = false
  final var nextReady: (any FramedConnection)?
  /// Reported events that are not handled yet: epoll reports each once.
  final var events: UInt32 = 0

  /// Whether the peer has sent something.
  final var hasSentData = false
  /// Whether the peer sends nothing more; it may still read.
  final var isInputFinished = false
  /// Whether a request of the client is on its way to the service, which does not have it yet.
  final var isHeld = false
  /// Whether the connection got replies outside its own turn: see ``SocketServer/writeReplies()``.
  final var hasPendingReply = false
  /// Whether the connection closes as soon as `outbound` is empty.
  final var isClosing = false
  /// Whether the connection was removed from the table.
  final var isClosed = false
  /// The phase that the connection's deadline is for: see ``SocketServer/updateDeadline(_:_:)``.
  final var timedPhase: ServerLimits.Phase?
  /// The events that epoll reports; none before the end of the first turn.
  final var watchedEvents: UInt32 = 0

  init(
    _ descriptor: Int32, user: UserQueue, token: UInt64, server: SocketServer,
    mayCarryDescriptors: Bool
  ) {
    self.descriptor = descriptor
    self.user = user
    self.token = token
    self.server = server
    self.mayCarryDescriptors = mayCarryDescriptors
  }

  deinit {
    credd_close_client(descriptor, mayCarryDescriptors)
  }

  /// Returns what `read` returns; `-EBADMSG` if the peer passes descriptors.
  final func read(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
    guard mayCarryDescriptors else {
      return unsafe credd_read(descriptor, buffer.baseAddress, buffer.count)
    }
    let count = unsafe credd_receive(descriptor, buffer.baseAddress, buffer.count)
    if count == 0 { mayCarryDescriptors = false }
    return count
  }

  /// Whether there may be data to read, or the end of the input.
  final var hasInput: Bool { events & (CREDD_EPOLL_IN | CREDD_EPOLL_RDHUP) != 0 }

  /// Whether the peer neither sends nor reads any more.
  final var isGone: Bool { events & (CREDD_EPOLL_HUP | CREDD_EPOLL_ERR) != 0 }

  /// Records a short read. Epoll will report more data. But it will not report the end again, and
  /// it will not report data behind out-of-band data, at which a read stops.
  final func readShort() {
    guard events & (CREDD_EPOLL_RDHUP | CREDD_EPOLL_HUP | CREDD_EPOLL_PRI) == 0 else { return }
    events &= ~CREDD_EPOLL_IN
  }

  /// Records that there is nothing to read, or that the input has ended.
  final func inputDrained() {
    events &= ~(CREDD_EPOLL_IN | CREDD_EPOLL_RDHUP | CREDD_EPOLL_PRI)
  }

  // MARK: Requests

  /// Whether a request waits for its answer. Meanwhile no further request is read.
  final var isWaiting: Bool { isHeld || client?.isWaiting ?? false }

  final var canTakeRequest: Bool { !isWaiting && backlog == 0 && !isClosing && !isClosed }

  final var wantsInput: Bool { canTakeRequest && !isInputFinished }

  /// Bytes of an unfinished request, and of requests after one that waits.
  final var unfinishedBytes: Int { partialBytes + unread.count }

  // MARK: Replies

  /// Adds to the backlog.
  final func enqueue(_ bytes: [UInt8]) {
    // The backlog is usually empty. Then the reply is shared instead of copied.
    if backlog == 0 { outbound = bytes } else { outbound.append(contentsOf: bytes) }
    backlog += bytes.count
  }

  /// Writes as much of the backlog as the peer takes; returns what `send` returns.
  final func sendBacklog() -> Int {
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
  final func countBytes() {
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

/// A connection whose bytes are cut into requests.
protocol FramedConnection: Connection, PeerFacts, ReplySink {
  /// Makes the client known to the service.
  func begin()

  /// Takes requests from the bytes at `position` and after it, as many as the turn allows. Moves
  /// `position` behind what it has taken.
  func take(
    _ bytes: borrowing Span<UInt8>, from position: inout Int, at server: SocketServer,
    _ now: Instant)

  /// Takes what is left of the input: nothing follows.
  func takeEnd(at server: SocketServer, _ now: Instant)

  /// Drops the bytes of an unfinished request.
  func dropPartial()

  /// The reply to a client whose connection ends with this error.
  func refusal(_ error: ProtocolError) -> [UInt8]

  /// The same for one that did not end its request in time.
  func refusalOfLate() -> [UInt8]
}

extension FramedConnection {
  func send(_ reply: [UInt8]) { server.reply(reply, to: self) }

  func finish() { isClosing = true }

  /// Drops what was read and not answered.
  func dropInput() {
    dropPartial()
    partialBytes = 0
    unread = []
    unreadPosition = 0
  }
}
