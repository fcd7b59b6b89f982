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
  /// By pid.
  var executables: [Int32: ExecutableAnswer] = [:]
  /// By path.
  var files: [String: String] = [:]
  var variables: [String: String] = [:]
  private(set) var asked: [UserQuery] = []

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
      case .name(let name): users.values.first { $0.name == name }
      }
    guard var entry = found else { return .nobody }
    if !query.withGroups { entry.groups = [] }
    return .user(entry)
  }

  func executable(of pid: Int32, withDigest: Bool) -> ExecutableAnswer {
    guard let answer = executables[pid] else { return .unknown("there is no such process") }
    guard !withDigest, case .executable(let executable) = answer else { return answer }
    return .executable(.init(path: executable.path))
  }

  func file(_ path: String, key: String) throws(InvalidInput) -> Secret {
    guard let text = files[path] else {
      throw InvalidInput(field: key, reason: "cannot read \(path)")
    }
    return Secret(text)
  }

  func environment(_ name: String) -> String? { variables[name] }
}
