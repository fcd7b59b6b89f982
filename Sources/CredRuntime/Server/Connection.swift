internal import CLinux
internal import CredCore
internal import CredService

/// One client's descriptor and buffers. Owns the descriptor.
final class Connection {
  let descriptor: Int32
  let peer: Peer
  let user: UserQueue
  /// Nil for one that is refused.
  var client: Client?
  private unowned let server: ClientServer
  /// Index and generation in the server's table; what epoll hands back.
  let token: UInt64
  let accepted: Instant
  /// What is unread may carry descriptors; see `credd_receive`. False where the kernel lets none
  /// through, and once everything was read.
  private var mayCarryDescriptors: Bool

  /// Cuts lines; holds the beginning of an unfinished one.
  private var framer = LineFramer()
  /// Bytes of it. Like ``backlog`` a number of its own: what is changed by calls is checked at run
  /// time whenever it is read, which took a third of the instructions of a cached `get`.
  private(set) var partialBytes = 0
  /// What was read behind a request that waits for its answer, and how much of it is taken.
  var unread: [UInt8] = []
  var unreadPosition = 0
  /// Bytes the peer has not taken yet, behind those it has.
  private var outbound: [UInt8] = []
  private var outboundStart = 0
  /// Replies waiting to be written, in bytes.
  private(set) var backlog = 0

  /// What of ``UserQueue/unfinishedBytes`` and ``UserQueue/backlogBytes`` is this connection's.
  var countedUnfinished = 0
  var countedBacklog = 0
  /// In the ``ReadyQueue``, and the connection that comes next there.
  var isReady = false
  var nextReady: Connection?
  /// What epoll reported and was not acted upon yet: it says each thing once.
  var events: UInt32 = 0

  /// The peer has sent something.
  var hasSentData = false
  /// The peer sends nothing more, but may still read.
  var isInputFinished = false
  /// It was given replies outside its own turn: see ``ClientServer/writeReplies()``.
  var hasPendingReply = false
  /// Close as soon as `outbound` is empty.
  var isClosing = false
  /// Gone from the table.
  var isClosed = false
  /// It has a deadline: see ``ClientServer/updateStallDeadline(_:_:)``.
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

  /// Answers what `read` does; `-EBADMSG` where the peer passes descriptors.
  func read(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
    guard mayCarryDescriptors else {
      return unsafe credd_read(descriptor, buffer.baseAddress, buffer.count)
    }
    let count = unsafe credd_receive(descriptor, buffer.baseAddress, buffer.count)
    if count == 0 { mayCarryDescriptors = false }
    return count
  }

  /// There may be something to read, if only the end.
  var hasInput: Bool { events & (CREDD_EPOLL_IN | CREDD_EPOLL_RDHUP) != 0 }

  /// The peer neither sends nor listens any more.
  var isGone: Bool { events & (CREDD_EPOLL_HUP | CREDD_EPOLL_ERR) != 0 }

  /// Less than was asked for was read: what comes next is said again. Not so the end, if that is
  /// what comes next, nor what lies behind out-of-band data, at which a read stops.
  func readShort() {
    guard events & (CREDD_EPOLL_RDHUP | CREDD_EPOLL_HUP | CREDD_EPOLL_PRI) == 0 else { return }
    events &= ~CREDD_EPOLL_IN
  }

  /// Nothing was there, or nothing more ever comes.
  func inputDrained() {
    events &= ~(CREDD_EPOLL_IN | CREDD_EPOLL_RDHUP | CREDD_EPOLL_PRI)
  }

  // MARK: Lines

  var holdsPartialLine: Bool { partialBytes > 0 }

  /// Bytes of a line that was begun, and of those behind a request.
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

  /// Forgets what was read and not answered.
  func dropLines() {
    framer = LineFramer()
    partialBytes = 0
    unread = []
    unreadPosition = 0
  }

  // MARK: Replies

  /// Adds to the backlog.
  func enqueue(_ bytes: [UInt8]) {
    // Mostly there is none: then the reply is shared, not copied.
    if backlog == 0 { outbound = bytes } else { outbound.append(contentsOf: bytes) }
    backlog += bytes.count
  }

  /// Writes what the peer takes of the backlog; answers what `send` does.
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

  // MARK: Its user's account

  /// Brings its user's account up to date.
  func account() {
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

  /// Whether a request waits for its answer; meanwhile nothing more is read or taken.
  var isWaiting: Bool { client?.isWaiting ?? false }
}

extension Connection: PeerFacts {
  func groups() -> [UInt32] { Peer.groups(of: descriptor, primary: peer.gid) }

  func unit() -> String? { CallerUnit.name(of: peer, on: descriptor, accepted: accepted) }

  func isAlive() -> Bool {
    guard peer.pid > 0 else { return false }
    let pidfd = credd_peer_pidfd(descriptor)
    guard pidfd >= 0 else { return false }
    defer { credd_close(pidfd) }
    return credd_pidfd_alive(pidfd) == 1
  }

  func startTime() -> Instant? { CallerUnit.started(peer) }
}
