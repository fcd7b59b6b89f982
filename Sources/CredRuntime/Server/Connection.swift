internal import CLinux
internal import CredCore

/// One client. Owns its descriptor.
final class Connection {
  let descriptor: Int32
  let peer: Peer
  /// Index and generation in the server's table; what epoll hands back.
  let token: UInt64

  /// Cuts lines; holds the beginning of an unfinished one.
  var framer = LineFramer()
  /// What was read behind a request that is being waited for, and how much of it is taken.
  var unread: [UInt8] = []
  var unreadPosition = 0
  /// Bytes the peer has not taken yet.
  var outbound: [UInt8] = []
  var outboundStart = 0

  /// The request that is being waited for; meanwhile nothing more is read or taken.
  var parked: ParkedRequest?
  /// The peer has said its last word, but may still listen.
  var isInputFinished = false
  /// It was given replies outside its own turn, and waits for ``ClientServer/finishTurn()``.
  var isOwedTurn = false
  /// Close as soon as `outbound` is empty.
  var isClosing = false
  /// Gone from the table.
  var isClosed = false
  /// It owes something, and has a deadline for it.
  var isStalled = false
  /// What epoll was last told to report.
  var interest = CREDD_EPOLL_IN | CREDD_EPOLL_RDHUP

  /// The last request line that its session's rendered reply answers, and that session.
  var quickLine: [UInt8] = []
  var quickSession: Session?
  /// When access must be decided anew.
  var quickUntil = Instant(nanoseconds: .min)
  /// Set where the connection hears events.
  var watch: Watch?
  /// See ``groups()``.
  fileprivate var knownGroups: [UInt32]?

  init(descriptor: Int32, peer: Peer, token: UInt64) {
    self.descriptor = descriptor
    self.peer = peer
    self.token = token
  }

  deinit {
    credd_close(descriptor)
  }

  /// Replies waiting to be written, in bytes.
  var backlog: Int { outbound.count - outboundStart }

  /// Drops what was written.
  func wrote(_ count: Int) {
    outboundStart += count
    guard outboundStart == outbound.count else { return }
    outbound = []
    outboundStart = 0
  }
}

extension Connection {
  /// The groups the kernel recorded for the peer; asked for once.
  func groups() -> [UInt32] {
    if let known = knownGroups { return known }
    let groups = Peer.groups(of: descriptor, primary: peer.gid)
    knownGroups = groups
    return groups
  }
}
