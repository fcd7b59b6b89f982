import CredCore
import CredService

/// A user database, programs and files that a test writes. Used on the test's thread alone.
final class FakeQueries: HostQueries, @unchecked Sendable {
  /// By uid, each with all of its groups.
  var users: [UInt32: UserEntry] = [
    0: UserEntry(uid: 0, name: "root"), 1000: UserEntry(uid: 1000, name: "alice"),
    1001: UserEntry(uid: 1001, name: "bob"),
  ]
  /// The database does not answer.
  var isUnavailable = false
  /// Users for whom alone it does not answer, as a directory behind one of its modules.
  var unavailable: Set<UInt32> = []
  /// Users whose names are not UTF-8.
  var unreadable: Set<UInt32> = []
  /// Groups that it does not list, because the module that knows them is away: no error says so.
  var unlistedGroups: Set<UInt32> = []
  /// Ids of groups by their names, and the names for which the database does not answer.
  var groups: [String: UInt32] = ["adm": 4, "mail": 8, "developers": 500]
  var unavailableGroups: Set<String> = []
  private(set) var askedGroups: [String] = []
  /// By pid.
  var executables: [Int32: Caller.Executable] = [:]
  /// The pids whose program was looked at, and those whose program was hashed.
  private(set) var inspected: [Int32] = []
  private(set) var hashed: [Int32] = []
  /// By path.
  var files: [String: String] = [:]
  var variables: [String: String] = [:]
  private(set) var asked: [UserQuery] = []
  /// The content of /etc/subuid; nil without one. It is another file each time that it is set.
  var subordinates: String? {
    didSet { subordinateFile += 1 }
  }
  private var subordinateFile: UInt64 = 0
  var areSubordinatesUnreadable = false
  private(set) var subordinateReads = 0

  /// Sets the groups that the database lists for a user.
  func setGroups(_ groups: [UInt32], of uid: UInt32) {
    users[uid, default: UserEntry(uid: uid, name: "user\(uid)")].groups = groups
  }

  func user(_ query: UserQuery) -> UserAnswer {
    asked.append(query)
    if isUnavailable { return .unavailable }
    let found =
      switch query.key {
      case .uid(let uid): users[uid]
      case .name(let name): users.values.first { $0.name.utf8.elementsEqual(name.utf8) }
      }
    guard var entry = found else { return .nobody }
    if unavailable.contains(entry.uid) { return .unavailable }
    if unreadable.contains(entry.uid) { return .unreadableName }
    entry.groups = query.withGroups ? entry.groups.filter { !unlistedGroups.contains($0) } : []
    return .user(entry)
  }

  func group(_ name: String) -> GroupAnswer {
    askedGroups.append(name)
    if unavailableGroups.contains(name) { return .unavailable }
    return groups[name].map { .group($0) } ?? .noSuchGroup
  }

  func subordinateRanges(unless known: ProgramFile?) -> SubordinateAnswer {
    if areSubordinatesUnreadable { return .unreadable("cannot read /etc/subuid") }
    guard let subordinates else { return .missing }
    let file = ProgramFile(device: 1, inode: subordinateFile, size: 1, modified: 1, changed: 1)
    guard file != known else { return .unchanged }
    subordinateReads += 1
    return .ranges(SubordinateRanges(Array(subordinates.utf8)), file)
  }

  func program(of pid: Int32) -> ProgramAnswer {
    inspected.append(pid)
    guard let program = executables[pid] else { return .unknown("there is no such process") }
    return .program(path: program.path, file(of: program))
  }

  func digest(of file: ProgramFile, runBy pid: Int32) -> DigestAnswer {
    hashed.append(pid)
    guard let program = executables[pid], file == self.file(of: program),
      let digest = program.sha256
    else { return .unknown("there is no such process") }
    return .digest(digest)
  }

  /// Programs with the same path and content are the same file.
  private func file(of program: Caller.Executable) -> ProgramFile {
    let number = UInt64(bitPattern: Int64("\(program)".hashValue))
    return ProgramFile(device: 1, inode: number, size: 1, modified: 1, changed: 1)
  }

  func file(_ path: String, key: String) throws(InvalidInput) -> Secret {
    guard let text = files[path] else {
      throw InvalidInput(field: key, reason: "cannot read \(path)")
    }
    return Secret(text)
  }

  func environment(_ name: String) -> String? { variables[name] }
}
