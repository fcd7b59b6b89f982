import CredCore
import CredService
import Synchronization

/// The truth about the host's users: who has which uid at each time, in which groups, and what the
/// user database says of it.
///
/// A person is a number. A uid without a name counts as a person of its own.
final class HistoryPeople {
  struct Person {
    let number: Int
    let user: Int
    let since: Instant
    let isNamed: Bool
  }

  /// How long credd believes an answer of the user database, with the time that a look-up takes.
  static let grace = Duration.seconds(63)
  /// A group that is not listed ends rights only at a second look-up five seconds later, or more. An
  /// answer is renewed up to ten seconds before its end, until which decisions last.
  static let doubt = Duration.seconds(11)
  /// How long a decision lasts that was made when a group was listed, whatever is found meanwhile.
  static let decisions = Duration.seconds(60)
  /// How long a look-up that hangs may go on after the database answers again.
  static let hangs = Duration.seconds(23)
  /// A right that holds for so long is known to credd.
  static let groupGrace = Duration.seconds(150)
  static let firstUID: UInt32 = 1000

  private let world: World
  let database: HistoryDatabase
  private var persons: [Person] = []
  private var groupLists: [Int: [(since: Instant, groups: [UInt32])]] = [:]
  private var troubles: [(since: Instant, trouble: DirectoryTrouble)] = []
  /// Who signed in while credd may have taken them for the person without a name, by that person.
  private var guises: [Int: Set<Int>] = [:]
  private var chosen: Set<String> = []

  init(_ world: World) {
    self.world = world
    database = HistoryDatabase(world.fault)
    for user in 0..<History.users {
      // One uid of some hosts has never had a name.
      add(user, isNamed: user < 2 || world.random.happens(0.7))
      setGroups(HistoryConfiguration.groups, of: user)
    }
    setTrouble(.none)
  }

  static func name(_ person: Int) -> String { "h\(person)" }

  static func person(named name: some StringProtocol) -> Int? {
    name.hasPrefix("h") ? Int(name.dropFirst()) : nil
  }

  static func uid(_ user: Int) -> UInt32 { firstUID + UInt32(user) }

  static func user(_ uid: UInt32) -> Int? {
    (0..<History.users).first { self.uid($0) == uid }
  }

  // MARK: Changes

  func handOver(_ user: Int, isNamed: Bool) { add(user, isNamed: isNamed) }

  private func add(_ user: Int, isNamed: Bool) {
    // Persons without a name cannot be told from each other: they count as one.
    let nameless = isNamed ? nil : persons.first { $0.user == user && !$0.isNamed }?.number
    let person = Person(
      number: nameless ?? persons.count, user: user, since: world.now, isNamed: isNamed)
    persons.append(person)
    database.setName(isNamed ? Self.name(person.number) : nil, of: Self.uid(user))
  }

  func setGroups(_ groups: [UInt32], of user: Int) {
    groupLists[user, default: []].append((world.now, groups))
    database.setGroups(groups, of: Self.uid(user))
  }

  func setTrouble(_ trouble: DirectoryTrouble) {
    troubles.append((world.now, trouble))
    database.setTrouble(trouble)
  }

  /// The host slept since `time`. A look-up that hung then ends only afterwards.
  func awoke(since time: Instant) {
    guard trouble == .none, hadTrouble(since: time - Self.hangs) else { return }
    troubles += [(time, .hanging), (world.now, .none)]
  }

  var trouble: DirectoryTrouble { troubles.last?.trouble ?? .none }

  // MARK: Questions

  /// A session of somebody with a name is not given to a uid that lost its name: the database may
  /// have lost it for a moment.
  func neverHadName(_ user: Int) -> Bool { !persons.contains { $0.user == user && $0.isNamed } }

  /// The user whose uid a person has or had.
  func user(of person: Int) -> Int? { persons.first { $0.number == person }?.user }

  func holder(of user: Int) -> Person? { persons.last { $0.user == user } }

  func groups(of user: Int) -> [UInt32] { groupLists[user]?.last?.groups ?? [] }

  /// The persons that credd may take a user for, in a request that came at `start`.
  ///
  /// - Parameter decided: when credd decided who it is; nil for `start` or later.
  func possible(_ user: Int, from start: Instant, decided: Instant? = nil) -> [Person] {
    let earliest = start - Self.grace
    let all = persons.filter { $0.user == user }
    var possible = all.indices.filter { index in
      let end = index + 1 < all.count ? all[index + 1].since : .distantFuture
      return end > earliest
    }
    // While the database does not answer, credd keeps its last answer. It takes all later persons
    // of the uid for the one of that answer.
    if hadTrouble(since: earliest), let told = database.told(Self.uid(user), at: decided ?? start),
      let index = all.lastIndex(where: { ($0.isNamed ? Self.name($0.number) : "") == told })
    {
      possible += index..<all.count
    }
    return Set(possible).sorted().map { all[$0] }
  }

