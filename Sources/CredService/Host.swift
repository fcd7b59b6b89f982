package import CredCore
package import Logging

/// What the session service asks of the world, as values and small protocols: the kernel's word, the
/// user database, threads, upstream services, files. Tests and simulations bring their own.
package struct Host {
  package let clock: any Clock
  package let background: any Background
  package let queries: any HostQueries
  package let upstream: any UpstreamPerforming
  /// Nil where nothing outlives the process.
  package let store: (any SessionStoring)?
  package var random: any RandomNumberGenerator
  package let process: ProcessFacts
  package let log: Logger

  package init(
    clock: any Clock, background: any Background, queries: any HostQueries,
    upstream: any UpstreamPerforming, store: (any SessionStoring)?,
    random: any RandomNumberGenerator, process: ProcessFacts, log: Logger
  ) {
    self.clock = clock
    self.background = background
    self.queries = queries
    self.upstream = upstream
    self.store = store
    self.random = random
    self.process = process
    self.log = log
  }
}

/// What stays the same while the process lives.
package struct ProcessFacts: Sendable {
  package let pid: Int32
  /// The uid that the kernel gives for a user that has no number in this user namespace
  /// (user_namespaces(7)).
  package let overflowUID: UInt32

  package init(pid: Int32, overflowUID: UInt32) {
    self.pid = pid
    self.overflowUID = overflowUID
  }
}

// MARK: Time

/// Both clocks, and timers on the first.
package protocol Clock: AnyObject {
  /// On CLOCK_BOOTTIME: all deadlines.
  var now: Instant { get }
  /// On CLOCK_REALTIME: what people and AWS read.
  var wallTime: WallTime { get }
  /// How far the wall clock is behind AWS's, where that is worth a word.
  var skew: Duration? { get }

  /// A timer, not armed yet. Dropping it disarms it.
  func makeTimer(_ fire: @escaping () -> Void) -> any Timer
  /// A server of AWS said what time it is.
  func recordServerTime(_ time: WallTime)
}

package protocol Timer: AnyObject {
  /// Fires once at `deadline`, or never.
  func arm(at deadline: Instant?)
}

// MARK: Work that may block

/// Work that shares its threads: what hangs in one lane leaves the others alone.
package enum BackgroundLane: Int, CaseIterable, Sendable {
  /// The user database, which may ask a network directory.
  case users
  /// Programs of callers, which may be large and on slow disks.
  case programs
  /// Files that the configuration names.
  case files
  /// The state directory.
  case state
  /// Shared libraries.
  case libraries
  /// The configuration, at a reload.
  case configuration

  /// Threads at once, those that hang included.
  package var width: Int {
    switch self {
    case .users: 16
    case .programs, .files: 4
    case .state, .configuration: 1
    case .libraries: 2
    }
  }
}

package enum BackgroundOutcome<Value> {
  case finished(Value)
  /// Not done by its deadline; or not begun, because every thread of the lane hangs. Work that is
  /// still running may yet finish: then `finished` follows.
  case overdue(isRunning: Bool)
}

/// Runs what may block on threads. Completions come on the loop's thread, never within `run`.
package protocol Background: AnyObject {
  func run<Value: Sendable>(
    _ lane: BackgroundLane, deadline: Instant, _ work: @escaping @Sendable () -> Value,
    completion: @escaping (BackgroundOutcome<Value>) -> Void)
}

extension Background {
  /// Like ``run(_:deadline:_:completion:)``, with one completion: nil if the work is overdue. A
  /// later result is dropped.
  package func runOnce<Value: Sendable>(
    _ lane: BackgroundLane, deadline: Instant, _ work: @escaping @Sendable () -> Value,
    completion: @escaping (Value?) -> Void
  ) {
    var isDone = false
    run(lane, deadline: deadline, work) { outcome in
      guard !isDone else { return }
      isDone = true
      if case .finished(let value) = outcome { completion(value) } else { completion(nil) }
    }
  }
}

/// Questions to the host that may block: asked on a ``BackgroundLane`` only.
package protocol HostQueries: Sendable {
  func user(_ query: UserQuery) -> UserAnswer
  func executable(of pid: Int32, withDigest: Bool) -> ExecutableAnswer
  /// - Throws: an error that names `path`, under the configuration's `key`.
  func file(_ path: String, key: String) throws(InvalidInput) -> Secret
  /// Never blocks.
  func environment(_ name: String) -> String?
}

/// A user to look up.
package struct UserQuery: Hashable, Sendable {
  package enum Key: Hashable, Sendable {
    case uid(UInt32)
    case name(String)
  }

  package var key: Key
  /// Costs more: directories look through all groups.
  package var withGroups = false

  package init(_ key: Key, withGroups: Bool = false) {
    self.key = key
    self.withGroups = withGroups
  }
}

/// An entry of the user database.
package struct UserEntry: Equatable, Sendable {
  package var uid: UInt32
  package var name: String
  /// Empty unless the query asked for them.
  package var groups: [UInt32] = []
  /// Groups that the database listed for this user since the daemon started, and no longer does.
  package var withdrawn: Set<UInt32> = []

  package init(uid: UInt32, name: String, groups: [UInt32] = [], withdrawn: Set<UInt32> = []) {
    self.uid = uid
    self.name = name
    self.groups = groups
    self.withdrawn = withdrawn
  }
}

package enum UserAnswer: Equatable, Sendable {
  case user(UserEntry)
  /// The host knows no such user.
  case nobody
  /// The database did not answer, and never has to this query.
  case unavailable
}

