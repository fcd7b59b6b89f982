internal import CredCore
internal import Glibc

/// Whether the names in a configuration are those by which credd will know the users and groups.
struct NameCheck {
  enum Finding: Equatable {
    /// The name admits nobody, or somebody else than its author may think.
    case fault(String)
    /// The check could not be made, with the reason.
    case unmade(String)
  }

  private let database: NameDatabase
  /// A separate wait for names, so that a dead user database does not use up the time for files.
  private var wait: BoundedWait
  /// The known names, once they were asked for; empty if the database did not tell them.
  private var known: [NameDatabase.Kind: [String]] = [:]

  init(_ database: NameDatabase, _ wait: BoundedWait) {
    self.database = database
    self.wait = wait
  }

  /// - Parameter name: digits are an id, also if a user or group has them as its name.
  mutating func check(_ kind: NameDatabase.Kind, _ name: String) -> Finding? {
    let wasOver = wait.isOver
    let answer = wait.wait { [database] in database.find(kind, name) }
    if name.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
      return Self.fault(ofDigits: name, kind, answer)
    }
    switch answer {
    case .id(let id, let first?) where !first.utf8.elementsEqual(name.utf8):
      return .fault(
        "'\(name)' is another name of '\(first)', uid \(id), and credd knows a user "
          + "by the uid's first name alone: write '\(first)'")
    case .id: return nil
    case .nobody:
      let advice = adviceOnGroup(kind, name) ?? NearestName.suggestion(name, in: names(kind))
      return .fault("the host has no \(kind) '\(name)'\(advice)")
    case .failed(let number):
      return Self.unmade(kind, name, "fails: \(SystemError("", number: number).reason)")
    case nil:
      return Self.unmade(
        kind, name, wasOver ? "was not asked: checks before it hung" : "does not answer")
    }
  }

  /// For a group where a user is named.
  private mutating func adviceOnGroup(_ kind: NameDatabase.Kind, _ name: String) -> String? {
    guard kind == .user,
      case .id? = wait.wait(for: { [database] in database.find(.group, name) })
    else { return nil }
    return ", but a group of that name: groups are named by 'allow_groups' alone"
  }

  private static func fault(
    ofDigits name: String, _ kind: NameDatabase.Kind, _ answer: NameDatabase.Answer?
  ) -> Finding? {
    guard case .id(let id, _) = answer, id != UInt32(name) else { return nil }
    let word = kind == .user ? "uid" : "gid"
    return .fault(
      "\(name) is taken as a \(word), and the \(kind) that has this as its name has the \(word) \(id): "
        + "if that is meant, write \(id)")
  }

  private static func unmade(
    _ kind: NameDatabase.Kind, _ name: String, _ problem: String
  ) -> Finding {
    .unmade("\(kind) '\(name)': the user database \(problem)")
  }

  /// The database is asked once. If the thread of the first list hangs, a second list on another
  /// thread would disturb it.
  private mutating func names(_ kind: NameDatabase.Kind) -> [String] {
    if let names = known[kind] { return names }
    let names = wait.wait { [database] in database.names(kind) } ?? []
    known[kind] = names
    return names
  }
}