  /// A person signs in now. If the uid may still count as one without a name, the session is that
  /// one's, and so it is when nobody has the name any more. All other persons never come back.
  func signsIn(_ person: Person) {
    guard person.isNamed,
      let nameless = possible(person.user, from: world.now).first(where: { !$0.isNamed })
    else { return }
    guises[nameless.number, default: []].insert(person.number)
  }

  /// These persons, and all persons who signed in under the name of one of them.
  func withGuises(_ persons: Set<Int>) -> Set<Int> {
    persons.reduce(into: persons) { $0.formUnion(guises[$1] ?? []) }
  }

  /// The person without a name, if credd was not told that the uid has one. It renews the session
  /// meanwhile, and its person may come back.
  func believedNameless(_ user: Int) -> Set<Int> {
    guard database.told(Self.uid(user), at: world.now) == "" else { return [] }
    return Set(persons.filter { $0.user == user && !$0.isNamed }.map(\.number))
  }

  /// A client chose an identity for its logins. Nothing says of which pool it is; whether it belongs
  /// to the logins, Cognito decides.
  func chose(_ identity: String) { chosen.insert(identity) }

  func hasChosen(_ identity: String) -> Bool { chosen.contains(identity) }

  /// Everybody whom credd may take for one of these persons now.
  func indistinguishable(from numbers: Set<Int>) -> Set<Int> {
    numbers.reduce(into: numbers) { all, number in
      guard let user = persons.first(where: { $0.number == number })?.user else { return }
      all.formUnion(possible(user, from: world.now).map(\.number))
    }
  }

  func hadTrouble(since time: Instant) -> Bool {
    troubles.indices.contains { index in
      let end = index + 1 < troubles.count ? troubles[index + 1].since : .distantFuture
      return troubles[index].trouble != .none && end > time
    }
  }

  /// Whether the database has said the same of a user's groups since `time`.
  func groupsAreSteady(of user: Int, since time: Instant) -> Bool {
    !hadTrouble(since: time) && (groupLists[user]?.last?.since ?? world.now) <= time
  }
}

/// What a process was told of a user's group: when it was listed last, and missed first since then.
struct ToldGroup {
  let listed: Instant
  var missed: Instant?

  /// From when on the process knows better than to admit a member of the group.
  var end: Instant? {
    missed.map { max($0 + HistoryPeople.doubt, listed + HistoryPeople.decisions) }
  }
}

/// The user database. Look-ups run on the simulation's thread; the lock makes it `Sendable`.
final class HistoryDatabase: HostQueries {
  private struct State {
    var names: [UInt32: String] = [:]
    var groups: [UInt32: [UInt32]] = [:]
    var trouble = DirectoryTrouble.none
    /// What was answered: names, or nothing for "no such user". Only what is new.
    var told: [UInt32: [(since: Instant, name: String)]] = [:]
    var now = World.beginning
    var groupIDs: [String: UInt32] = ["staff": 500, "ops": 501]
    /// What this process was told of groups' names: ids, or nil for "no such group".
    var toldIDs: [String: UInt32?] = [:]
    /// The groups that were answered for since the configuration was read. A look-up that was under
    /// way then says nothing more of these.
    var settledIDs: Set<String> = []
    /// By pid.
    var programs: [Int32: HistoryProgram] = [:]
    /// Every group that this process was told of.
    var toldGroups: [UInt32: [UInt32: ToldGroup]] = [:]

    mutating func tell(_ name: String, of uid: UInt32) {
      if told[uid]?.last?.name != name { told[uid, default: []].append((now, name)) }
    }

    mutating func list(_ groups: [UInt32], of uid: UInt32) {
      for group in groups { toldGroups[uid, default: [:]][group] = ToldGroup(listed: now) }
      for (group, told) in toldGroups[uid, default: [:]]
      where told.missed == nil && !groups.contains(group) {
        toldGroups[uid]?[group]?.missed = now
      }
    }
  }

  private let fault: InjectedFault?
  private let state = Mutex(State())

  init(_ fault: InjectedFault?) {
    self.fault = fault
  }

  func setName(_ name: String?, of uid: UInt32) {
    state.withLock { state in
      let isKept = fault == .formerUsers && state.names[uid] != nil
      if !isKept { state.names[uid] = name }
    }
  }

