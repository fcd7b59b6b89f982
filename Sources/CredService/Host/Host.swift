package import CredCore
package import Logging

/// Everything that the session service needs from outside: clock, threads, user database,
/// upstreams, files. Tests and simulations provide other implementations.
package struct Host {
  /// The time, and timers.
  package let clock: any Clock
  /// Threads for work that may block.
  package let background: any Background
  /// The user database, files and processes.
  package let queries: any HostQueries
  /// Makes the calls of sessions.
  package let upstream: any UpstreamPerforming
  /// Nil if nothing is kept for the next process.
  package let store: (any SessionStoring)?
  /// For handles, jitter and the private values of proofs.
  package var random: any RandomNumberGenerator
  /// Facts about this process.
  package let process: ProcessFacts
  /// The journal, or stderr.
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

/// Facts that stay the same while the process lives.
package struct ProcessFacts: Sendable {
  /// For `ping` and `status`.
  package let pid: Int32
  /// The kernel's uid for a user without a number in this user namespace (user_namespaces(7)).
  package let overflowUID: UInt32
  /// This host's name, for `{host}` in templates.
  package let hostName: String

  package init(pid: Int32, overflowUID: UInt32, hostName: String = "localhost") {
    self.pid = pid
    self.overflowUID = overflowUID
    self.hostName = hostName
  }
}

// MARK: Time

/// Both clocks, and timers on CLOCK_BOOTTIME.
package protocol Clock: AnyObject {
  /// The time of CLOCK_BOOTTIME, for all deadlines.
  var now: Instant { get }
  /// The time of CLOCK_REALTIME, for people and AWS.
  var wallTime: WallTime { get }
  /// How far the wall clock is behind AWS's clock; nil if the difference is small.
  var skew: Duration? { get }
  /// AWS's time; nil until a server of AWS has told it.
  var awsTime: WallTime? { get }

  /// A timer, not armed yet. Dropping it disarms it.
  func makeTimer(_ fire: @escaping () -> Void) -> any Timer
  /// Records the time that a server of AWS reported.
  func recordServerTime(_ time: WallTime)
}

// MARK: Clients

/// Takes the replies to one client.
package protocol ReplySink: AnyObject {
  /// Takes a whole reply, with its newline.
  func send(_ reply: [UInt8])
  /// Takes no further line of the client, and disconnects the client when it has its replies.
  func finish()
}

/// The service, as each server of sockets sees it.
package protocol ClientReceiving: AnyObject {
  /// The account for which a user's connections count. Nil while the user is looked up; then a call
  /// of the server's `accountKnown` follows.
  func account(of uid: UInt32) -> Account?
  /// Removes a client that has disconnected.
  func left(_ client: Client)
}

/// The service, as the socket's server sees it.
package protocol LineReceiving: ClientReceiving {
  /// The answer to every client of a socket; nil if its clients are served.
  func refusal(at socket: ClientSocket) -> ProtocolError?
  /// Makes a client for a new connection.
  func connected(
    _ facts: any PeerFacts, _ sink: any ReplySink, at socket: ClientSocket
  ) -> Client
  /// Answers a line through the client's sink, at once or later.
  ///
  /// - Returns: how much longer the answer took than a cached one.
  func receive(_ line: borrowing Span<UInt8>, from client: Client, now: Instant) -> Duration
}

extension LineReceiving {
  /// The same at the main socket.
  package func connected(_ facts: any PeerFacts, _ sink: any ReplySink) -> Client {
    connected(facts, sink, at: .main)
  }
}

// MARK: State

/// Keeps whole sessions over a restart, and their IdentityIds over a reboot. No function blocks or
/// fails; `problem` reports what cannot be stored.
package protocol SessionStoring: AnyObject {
  /// The state of the former process. Read once, before anything is saved.
  func load() -> [SessionKey: SessionRecord]
  /// Keeps a session in place of its former record.
  func save(_ record: SessionRecord, for key: SessionKey)
  /// Drops a session's record. Its IdentityId stays.
  func remove(_ key: SessionKey)
  /// The remembered devices of the former process, by uid. Read once, before anything is saved.
  func loadDevices() -> [UInt32: RememberedDevices]
  /// Keeps a uid's devices in place of the former ones.
  func saveDevices(_ devices: RememberedDevices, of uid: UInt32)
  /// The IdentityId that is kept for a session; nil if there is none.
  func identity(for key: SessionKey) -> KnownIdentity?
  /// Keeps an IdentityId; nil drops it.
  func setIdentity(_ identity: KnownIdentity?, for key: SessionKey)
  /// Why IdentityIds are only in memory; nil if they are on disk.
  var problem: String? { get }
}

/// One generator that all parts of the service share.
final class SharedRandom: RandomNumberGenerator {
  private var generator: any RandomNumberGenerator

  init(_ generator: any RandomNumberGenerator) { self.generator = generator }

  func next() -> UInt64 { generator.next() }
}
