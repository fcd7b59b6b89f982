package import CredCore
package import Logging

/// All that the session service needs from outside: clock, threads, user database, upstreams,
/// files. Tests and simulations have their own.
package struct Host {
  package let clock: any Clock
  package let background: any Background
  package let queries: any HostQueries
  package let upstream: any UpstreamPerforming
  /// Nil if nothing is kept for the next process.
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
  /// The kernel's uid for a user without a number in this user namespace (user_namespaces(7)).
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
  /// On CLOCK_REALTIME: for people and AWS.
  var wallTime: WallTime { get }
  /// How far the wall clock is behind AWS's; nil if small.
  var skew: Duration? { get }

  /// A timer, not armed yet. Dropping it disarms it.
  func makeTimer(_ fire: @escaping () -> Void) -> any Timer
  /// Takes the time that a server of AWS reported.
  func recordServerTime(_ time: WallTime)
}

package protocol Timer: AnyObject {
  /// Fires once at `deadline`, or never.
  func arm(at deadline: Instant?)
}

// MARK: Work that may block

/// A kind of work with its own threads: work that hangs in one lane does not delay another.
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

  /// What its work does, for people.
  package var purpose: String {
    switch self {
    case .users: "looking up users"
    case .programs: "looking at callers' programs"
    case .files: "reading files of the configuration"
    case .state: "writing the state directory"
    case .libraries: "loading libraries"
    case .configuration: "reading the configuration"
    }
  }

  /// The most threads at once, including those that hang.
  package var width: Int {
    switch self {
    case .users: 16
    case .programs, .files, .configuration: 4
    case .state: 1
    case .libraries: 2
    }
  }
}

package enum BackgroundOutcome<Value> {
  case finished(Value)
  /// The work missed its deadline, or could not begin because every thread of the lane hangs. If
  /// running work finishes later, `finished` follows.
  case overdue(isRunning: Bool)
}

/// Runs blocking work on threads. Completions run on the loop's thread, never within `run`.
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
    // Dropped once it was called: a thread that hangs keeps nothing of the call.
    var waiting: ((Value?) -> Void)? = completion
    run(lane, deadline: deadline, work) { outcome in
      let completion = waiting.take()
      if case .finished(let value) = outcome { completion?(value) } else { completion?(nil) }
    }
  }
}

/// Queries to the host that may block: call them on a ``BackgroundLane`` only.
package protocol HostQueries: Sendable {
  func user(_ query: UserQuery) -> UserAnswer
  func group(_ name: String) -> GroupAnswer
  /// The path and the file of the program that a process runs.
  func program(of pid: Int32) -> ProgramAnswer
  /// The digest of a file that a process still runs.
  func digest(of file: ProgramFile, runBy pid: Int32) -> DigestAnswer
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
  /// Also looks up groups. This costs more: directories search all groups.
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
  /// Groups that the database listed for this user since the daemon's start, but no longer lists.
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
  /// The database did not answer, and has never answered this query.
  case unavailable

  /// Nil without a user.
  var name: String? { if case .user(let user) = self { user.name } else { nil } }
}

package enum GroupAnswer: Equatable, Sendable {
  case group(UInt32)
  /// The host knows no such group.
  case noSuchGroup
  /// The database did not answer.
  case unavailable
}

/// A file and its content, as far as the kernel distinguishes them. No process can set the time of
/// the last status change.
package struct ProgramFile: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64
  package let size: Int64
  /// In nanoseconds.
  package let modified: Int64
  package let changed: Int64

  package init(device: UInt64, inode: UInt64, size: Int64, modified: Int64, changed: Int64) {
    self.device = device
    self.inode = inode
    self.size = size
    self.modified = modified
    self.changed = changed
  }
}

package enum ProgramAnswer: Equatable, Sendable {
  case program(path: String, ProgramFile)
  /// With the reason, for the operator.
  case unknown(String)
}

package enum DigestAnswer: Equatable, Sendable {
  /// In 64 lower-case hexadecimal digits.
  case digest(String)
  /// With the reason, for the operator.
  case unknown(String)
}

/// What is known of a client's program.
enum ExecutableAnswer: Equatable {
  case executable(Caller.Executable)
  /// With the reason, for the operator.
  case unknown(String)
  /// The disk did not answer in time.
  case overdue
  /// The user asks about too many processes at once.
  case crowded