  func setGroups(_ groups: [UInt32], of uid: UInt32) { state.withLock { $0.groups[uid] = groups } }

  func setTrouble(_ trouble: DirectoryTrouble) { state.withLock { $0.trouble = trouble } }

  /// What this process was told of a uid last before that time; else first.
  func told(_ uid: UInt32, at time: Instant) -> String? {
    state.withLock { state in
      let told = state.told[uid] ?? []
      return (told.last { $0.since < time } ?? told.first)?.name
    }
  }

  func setGroup(_ name: String, id: UInt32?) { state.withLock { $0.groupIDs[name] = id } }

  func setProgram(_ program: HistoryProgram, of pid: Int32) {
    state.withLock { $0.programs[pid] = program }
  }

  /// The ids of groups, as this process was told first since it read its configuration.
  func ids(of names: [String]) -> [UInt32] {
    state.withLock { state in names.compactMap { state.toldIDs[$0] ?? nil } }
  }

  /// Another configuration is read, after `former`: it forgets groups that it did not name.
  func forgetIDs(but former: Set<String>) {
    state.withLock { state in
      state.toldIDs = state.toldIDs.filter { former.contains($0.key) }
      state.settledIDs = []
    }
  }

  func setTime(_ now: Instant) { state.withLock { $0.now = now } }

  /// From when on this process knows that a user has lost a group; nil where it does not.
  func end(of group: UInt32, for uid: UInt32) -> Instant? {
    state.withLock { $0.toldGroups[uid]?[group]?.end }
  }

  /// Another process knows nothing.
  func forgetTold() {
    state.withLock {
      $0.told = [:]
      $0.toldGroups = [:]
      $0.toldIDs = [:]
      $0.settledIDs = []
    }
  }

  func user(_ query: UserQuery) -> UserAnswer {
    state.withLock { state in
      guard state.trouble != .failing, state.trouble != .hanging else { return .unavailable }
      let uid: UInt32
      // What a name stands for says nothing of what credd takes a uid for.
      var isByUID = false
      switch query.key {
      case .uid(let number):
        uid = number
        isByUID = true
      case .name(let name):
        guard let known = state.names.first(where: { $0.value.utf8.elementsEqual(name.utf8) })
        else { return .nobody }
        uid = known.key
      }
      guard let name = state.names[uid] else {
        if isByUID {
          state.tell("", of: uid)
          // Who is gone is in no group.
          if query.withGroups { state.list([], of: uid) }
        }
        return .nobody
      }
      if isByUID { state.tell(name, of: uid) }
      let other = fault == .mixedUsers ? state.names[uid == 1000 ? 1001 : 1000] : nil
      guard query.withGroups else { return .user(UserEntry(uid: uid, name: other ?? name)) }
      let groups = state.trouble == .withoutGroups ? [] : state.groups[uid] ?? []
      state.list(groups, of: uid)
      return .user(UserEntry(uid: uid, name: other ?? name, groups: [100] + groups))
    }
  }

  func group(_ name: String) -> GroupAnswer {
    state.withLock { state in
      guard state.trouble != .failing, state.trouble != .hanging else { return .unavailable }
      if state.settledIDs.insert(name).inserted {
        state.toldIDs[name] = .some(state.groupIDs[name])
      }
      return state.groupIDs[name].map { .group($0) } ?? .noSuchGroup
    }
  }

  func subordinateRanges(unless known: ProgramFile?) -> SubordinateAnswer { .missing }

  func program(of pid: Int32) -> ProgramAnswer {
    guard let program = state.withLock({ $0.programs[pid] }) else { return .unknown("no process") }
    return .program(
      path: program.path,
      ProgramFile(device: 1, inode: program.inode, size: 1, modified: 1, changed: 1))
  }

  func digest(of file: ProgramFile, runBy pid: Int32) -> DigestAnswer {
    guard let program = state.withLock({ $0.programs[pid] }), program.inode == file.inode else {
      return .unknown("no process")
    }
    return .digest(program.digest)
  }

  func file(_ path: String, key: String) throws(InvalidInput) -> Secret {
    switch path {
    case HistoryConfiguration.keysFile:
      Secret(
        "[default]\naws_access_key_id = AKIA\naws_secret_access_key = \(HistorySecret.keys)\n")
    case HistoryConfiguration.tokenFile: Secret("\(HistorySecret.host)\n")
    default: throw InvalidInput(field: key, reason: "there is no \(path)")
    }
  }

  func environment(_ name: String) -> String? { nil }
}
