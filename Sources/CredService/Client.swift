import CredCore

/// One peer that may ask: what the kernel says of it, what it waits for, what it watches.
///
/// A server makes one for each connection by ``LineReceiving/connected(_:_:)``. A client waits for
/// at most one request: its server takes no further line while ``isWaiting``.
package final class Client {
  /// Never used twice in the life of the daemon.
  let id: UInt64
  let peer: Peer
  let user: ClientUser
  unowned let facts: any PeerFacts
  unowned let sink: any ReplySink

  /// The request that it waits for. It comes and goes by ``setWaiting(_:)`` alone.
  var waiting: WaitingRequest?
  /// The same as a flag of its own. Servers ask for it with every line, and ``waiting``, which is
  /// changed in place, costs a check of exclusive access at each look.
  private var isWaitingNow = false
  /// Set where the client hears events.
  var watch: Watch?

  /// The line that may get a ``CachedAnswer``, and the last answer that it got.
  var cachedLine: [UInt8] = []
  var cachedAnswer: CachedAnswer?
  /// How long the last decision about this client counts, and whether it rests on the user alone
  /// and not on the process.
  var decision = (until: Instant(nanoseconds: .min), isOfUser: false)
  /// The number of the credentials that the audit knows this client was given.
  var auditedCredentials: UInt64 = 0
  /// The program of the peer when it was last looked at, and how long that counts.
  var executable: (answer: ExecutableAnswer, hasDigest: Bool, until: Instant)?
  /// The program is being looked at.
  var isInspected = false
  private var knownGroups: [UInt32]?
  private var knownUnit: String??

  init(id: UInt64, user: ClientUser, facts: any PeerFacts, sink: any ReplySink) {
    self.id = id
    self.user = user
    self.facts = facts
    self.sink = sink
    peer = facts.peer
  }

  /// Whether a request of the client waits for its answer.
  package var isWaiting: Bool { isWaitingNow }

  func setWaiting(_ request: WaitingRequest?) {
    waiting = request
    isWaitingNow = request != nil
  }

  /// The peer's groups at `connect`; the kernel is asked once.
  func groups() -> [UInt32] {
    if let knownGroups { return knownGroups }
    let groups = facts.groups()
    knownGroups = groups
    return groups
  }

  /// The systemd unit that the peer was in when it was first asked for.
  func unit() -> String? { knownUnit ?? presentUnit() }

  /// The systemd unit of the peer now; nil once it has ended.
  func presentUnit() -> String? {
    let unit = facts.unit()
    if knownUnit == nil { knownUnit = .some(unit) }
    return unit
  }
}

/// What the clients of one Unix user share.
final class ClientUser {
  let uid: UInt32
  var clientCount = 0
  /// The last line and its answer that any client of the user may have.
  var cachedAnswer: CachedAnswer?
  /// Sessions in which requests of this user wait, with the number of requests.
  var waitingSessions: [ObjectIdentifier: Int] = [:]

  init(uid: UInt32) {
    self.uid = uid
  }
}

/// A request that waits for its answer.
struct WaitingRequest {
  let request: Request
  /// The session it waits in. Nil while the caller is looked up, after which the request is answered
  /// from the start, and while a global sign-out is under way.
  let session: Session?
  /// The caller is being looked up.
  let forCaller: Bool
  /// How long the decision to let it wait counts.
  var allowedUntil = Instant.distantFuture

  init(_ request: Request, in session: Session? = nil, forCaller: Bool = false) {
    self.request = request
    self.session = session
    self.forCaller = forCaller
  }
}

/// What a client listens to.
struct Watch {
  enum Scope {
    case all
    case profile(String)
  }

  let scope: Scope
  /// Comes back with every line.
  let id: RequestID?
  /// How long the decision to let it listen counts.
  var allowedUntil = Instant.distantFuture

  func covers(_ name: String) -> Bool {
    switch scope {
    case .all: true
    case .profile(let profile): profile == name
    }
  }
}

extension SessionService {
  /// Has a client wait for the answer to a request.
  func wait(_ client: Client, for waiting: WaitingRequest) {
    client.setWaiting(waiting)
    guard let session = waiting.session else { return }
    client.user.waitingSessions[ObjectIdentifier(session), default: 0] += 1
  }

  /// The client is answered now, or left. Nil where it does not wait.
  @discardableResult
  func endWait(_ client: Client) -> WaitingRequest? {
    guard let waiting = client.waiting else { return nil }
    client.setWaiting(nil)
    guard let session = waiting.session else { return waiting }
    let place = ObjectIdentifier(session)
    let left = (client.user.waitingSessions[place] ?? 0) - 1
    client.user.waitingSessions[place] = left > 0 ? left : nil
    return waiting
  }
}
