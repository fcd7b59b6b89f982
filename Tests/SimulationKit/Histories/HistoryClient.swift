import CredCore
import CredService

/// A question of a sign-in, with those whom it was asked.
struct HistoryHandle {
  let text: String
  let user: Int
  /// Whom credd could take the user for.
  let persons: Set<Int>
  /// Who began the sign-in, and in whose name.
  let person: Int
  let profile: String
  let claim: Claim
  /// The names of the answers.
  let answers: [String]
  /// What a browser opens; nil for another question.
  var url: String?
  /// The device code that its person types elsewhere; nil for another question.
  var device: Int?
  /// The pool's name of the question.
  var name: String?
  /// The number of the secret for an authenticator app; nil for another question.
  var app: Int?
  /// The account that is linked if its user agrees; nil for another question.
  var account: HistoryAccounts.Account?
}

/// A connection of a history, with the lines that wait for their turn.
final class HistoryClient: PeerFacts, ReplySink {
  /// A line that the service has, or will get.
  struct Line {
    let number: Int
    let bytes: [UInt8]
    let request: HistoryRequest
    /// An index of the configuration in force then.
    var profile: String?
    /// The question that it answers.
    var handle: HistoryHandle?
    /// Whose session it is about.
    var target: Int
    /// How long the answer may take.
    var patience: Double
    var start = World.beginning
    var deadline = Instant.distantFuture
  }

  let number: Int
  let user: Int
  let peer: Peer
  let kernelGroups: [UInt32]
  /// Whether it comes over the socket with a cap.
  let isCapped: Bool
  let program: HistoryProgram
  private let systemdUnit: String?
  var client: Client?
  var lines: [Line] = []
  /// What the service is busy with.
  var current: Line?
  var watches = false
  var watchStart = Instant.distantFuture
  /// The profiles of which it heard that a refresh failed.
  var heardOfFailures: Set<String> = []
  /// Whether the first line began no object: such a connection is no client's.
  var isForeign = false
  /// The profile that it watches; nil for all.
  var watched: String?
  var isNew = true
  private(set) var isFinished = false
  private unowned let run: HistoryRun

  init(
    _ number: Int, user: Int, pid: Int32, groups: [UInt32], unit: String?, isCapped: Bool,
    _ run: HistoryRun
  ) {
    self.number = number
    self.user = user
    self.isCapped = isCapped
    self.run = run
    // Both programs have clients of every user.
    program = HistoryProgram.all[Int(pid) % HistoryProgram.all.count]
    kernelGroups = [100] + groups
    systemdUnit = unit
    peer = Peer(uid: HistoryPeople.uid(user), gid: 100, pid: pid)
  }

  /// The answer to the line of a watch is its first event.
  func isWatching(_ profile: String) -> Bool {
    watches && current == nil && (watched ?? profile) == profile
  }

  func groups() -> [UInt32] { kernelGroups }
  func unit() -> String? { systemdUnit }
  func isAlive() -> Bool { true }
  func startTime() -> Instant? { World.beginning }
  func send(_ reply: [UInt8]) { run.received(reply, self) }
  func finish() {
    isFinished = true
    run.finished(self)
  }
}