package enum ExecutableAnswer: Equatable, Sendable {
  case executable(Caller.Executable)
  /// With the reason, for the operator.
  case unknown(String)
}

// MARK: Clients

/// The other end of a connection, as the kernel recorded it at `connect`.
package struct Peer: Sendable {
  package let uid: UInt32
  package let gid: UInt32
  /// 0 outside this daemon's pid namespace.
  package let pid: Int32

  package init(uid: UInt32, gid: UInt32, pid: Int32) {
    self.uid = uid
    self.gid = gid
    self.pid = pid
  }
}

/// What the kernel says of a client.
package protocol PeerFacts: AnyObject {
  var peer: Peer { get }
  /// Primary and supplementary groups at `connect`.
  func groups() -> [UInt32]
  /// The systemd unit of the peer now; nil where there is none, or where it cannot be told.
  func unit() -> String?
  /// Whether the very process that connected still lives.
  func isAlive() -> Bool
  /// When the process began that has the peer's pid now; nil where it is not the peer's user's.
  func startTime() -> Instant?
}

/// Takes the replies to one client.
package protocol ReplySink: AnyObject {
  func send(_ reply: [UInt8])
}

/// The service, as its servers see it.
package protocol LineReceiving: AnyObject {
  func connected(_ facts: any PeerFacts, _ sink: any ReplySink) -> Client
  /// Answers a line through the client's sink, at once or later.
  ///
  /// - Returns: what it took beyond the time of a cached answer.
  func receive(_ line: borrowing Span<UInt8>, from client: Client, now: Instant) -> Duration
  /// The client is gone.
  func left(_ client: Client)
}

// MARK: Upstream

/// The Unix user that a call is for.
package struct UnixUser: Sendable, Equatable {
  package let uid: UInt32
  /// Nil for a uid without a name.
  package let name: String?

  package init(uid: UInt32, name: String?) {
    self.uid = uid
    self.name = name
  }
}

/// A session's call with all that it takes to make it.
package struct CallRequest: Sendable {
  package let id: CallID
  package let call: UpstreamCall
  /// As it was when the call began, whatever a reload does meanwhile.
  package let profile: Profile
  package let user: UnixUser
  /// A caller waits for it.
  package let isInPerson: Bool
  /// The call before it failed.
  package let isRetry: Bool

  package init(
    id: CallID, call: UpstreamCall, profile: Profile, user: UnixUser, isInPerson: Bool,
    isRetry: Bool
  ) {
    self.id = id
    self.call = call
    self.profile = profile
    self.user = user
    self.isInPerson = isInPerson
    self.isRetry = isRetry
  }
}

/// Makes the calls of sessions. One completion for each: later, never within `start`, and never
/// after `cancel`.
package protocol UpstreamPerforming: AnyObject {
  func start(_ request: CallRequest, completion: @escaping (UpstreamOutcome) -> Void)
  /// A caller waits for a call that nobody waited for.
  func prioritise(_ id: CallID)
  /// The outcome is not wanted any more. A call that is under way goes on.
  func cancel(_ id: CallID)
  /// Tells a backend that a user signed out everywhere. The failure, if it failed.
  func signOut(_ request: GlobalSignOut, completion: @escaping (UpstreamFailure?) -> Void)
  /// Calls that have begun or wait for their turn.
  var callCount: Int { get }
}

/// Sends one request, bounded by its settings. The completion comes later, never within `send`.
package protocol HTTPSending: AnyObject {
  func send(
    _ request: HTTPRequest, _ settings: HTTPSettings,
    completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void)
}

/// A command to run: no shell, and no environment but this.
package struct Command: Sendable {
  /// The absolute path first.
  package let arguments: [String]
  package let environment: [(name: String, value: Secret)]
  package let input: Secret
  package let timeout: Duration

  package init(
    _ arguments: [String], environment: [(name: String, value: Secret)], input: Secret,
    timeout: Duration
  ) {
    self.arguments = arguments
    self.environment = environment
    self.input = input
    self.timeout = timeout
  }
}

/// Runs commands. The completion comes later, never within `run`.
package protocol CommandRunning: AnyObject {
  func run(_ command: Command, completion: @escaping (ExecOutcome) -> Void)
}

/// Hashes and a cipher.
package typealias Crypto = BlockCipher & Digests

/// Loads a crypto library at need. The completion gets nil where there is none; it may come at once.
package protocol CryptoLoading: AnyObject {
  func load(completion: @escaping ((any Crypto)?) -> Void)
}

// MARK: State

/// Whose session it is, and in which profile.
package struct SessionKey: Hashable, Comparable, Sendable {
  package let uid: UInt32
  package let profile: String

  package init(uid: UInt32, profile: String) {
    self.uid = uid
    self.profile = profile
  }

  package static func < (one: SessionKey, other: SessionKey) -> Bool {
    (one.uid, one.profile) < (other.uid, other.profile)
  }
}

/// Where sessions are found again: after a restart whole, after a reboot as far as their
/// IdentityIds. Nothing here blocks or fails; what cannot be stored is reported by `problem`.
package protocol SessionStoring: AnyObject {
  /// What a former process left. Asked once, before anything is saved.
  func load() -> [SessionKey: SessionRecord]
  func save(_ record: SessionRecord, for key: SessionKey)
  func remove(_ key: SessionKey)
  func identity(for key: SessionKey) -> KnownIdentity?
  func setIdentity(_ identity: KnownIdentity?, for key: SessionKey)
  /// Why IdentityIds are kept in memory alone; nil where they are on disk.
  var problem: String? { get }
}
