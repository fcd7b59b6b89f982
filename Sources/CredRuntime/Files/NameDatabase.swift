internal import CLinux
internal import Glibc

/// The host's users and groups, as a check of the configuration asks for them. Each call may block.
struct NameDatabase: Sendable {
  enum Kind: String, Sendable {
    case user, group
  }

  enum Answer: Sendable, Equatable {
    /// The id that has the name. For a user, `first` is the name by which the host knows that uid; nil if
    /// that was not told.
    case id(UInt32, first: String?)
    case nobody
    /// With the errno.
    case failed(Int32)
  }

  let find: @Sendable (_ kind: Kind, _ name: String) -> Answer
  /// Names of a kind. Never asked for on two threads at once.
  let names: @Sendable (_ kind: Kind) -> [String]

  /// libc's, which asks NSS.
  static let host = NameDatabase(
    find: { kind, name in kind == .user ? findUser(name) : findGroup(name) }, names: list)

  private static func findUser(_ name: String) -> Answer {
    var found = unsafe credd_user()
    let result = unsafe credd_look_up_user(0, name, false, &found)
    guard result > 0 else { return result == 0 ? .nobody : .failed(-result) }
    var first = unsafe credd_user()
    guard unsafe credd_look_up_user(found.uid, nil, false, &first) > 0 else {
      return unsafe .id(found.uid, first: nil)
    }
    let known = unsafe withUnsafeBytes(of: &first.name) {
      unsafe String(validating: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    return unsafe .id(found.uid, first: known)
  }

  private static func findGroup(_ name: String) -> Answer {
    var gid: UInt32 = 0
    let result = unsafe credd_group_id(name, &gid)
    guard result > 0 else { return result == 0 ? .nobody : .failed(-result) }
    return .id(gid, first: nil)
  }

  /// Bytes of the names in which a misspelt one is looked for: enough for some thousands.
  private static let longestList = 64 << 10

  private static func list(_ kind: Kind) -> [String] {
    var bytes = [CChar](repeating: 0, count: longestList)
    let count = unsafe credd_list_names(kind == .group, &bytes, bytes.count)
    return bytes[..<count].split(separator: 0).compactMap {
      String(validating: $0.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
  }
}
