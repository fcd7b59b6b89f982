import CredCore

/// A connected client: the kernel's facts about it, the request that waits, the events that it
/// watches.
///
/// A server makes one for each connection by ``LineReceiving/connected(_:_:)``. A client waits for
/// at most one request: its server takes no further line while ``isWaiting``.
package final class Client {
  /// An id is never used twice while the daemon lives.
  let id: UInt64
  let user: ClientUser
  let transport: Transport
  /// Without meaning for a client of the endpoint.
  let socket: ClientSocket
  /// What there is for the client; a reload may change it.
  var door: Door
  unowned let sink: any ReplySink
  private var kernel: KernelFacts

  /// The request that waits for its answer.
  private(set) var waiting: WaitingRequest?
  /// Whether ``waiting`` is set. A separate flag, because servers read it with every line: reading
  /// ``waiting`` costs a check of exclusive access.
  private var isWaitingNow = false
  /// Set if the client watches events.
  var watch: Watch?

  /// Whether no line of the client was parsed. A line that got a ``CachedAnswer`` equals a parsed
  /// request, and is not noted here: the hot path has no step for that.
  private var hasAsked = false
  var isNew: Bool {
    get { !hasAsked && auditedCredentials == 0 }
    set { hasAsked = !newValue }
  }

  /// The answer to the last line, if the same line may get it again.
  var cachedAnswer: CachedAnswer?
  /// How long the last decision about this client is valid, and whether it depends only on the
  /// user, not on the process.
  var decision = (until: Instant(nanoseconds: .min), isOfUser: false)
  /// The number of the credentials that the audit has recorded for this client.
  var auditedCredentials: UInt64 = 0
  /// The peer's program.
  var program = Program()

  init(
    id: UInt64, user: ClientUser, transport: Transport, at socket: ClientSocket = .main,
    door: Door = .main, facts: any PeerFacts, sink: any ReplySink
  ) {
    self.id = id
    self.user = user
    self.transport = transport
    self.socket = socket
    self.door = door
    self.sink = sink
    kernel = KernelFacts(facts)
  }

  var peer: Peer { kernel.peer }
  var facts: any PeerFacts { kernel.source }

  /// Whether a request of the client waits for its answer.
  package var isWaiting: Bool { isWaitingNow }

  func setWaiting(_ request: WaitingRequest?) {
    waiting = request
    isWaitingNow = request != nil
  }

  /// Forgets kept answers: the next request is decided anew, on the socket and at the endpoint.
  func forgetAnswers() {
    cachedAnswer = nil
    http?.answered = nil
  }

  /// Set for a client of the endpoint.
  var http: HTTPState? { if case .http(let state) = transport { state } else { nil } }

  /// Whether the kernel names the connecting process and its groups. For a TCP connection it does
  /// not.
  var hasProcess: Bool { http == nil }

  /// The peer's groups at `connect`; the kernel is asked once.
  func groups() -> [UInt32] { kernel.groups() }

  /// The systemd unit of the peer at the first query.
  func unit() -> String? { kernel.unit() }

  /// The systemd unit of the peer now; nil once it has ended.
  func presentUnit() -> String? { kernel.presentUnit() }
}

extension Client {
  /// The program of a peer, as far as it was inspected.
  struct Program {
    /// The result of the last inspection, and how long it is valid.
    var known: (answer: ExecutableAnswer, hasDigest: Bool, until: Instant)?
    /// Whether it is being inspected.
    var isInspected = false
  }

  /// The kernel's facts about a peer, asked once.
  private struct KernelFacts {
    let peer: Peer
    unowned let source: any PeerFacts
    private var knownGroups: [UInt32]?
    private var knownUnit: String??

    init(_ source: any PeerFacts) {
      self.source = source
      peer = source.peer
    }

    mutating func groups() -> [UInt32] {
      if let knownGroups { return knownGroups }
      let groups = source.groups()
      knownGroups = groups
      return groups
    }

    mutating func unit() -> String? { knownUnit ?? presentUnit() }

    mutating func presentUnit() -> String? {
      let unit = source.unit()
      if knownUnit == nil { knownUnit = .some(unit) }
      return unit
    }
  }
}

/// The state that all clients of one Unix user share, at a socket with a cap or at all others.
final class ClientUser {
  let uid: UInt32
  /// See ``ClientSocket/allowance``.
  let allowance: UnixSocketPath?
  var clientCount = 0
  /// The last line and its answer, valid for every client of the user.
  var cachedAnswer: CachedAnswer?
  /// The sessions in which requests of this user wait, with the number of requests in each.
  var waitingSessions: [ObjectIdentifier: Int] = [:]
  /// The account for which these requests count.
  var account: Account

  init(uid: UInt32, at allowance: UnixSocketPath? = nil, account: Account) {
    self.uid = uid
    self.allowance = allowance
    self.account = account
  }
}

/// How a client asks and is answered.
enum Transport {
  /// Lines on the Unix socket.
  case line
  /// HTTP at the endpoint.
  case http(HTTPState)
}
