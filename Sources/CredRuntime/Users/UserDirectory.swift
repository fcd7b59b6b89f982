internal import CLinux
internal import CredCore
internal import Glibc

/// User names by uid, from the host's NSS, which may ask a slow network directory: looked up on
/// threads, never on the loop, and kept for a minute.
final class UserDirectory {
  /// What is known about a uid.
  enum Answer: Equatable {
    case name(String)
    /// The host knows no such user.
    case nobody
    /// The directory did not answer, and never has for this uid.
    case unavailable
  }

  private struct Entry {
    var answer: Answer
    var since: Instant
  }

  @safe private struct Lookup {
    let handle: OpaquePointer
    let deadline: Instant
    var waiting: [() -> Void]
  }

  /// Names change rarely; group memberships come from the kernel and are not kept here.
  static let keptFor: Duration = .seconds(60)
  /// From this age on a name is looked up anew while the old one still serves.
  static let renewedAfter: Duration = .seconds(45)
  static let failureKeptFor: Duration = .seconds(5)
  /// A directory that takes longer counts as unavailable; the last known name goes on serving.
  static let timeout: Duration = .seconds(2)
  /// Threads at once, those that hang included. Further look-ups count as unavailable, where
  /// nothing is known from before.
  static let lookupsAtOnce = 16
  /// Names kept; one for each user of the host.
  static let entriesKept = 100_000

  private let loop: EventLoop
  private let wake: Int32
  private var wakeSource: EventSource?
  private var timer: EventSource?
  private var entries: [UInt32: Entry] = [:]
  private var lookups: [UInt32: Lookup] = [:]
  /// Given up on; their threads still run, and what they find is good for the next time.
  private var late: [UInt32: Lookup] = [:]

  init(loop: EventLoop) throws(SystemError) {
    self.loop = loop
    wake = try SystemError.check(credd_eventfd(), "create an eventfd")
    wakeSource = try loop.watch(wake, for: CREDD_EPOLL_IN) { [unowned self] _ in self.collect() }
    timer = try loop.timer { [unowned self] _ in self.collect() }
  }

  deinit {
    for lookup in lookups.values { unsafe credd_lookup_release(lookup.handle) }
    for lookup in late.values { unsafe credd_lookup_release(lookup.handle) }
    wakeSource = nil
    credd_close(wake)
  }

  /// What is known now; nil if `then` will be called once more is.
  func answer(for uid: UInt32, now: Instant, then: @escaping () -> Void) -> Answer? {
    if let entry = entries[uid] {
      let age = now - entry.since
      let limit = entry.answer == .unavailable ? Self.failureKeptFor : Self.keptFor
      if age < limit {
        if age >= Self.renewedAfter, lookups[uid] == nil { start(uid, now, then: nil) }
        return entry.answer
      }
    }
    if lookups[uid] != nil {
      lookups[uid]?.waiting.append(then)
      return nil
    }
    if start(uid, now, then: then) { return nil }
    // A directory that hangs changes nothing about who people are, however long it hangs.
    return entries[uid]?.answer ?? .unavailable
  }

  @discardableResult
  private func start(_ uid: UInt32, _ now: Instant, then: (() -> Void)?) -> Bool {
    // A thread that hangs on this very uid is not joined by a second one.
    guard late[uid] == nil, lookups.count + late.count < Self.lookupsAtOnce,
      let handle = unsafe credd_lookup_start(uid, wake)
    else { return false }
    lookups[uid] = unsafe Lookup(
      handle: handle, deadline: now + Self.timeout, waiting: then.map { [$0] } ?? [])
    armTimer()
    return true
  }

  private func armTimer() {
    timer?.arm(at: lookups.values.map(\.deadline).min())
  }

  /// Takes what arrived and gives up on what is late.
  private func collect() {
    _ = credd_eventfd_drain(wake)
    let now = loop.now
    var waiting: [() -> Void] = []
    for (uid, lookup) in late {
      guard let answer = result(of: lookup) else { continue }
      unsafe credd_lookup_release(lookup.handle)
      late[uid] = nil
      note(answer, for: uid, now)
    }
    for (uid, lookup) in lookups {
      let answer = result(of: lookup)
      guard answer != nil || now >= lookup.deadline else { continue }
      if answer == nil {
        late[uid] = unsafe Lookup(handle: lookup.handle, deadline: .distantFuture, waiting: [])
      } else {
        unsafe credd_lookup_release(lookup.handle)
      }
      lookups[uid] = nil
      note(answer ?? .unavailable, for: uid, now)
      waiting += lookup.waiting
    }
    armTimer()
    waiting.forEach { $0() }
  }

  /// Nil while its thread runs.
  private func result(of lookup: Lookup) -> Answer? {
    var name = [CChar](repeating: 0, count: 256)
    switch unsafe credd_lookup_take(lookup.handle, &name, name.count) {
    case 1:
      return .name(
        String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
    case 0: return .nobody
    case -EAGAIN: return nil
    default: return .unavailable
    }
  }

  private func note(_ answer: Answer, for uid: UInt32, _ now: Instant) {
    if entries.count >= Self.entriesKept { entries.removeAll() }
    // A directory that is away changes nothing about who people are.
    if answer == .unavailable, let known = entries[uid], known.answer != .unavailable {
      entries[uid] = Entry(answer: known.answer, since: now)
    } else {
      entries[uid] = Entry(answer: answer, since: now)
    }
  }
}
