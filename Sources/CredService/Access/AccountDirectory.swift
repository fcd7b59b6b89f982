import CredCore
import Logging

/// The account for which each uid counts. A uid with a name counts for itself. A uid without a name
/// counts for the owner of its range in /etc/subuid.
///
/// The file is read in the background and kept. It is read again when a uid without a name connects
/// some time after the last reading.
final class AccountDirectory {
  /// The least time between two looks at the file.
  static let lookPause: Duration = .seconds(10)
  /// If more look-ups of users are under way, connections start no further one.
  static let lookUpsHeld = UserDirectory.lookupsHeld / 4
  /// If reading takes longer, the file is tried again after ``lookPause``.
  static let timeout: Duration = .seconds(2)

  private let clock: any Clock
  private let background: any Background
  private let queries: any HostQueries
  private let directory: UserDirectory
  private let log: Logger
  /// Nil until the file was read, or is known to be missing.
  private var ranges: SubordinateRanges?
  private var file: ProgramFile?
  private var nextLook = Instant(nanoseconds: .min)
  private var isLooking = false
  private var problem: String?
  /// Uids that were asked about before the file was read.
  private var waiting: Set<UInt32> = []
  /// Uids for which there was no room, in the order in which they asked. Until they are looked up,
  /// they count for no account.
  private var delayed: ArraySlice<UInt32> = []
  private var isDelayed: Set<UInt32> = []
  /// Called with a uid that was asked about, when more is known about it or can be looked up.
  var found: (_ uid: UInt32) -> Void = { _ in }
  /// Called when the content of the file has changed.
  var rangesChanged: () -> Void = {}

  init(
    clock: any Clock, background: any Background, queries: any HostQueries,
    directory: UserDirectory, log: Logger
  ) {
    self.clock = clock
    self.background = background
    self.queries = queries
    self.directory = directory
    self.log = log
    directory.lookUpEnded = { [unowned self] in goOn() }
  }

  /// Nil while the user is looked up; ``found`` follows.
  func account(of uid: UInt32) -> Account? {
    account(of: uid) { answer(to: $0, about: uid) }
  }

  /// The account as far as it is known already; `.ownerless` if nothing is known.
  func known(_ uid: UInt32) -> Account {
    account(of: uid) { knownAnswer(to: $0) ?? .unavailable } ?? .ownerless
  }

  /// - Parameter answer: the answer of the user database; nil while the database is asked.
  private func account(
    of uid: UInt32, _ answer: (UserQuery.Key) -> UserAnswer?
  ) -> Account? {
    switch answer(.uid(uid)) {
    case nil: return nil
    case .user(let user) where SyntheticName.isOne(user.name): break
    case .user, .unreadableName: return .user(uid)
    // The database does not say that the uid has a name.
    case .unavailable: return .ownerless
    case .nobody: break
    }
    guard read(for: uid), let ranges else { return nil }
    var found: Account?
    for ownership in ranges.ownerships(of: uid) {
      guard let account = account(of: ownership, answer) else { return nil }
      // One owner must not use up the share of another.
      guard found == nil || found == account else { return .ownerless }
      found = account
    }
    return found ?? .ownerless
  }

  private func account(
    of ownership: SubordinateRanges.Ownership, _ answer: (UserQuery.Key) -> UserAnswer?
  ) -> Account? {
    let owner: UInt32
    switch ownership.owner {
    case .uid(let uid): owner = uid
    case .name(let name):
      switch answer(.name(name)) {
      case nil: return nil
      case .user(let user): owner = user.uid
      case .nobody, .unavailable, .unreadableName: return .range(ownership.first)
      }
    }
    // Root's ranges are for containers, in which any user may be: they do not count for root
    // itself.
    return owner == 0 ? .range(ownership.first) : .user(owner)
  }

  /// The account for which limits of one user count: see ``Account/number``.
  func number(of uid: UInt32) -> UInt32 { known(uid).number }

  /// The account for the range of a uid without a name, whether or not the host knows the owner.
  func range(of uid: UInt32) -> Account {
    guard read(for: uid), let owners = ranges?.ownerships(of: uid), let first = owners.first?.first,
      owners.allSatisfy({ $0.first == first })
    else { return .ownerless }
    return .range(first)
  }

  // MARK: Users

  /// The name that the host has for a uid, by what is known already.
  func knownName(of uid: UInt32) -> String? { knownAnswer(to: .uid(uid))?.name }

  private func knownAnswer(to key: UserQuery.Key) -> UserAnswer? {
    directory.known(UserQuery(key)) ?? directory.known(UserQuery(key, withGroups: true))
  }

  /// An old answer counts until there is a new one.
  private func answer(to key: UserQuery.Key, about uid: UInt32) -> UserAnswer? {
    // Requests need look-ups too.
    guard directory.lookUpsUnderWay < Self.lookUpsHeld else {
      delay(uid)
      return knownAnswer(to: key) ?? .unavailable
    }
    let fresh = directory.answer(to: UserQuery(key), now: clock.now) { [weak self] in
      self?.found(uid)
    }
    return fresh ?? knownAnswer(to: key)
  }

  private func delay(_ uid: UInt32) {
    guard delayed.count < Limits.Client.connections, isDelayed.insert(uid).inserted else { return }
    delayed.append(uid)
  }

  /// Looks up uids for which there was no room.
  private func goOn() {
    while directory.lookUpsUnderWay < Self.lookUpsHeld, let uid = delayed.popFirst() {
      isDelayed.remove(uid)
      found(uid)
    }
  }

  // MARK: The file

  private func read(for uid: UInt32) -> Bool {
    look()
    if ranges == nil { waiting.insert(uid) }
    return ranges != nil
  }

  private func look() {
    let now = clock.now
    guard !isLooking, now >= nextLook else { return }
    isLooking = true
    nextLook = now + Self.lookPause
    background.runOnce(.configuration, deadline: now + Self.timeout) { [queries, file] in
      queries.subordinateRanges(unless: file)
    } completion: { [weak self] answer in
      self?.take(answer ?? .unreadable("it could not be read in time"))
    }
  }

  private func take(_ answer: SubordinateAnswer) {
    isLooking = false
    let before = ranges
    switch answer {
    case .unchanged: break
    case .missing: (ranges, file) = (SubordinateRanges(), nil)
    case .ranges(let read, let file):
      (ranges, self.file) = (read, file)
      report(read.wrongLines.first.map { "line \($0) is no range" })
    case .unreadable(let reason):
      // The ranges that were read before stay valid.
      if ranges == nil { ranges = SubordinateRanges() }
      report(reason)
    }
    let uids = waiting.sorted()
    waiting = []
    if before != ranges { rangesChanged() }
    for uid in uids { found(uid) }
  }

  /// Logs a problem once, until there is another one.
  private func report(_ problem: String?) {
    defer { self.problem = problem }
    guard let problem, problem != self.problem else { return }
    log.notice(
      "/etc/subuid cannot be used whole: some uids without a name count for nobody",
      metadata: ["reason": "\(problem)"])
  }
}