  /// The refusal of a request, if its program could not be looked at now but perhaps later.
  var error: ProtocolError? {
    switch self {
    case .executable, .unknown: nil
    case .overdue:
      ProtocolError(
        .timeout, "the file of the calling program could not be read in time; try again",
        retryAfter: UserDirectory.failureKeptFor)
    case .crowded:
      ProtocolError(
        .tooManyRequests,
        "more than \(Limits.Client.queuedPrograms) programs of this user wait to be looked at",
        retryAfter: .seconds(1))
    }
  }
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

/// The kernel's facts about a client.
package protocol PeerFacts: AnyObject {
  var peer: Peer { get }
  /// Primary and supplementary groups at `connect`.
  func groups() -> [UInt32]
  /// The peer's present systemd unit; nil if there is none or it is uncertain.
  func unit() -> String?
  /// Whether the process that connected still lives.
  func isAlive() -> Bool
  /// When the present process of the peer's pid began; nil if it belongs to another user.
  func startTime() -> Instant?
}

/// Takes the replies to one client.
package protocol ReplySink: AnyObject {
  func send(_ reply: [UInt8])
  /// Takes no further line of the client, and disconnects it when it has its replies.
  func finish()
}

/// The service, as its servers see it.
package protocol LineReceiving: AnyObject {
  func connected(_ facts: any PeerFacts, _ sink: any ReplySink) -> Client
  /// Answers a line through the client's sink, at once or later.
  ///
  /// - Returns: the time that it took beyond that of a cached answer.
  func receive(_ line: borrowing Span<UInt8>, from client: Client, now: Instant) -> Duration
  /// Removes a client that has disconnected.
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

/// A session's call with everything needed to make it.
package struct CallRequest: Sendable {
  package let id: CallID
  package let call: UpstreamCall
  /// The profile when the call began; a reload does not change it.
  package let profile: Profile
  package let user: UnixUser
  /// A caller waits for it.
  package let isInPerson: Bool
  /// Whether the former call failed.
  package let isRetry: Bool
  /// Who asks; nil where the backend is not told.
  package let caller: CallerNote?

  package init(
    id: CallID, call: UpstreamCall, profile: Profile, user: UnixUser, isInPerson: Bool,
    isRetry: Bool, caller: CallerNote? = nil
  ) {
    self.caller = caller
    self.id = id
    self.call = call
    self.profile = profile
    self.user = user
    self.isInPerson = isInPerson
    self.isRetry = isRetry
  }
}

/// A sign-up with everything needed to make it.
package struct SignUpCall: Sendable {
  package let id: CallID
  package let profile: Profile
  package let user: UnixUser
  package let signUp: SignUp
}

/// Makes the calls of sessions. One completion for each: later, never within `start`, and never
/// after `cancel`.
package protocol UpstreamPerforming: AnyObject {
  func start(_ request: CallRequest, completion: @escaping (UpstreamOutcome) -> Void)
  /// Prioritises a call, because a caller now waits for it.
  func prioritise(_ id: CallID)
  /// Drops the outcome. A call that is under way continues.
  func cancel(_ id: CallID)
  /// Reports a global sign-out to the backend. The completion gets the failure, if any.
  func signOut(_ request: GlobalSignOut, completion: @escaping (UpstreamFailure?) -> Void)
  /// Makes an account at the backend.
  func signUp(
    _ request: SignUpCall,
    completion: @escaping (Result<SignUpResult, UpstreamFailure>) -> Void)
  /// The number of calls that have begun or wait for their turn.
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
  /// The first argument is the absolute path.
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

extension Command {
  /// The values of its variables, hidden in texts that come back.
  var secrets: SentSecrets {
    SentSecrets(environment.filter { $0.name != "PATH" }.map(\.value))
  }
}

/// Runs commands. The completion comes later, never within `run`.
package protocol CommandRunning: AnyObject {
  func run(_ command: Command, completion: @escaping (ExecOutcome) -> Void)
}

/// Hashes and a cipher.
package typealias Crypto = BlockCipher & Digests

/// Loads a crypto library when it is first needed. The completion gets nil if there is none; it may
/// run at once.
package protocol CryptoLoading: AnyObject {
  func load(completion: @escaping ((any Crypto)?) -> Void)
}

// MARK: State

/// The user and the profile of a session.
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

/// Keeps whole sessions over a restart, and their IdentityIds over a reboot. No function blocks or
/// fails; `problem` reports what cannot be stored.
package protocol SessionStoring: AnyObject {
  /// The state of the former process. Read once, before anything is saved.
  func load() -> [SessionKey: SessionRecord]
  func save(_ record: SessionRecord, for key: SessionKey)
  func remove(_ key: SessionKey)
  func identity(for key: SessionKey) -> KnownIdentity?
  func setIdentity(_ identity: KnownIdentity?, for key: SessionKey)
  /// Why IdentityIds are only in memory; nil if they are on disk.
  var problem: String? { get }
}
