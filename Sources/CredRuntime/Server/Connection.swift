internal import CLinux
internal import CredCore

/// One client. Owns its descriptor.
final class Connection {
  let descriptor: Int32
  let peer: Peer
  let user: UserShare
  /// Index and generation in the server's table; what epoll hands back.
  let token: UInt64
  let accepted: Instant

  /// Cuts lines; holds the beginning of an unfinished one.
  var framer = LineFramer()
  /// What was read behind a request that is being waited for, and how much of it is taken.
  var unread: [UInt8] = []
  var unreadPosition = 0
  /// Bytes the peer has not taken yet.
  var outbound: [UInt8] = []
  var outboundStart = 0

  /// What of ``UserShare/unfinishedBytes`` and ``UserShare/backlogBytes`` is this connection's.
  var countedUnfinished = 0
  var countedBacklog = 0
  /// In the ``ReadyQueue``, and who comes next there.
  var isReady = false
  var nextReady: Connection?
  /// What epoll reported since the last turn.
  var events: UInt32 = 0

  /// The request that is being waited for; meanwhile nothing more is read or taken.
  var parked: ParkedRequest?
  /// The peer has sent something.
  var hasSpoken = false
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
  /// Until when what the last decision rests on counts.
  var decidedUntil = Instant(nanoseconds: .min)
  /// Set where the connection hears events.
  var watch: Watch?
  /// The issue of credentials that the audit knows this connection was handed.
  var auditedIssue: UInt64 = 0
  /// The program of the peer when it was last looked at, and until when that counts.
  var executable: (answer: ExecutableDirectory.Answer, hasDigest: Bool, until: Instant)?
  /// It is being looked at.
  var isInspected = false
  /// See ``groups()``.
  fileprivate var knownGroups: [UInt32]?
  /// See ``unit()``. Nil until asked for.
  fileprivate var knownUnit: String??

  init(
    descriptor: Int32, peer: Peer, user: UserShare, token: UInt64, accepted: Instant
  ) {
    self.descriptor = descriptor
    self.peer = peer
    self.user = user
    self.token = token
    self.accepted = accepted
  }

  deinit {
    credd_close(descriptor)
  }

  /// Replies waiting to be written, in bytes.
  var backlog: Int { outbound.count - outboundStart }

  /// Bytes of a line that was begun, and of those behind a request.
  var unfinishedBytes: Int { framer.partialBytes + unread.count }

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

  /// Whether the very process that connected still lives, by the kernel's word.
  func isPeerAlive() -> Bool {
    guard peer.pid > 0 else { return false }
    let pidfd = credd_peer_pidfd(descriptor)
    guard pidfd >= 0 else { return false }
    defer { credd_close(pidfd) }
    return credd_pidfd_alive(pidfd) == 1
  }

  /// The systemd unit that the peer was in when it was first asked for.
  func unit() -> String? { knownUnit ?? presentUnit() }

  /// The systemd unit of the peer now; nil once it has ended.
  func presentUnit() -> String? {
    let unit = CallerUnit.name(of: peer, on: descriptor, accepted: accepted)
    if knownUnit == nil { knownUnit = .some(unit) }
    return unit
  }
}
