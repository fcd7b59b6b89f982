internal import CLinux
internal import CredCore
internal import Glibc

/// Users by uid or name, from the host's NSS, which may ask a slow network directory: looked up on
/// threads, never on the loop, and kept for a minute.
final class UserDirectory {
  /// What is looked up.
  struct Question: Hashable {
    enum Key: Hashable {
      case uid(UInt32)
      case name(String)
    }

    var key: Key
    /// Costs more: directories look through all groups.
    var withGroups = false

    static func uid(_ uid: UInt32, withGroups: Bool = false) -> Question {
      Question(key: .uid(uid), withGroups: withGroups)
    }
  }

  struct User: Equatable {
    var uid: UInt32
    var name: String
    /// Where they were asked for.
    var groups: [UInt32] = []
    /// Groups that the database listed for this user since the daemon started, and no longer does.
    var withdrawn: Set<UInt32> = []
  }

  /// What is known.
  enum Answer: Equatable {
    case user(User)
    /// The host knows no such user.
    case nobody
    /// The directory did not answer, and never has to this question.
    case unavailable
  }

  private struct Entry {
    var answer: Answer
    var since: Instant
  }

  @safe private struct Lookup {
    /// Nil where it waits for a thread.
    var handle: OpaquePointer?
    let deadline: Instant
    var waiting: [() -> Void]

    func release() {
      if let handle = unsafe handle { unsafe credd_lookup_release(handle) }
    }
  }

  /// Also how long a membership that was withdrawn may count on.
  static let keptFor: Duration = .seconds(60)
  /// From this age on a name is looked up anew while the old one still serves.
  static let renewedAfter: Duration = .seconds(45)
  static let failureKeptFor: Duration = .seconds(5)
  /// A directory that takes longer counts as unavailable; the last known name goes on serving.
  static let timeout: Duration = .seconds(2)
  /// Threads at once, those that hang included. Further look-ups wait; where all hang, they count as
  /// unavailable unless something is known from before.
  static let lookupsAtOnce = 16
  /// Look-ups under way and waiting: one for each connection.
  static let lookupsHeld = Limits.connections
  /// Names kept; one for each user of the host.
  static let entriesKept = 100_000

  private let loop: EventLoop
  private let wake: Int32
  private var wakeSource: EventSource?
  private var timer: EventSource?
  private var entries: [Question: Entry] = [:]
  private var lookups: [Question: Lookup] = [:]
  /// Those that wait for a thread, in order; some may have been given up.
  private var queue: ArraySlice<Question> = []
  /// Threads of ``lookups``.
  private var running = 0
  /// Given up on; their threads still run, and what they find is good for the next time.
  private var late: [Question: Lookup] = [:]
  /// Every group that was ever listed for a uid.
  private var listed: [UInt32: Set<UInt32>] = [:]

  init(loop: EventLoop) throws(SystemError) {
    self.loop = loop
    wake = try SystemError.check(credd_eventfd(), "create an eventfd")
    wakeSource = try loop.watch(wake, for: CREDD_EPOLL_IN) { [unowned self] _ in self.collect() }
    timer = try loop.timer { [unowned self] _ in self.collect() }
  }

  deinit {
    for lookup in lookups.values { lookup.release() }
    for lookup in late.values { lookup.release() }
    wakeSource = nil
    credd_close(wake)
  }

  /// What is known now; nil if `then` will be called once more is.
  func answer(to question: Question, now: Instant, then: @escaping () -> Void) -> Answer? {
    if let entry = entries[question] {
      let age = now - entry.since
      let limit = entry.answer == .unavailable ? Self.failureKeptFor : Self.keptFor
      if age < limit {
        if age >= Self.renewedAfter, lookups[question] == nil { start(question, now, then: nil) }
        return entry.answer
      }
    }
    if lookups[question] != nil {
      lookups[question]?.waiting.append(then)
      return nil
    }
    if start(question, now, then: then) { return nil }
    // A directory that hangs changes nothing about who people are, however long it hangs.
    return entries[question]?.answer ?? .unavailable
  }

  /// Until when what is known counts.
  func freshUntil(_ question: Question) -> Instant? {
    entries[question].map { $0.since + Self.keptFor }
  }

