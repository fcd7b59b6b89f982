import CredCore

/// A connected client: the kernel's facts about it, the request that waits, the events that it
/// watches.
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

  /// The request that waits for its answer. Only ``setWaiting(_:)`` changes it.
  var waiting: WaitingRequest?
  /// Whether ``waiting`` is set. A separate flag, because servers read it with every line: reading
  /// ``waiting`` costs a check of exclusive access.
  private var isWaitingNow = false
  /// While a request starts again: whose account it was about before.
  var account: AccountOwner?
  /// Set where the client hears events.
  var watch: Watch?

  /// Whether no line of it was read. One that got a ``CachedAnswer`` was compared with a request, and
  /// is not remembered here: the hot path has no step for it.
  private var hasAsked = false
  var isNew: Bool {
    get { !hasAsked && auditedCredentials == 0 }
    set { hasAsked = !newValue }
  }

  /// The `op` of the last request that was not answered from the cache.
  var operation = "get"
  /// Set where a kept name is not enough for the last request: the user database must have been asked at
  /// this time or later.
  var nameSince: Instant?
  /// The `purpose` of the last request.
  var purpose: String?
  /// The line that may get a ``CachedAnswer``, and the last answer that it got.
  var cachedLine: [UInt8] = []
  var cachedAnswer: CachedAnswer?
  /// How long the last decision about this client is valid, and whether it depends only on the
  /// user, not on the process.
  var decision = (until: Instant(nanoseconds: .min), isOfUser: false)
  /// Set for a client of the endpoint; nil for one of the socket.
  var endpoint: EndpointState?
  /// The number of the credentials that the audit has recorded for this client.
  var auditedCredentials: UInt64 = 0
  /// The program of the peer at the last inspection, and how long the result is valid.
  var executable: (answer: ExecutableAnswer, hasDigest: Bool, until: Instant)?
  /// Whether the program is being inspected.
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

  /// The next request is decided about anew, on the socket and at the endpoint.
  func forgetAnswers() {
    cachedAnswer = nil
    endpoint?.answered = nil
  }

  /// The peer's groups at `connect`; the kernel is asked once.
  func groups() -> [UInt32] {
    if let knownGroups { return knownGroups }
    let groups = facts.groups()
    knownGroups = groups
    return groups
  }

  /// The systemd unit of the peer at the first query.
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
  /// The last line and its answer, valid for every client of the user.
  var cachedAnswer: CachedAnswer?
  /// The sessions in which this user's requests wait, each with their number.
  var waitingSessions: [ObjectIdentifier: Int] = [:]
  /// In whose share these count.
  var account: Account

  init(uid: UInt32, account: Account) {
    self.uid = uid
    self.account = account
  }
}

/// A request that waits for its answer. A class, because few clients wait: a struct would take 640
/// bytes of each.
final class WaitingRequest {
  /// What it waits for.
  enum Subject {
    /// The caller is being looked up: the request then starts again.
    case caller
    /// The session answers.
    case session(Session)
    /// A call that is no session's: about an account, or a global sign-out.
    case call(CallID)
  }

  let request: Request
  let subject: Subject
  /// The session of a sign-in that has succeeded, while access is decided before its answer; nil once a
  /// reload may have withdrawn it.
  var signedInTo: Session?
  /// Whose account it is about.
  var account: AccountOwner?
  /// How long the decision to let it wait is valid.
  var allowedUntil = Instant.distantFuture
  /// Who may use the profile was changed since. The former decision is worth nothing, even where
  /// another one cannot be made.
  var isUndecided = false

  init(_ request: Request, for subject: Subject) {
    self.request = request
    self.subject = subject
  }

  var session: Session? { if case .session(let session) = subject { session } else { nil } }

  var isForCaller: Bool { if case .caller = subject { true } else { false } }

  func isFor(_ call: CallID) -> Bool {
    if case .call(let id) = subject { id == call } else { false }
  }
}

/// The user of a user pool whose sign-in a request about the account relies on. What it asks is not
/// done with another user's account, nor by another sign-in.
struct AccountOwner: Equatable {
  private let issuer: PoolIssuer
  private let username: [UInt8]
  private let signedInAt: WallTime?

  init(_ session: PoolSession) {
    issuer = session.issuer
    username = Array(session.username.utf8)
    signedInAt = session.signedInAt
  }
}

/// The events that a client watches.
struct Watch {
  enum Scope {
    case all
    case profile(String)
  }

  let scope: Scope
  /// The person who watches. It hears nothing of another person who gets the uid later.
  let owner: SessionOwner
  /// The profiles of which it hears, with the scope `all`: those that the caller may use.
  var visible: Set<String> = []
  /// The server repeats it in every line.
  let id: RequestID?
  /// How long the decision to let it watch is valid.
  var allowedUntil = Instant.distantFuture
  /// Who may use the profile was changed since, as ``WaitingRequest/isUndecided``.
  var isUndecided = false
  /// Events that came after ``allowedUntil``. The client gets them if it may watch on.
  private(set) var held: [(profile: String, event: SessionEvent)] = []
  /// Profiles with more events than are held: their present state takes the place of all of them.
  private(set) var missed: Set<String> = []

  init(_ scope: Scope, of owner: SessionOwner, id: RequestID?) {
    self.scope = scope
    self.owner = owner
    self.id = id
  }

  func covers(_ name: String) -> Bool {
    switch scope {
    case .all: visible.contains(name)
    case .profile(let profile): profile == name
    }
  }

  var holdsAny: Bool { !held.isEmpty || !missed.isEmpty }

  mutating func hold(_ event: SessionEvent, _ profile: String) {
    if held.count < Limits.Client.heldEvents, !missed.contains(profile) {
      held.append((profile, event))
    } else {
      missed.insert(profile)
      held.removeAll { $0.profile == profile }
    }
  }

  mutating func dropHeld() {
    held = []
    missed = []
  }

  /// Whether the watcher is the session's owner. A uid that lost its name is not.
  func isOf(_ owner: SessionOwner) -> Bool {
    switch owner.successor(self.owner) {
    case .samePerson, .firstSeen: true
    case .anotherPerson, .nameless: false
    }
  }
}

extension SessionService {
  /// Makes a client wait for the answer to a request.
  func wait(_ client: Client, for waiting: WaitingRequest) {
    client.setWaiting(waiting)
    guard let session = waiting.session else { return }
    settleAccount(of: client.user)
    let place = ObjectIdentifier(session)
    if client.user.waitingSessions[place] == nil { countWaiting(1, in: client.user.account) }
    client.user.waitingSessions[place, default: 0] += 1
  }

  /// Ends the wait of a client that gets its answer or has disconnected. Returns nil if it does not
  /// wait.
  @discardableResult
  func endWait(_ client: Client) -> WaitingRequest? {
    guard let waiting = client.waiting else { return nil }
    client.setWaiting(nil)
    guard let session = waiting.session else { return waiting }
    let place = ObjectIdentifier(session)
    let left = (client.user.waitingSessions[place] ?? 0) - 1
    client.user.waitingSessions[place] = left > 0 ? left : nil
    if left <= 0 { countWaiting(-1, in: client.user.account) }
    return waiting
  }
}