  @discardableResult
  private func start(_ question: Question, _ now: Instant, then: (() -> Void)?) -> Bool {
    // A thread that hangs on this very uid is not joined by a second one.
    guard late[question] == nil, late.count < Self.lookupsAtOnce,
      lookups.count < Self.lookupsHeld, queue.count < Self.lookupsHeld
    else { return false }
    var lookup = unsafe Lookup(
      handle: nil, deadline: now + Self.timeout, waiting: then.map { [$0] } ?? [])
    if running + late.count < Self.lookupsAtOnce {
      guard let handle = unsafe begin(question) else { return false }
      unsafe lookup.handle = handle
      running += 1
    } else {
      queue.append(question)
    }
    lookups[question] = lookup
    // The deadlines of later ones are later.
    if lookups.count == 1 { armTimer() }
    return true
  }

  /// Gives threads to those that wait for one. Where none can be had, they wait for their deadline.
  private func startWaiting() {
    while running + late.count < Self.lookupsAtOnce, let question = queue.popFirst() {
      guard let lookup = lookups[question], unsafe lookup.handle == nil,
        let handle = unsafe begin(question)
      else { continue }
      unsafe lookups[question]?.handle = handle
      running += 1
    }
  }

  private func begin(_ question: Question) -> OpaquePointer? {
    switch question.key {
    case .uid(let uid): unsafe credd_lookup_start(uid, nil, question.withGroups, wake)
    case .name(let name): unsafe credd_lookup_start(0, name, question.withGroups, wake)
    }
  }

  private func armTimer() {
    timer?.arm(at: lookups.values.map(\.deadline).min())
  }

  /// Takes what arrived and gives up on what is late.
  private func collect() {
    _ = credd_eventfd_drain(wake)
    let now = loop.now
    var waiting: [() -> Void] = []
    for (question, lookup) in late {
      guard let answer = result(of: lookup) else { continue }
      lookup.release()
      late[question] = nil
      note(answer, to: question, now)
    }
    for (question, lookup) in lookups {
      let answer = result(of: lookup)
      guard answer != nil || now >= lookup.deadline else { continue }
      if let handle = unsafe lookup.handle {
        running -= 1
        if answer == nil {
          late[question] = unsafe Lookup(handle: handle, deadline: .distantFuture, waiting: [])
        } else {
          lookup.release()
        }
      }
      lookups[question] = nil
      note(answer ?? .unavailable, to: question, now)
      waiting += lookup.waiting
    }
    startWaiting()
    armTimer()
    waiting.forEach { $0() }
  }

  /// Nil while its thread runs.
  private func result(of lookup: Lookup) -> Answer? {
    guard let handle = unsafe lookup.handle else { return nil }
    var uid: UInt32 = 0
    var name = [CChar](repeating: 0, count: 257)
    switch unsafe credd_lookup_take(handle, &uid, &name, name.count) {
    case 1:
      let name = String(
        decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      var count = 0
      let groups = unsafe credd_lookup_groups(handle, &count)
      return .user(
        User(
          uid: uid, name: name,
          groups: unsafe Array(UnsafeBufferPointer(start: groups, count: count))))
    case 0: return .nobody
    case -EAGAIN: return nil
    default: return .unavailable
    }
  }

  /// What the database said.
  func note(_ found: Answer, to question: Question, _ now: Instant) {
    let answer = withWithdrawals(found, question)
    if entries.count >= Self.entriesKept { entries.removeAll() }
    // A directory that is away changes nothing about who people are.
    if answer == .unavailable, let known = entries[question], known.answer != .unavailable {
      entries[question] = Entry(answer: known.answer, since: now)
    } else {
      entries[question] = Entry(answer: answer, since: now)
    }
  }

  private func withWithdrawals(_ answer: Answer, _ question: Question) -> Answer {
    guard question.withGroups, case .user(var user) = answer else { return answer }
    if listed.count >= Self.entriesKept, listed[user.uid] == nil { listed.removeAll() }
    let all = listed[user.uid, default: []].union(user.groups)
    listed[user.uid] = all
    user.withdrawn = all.subtracting(user.groups)
    return .user(user)
  }
}
