internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc

/// Users, programs, files and environment of this host, from libc and the kernel.
final class SystemQueries: HostQueries {
  func user(_ query: UserQuery) -> UserAnswer {
    var found = unsafe credd_user()
    let result =
      switch query.key {
      case .uid(let uid): unsafe credd_look_up_user(uid, nil, query.withGroups, &found)
      case .name(let name):
        name.utf8.count > Self.longestName
          ? 0 : unsafe credd_look_up_user(0, name, query.withGroups, &found)
      }
    defer { unsafe free(found.groups) }
    // The name stays as long as it is, so asking again is of no use.
    guard result != -ENAMETOOLONG else { return .unreadableName }
    guard result == 1 else { return result == 0 ? .nobody : .unavailable }
    let known = unsafe withUnsafeBytes(of: &found.name) {
      unsafe String(validating: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    guard let name = known else { return .unreadableName }
    let groups = unsafe UnsafeBufferPointer(start: found.groups, count: found.group_count)
    return unsafe .user(UserEntry(uid: found.uid, name: name, groups: Array(groups)))
  }

  /// The value of LOGIN_NAME_MAX.
  private static let longestName = 256

  func group(_ name: String) -> GroupAnswer {
    var gid: UInt32 = 0
    return switch unsafe credd_group_id(name, &gid) {
    case 1: .group(gid)
    case 0: .noSuchGroup
    default: .unavailable
    }
  }

  func program(of pid: Int32) -> ProgramAnswer { RunningProgram.find(pid) }

  func digest(of file: ProgramFile, runBy pid: Int32) -> DigestAnswer {
    RunningProgram.digest(of: file, runBy: pid)
  }

  func file(_ path: String, key: String) throws(InvalidInput) -> Secret {
    try SecretFile.read(path, as: key)
  }

  func subordinateRanges(unless known: ProgramFile?) -> SubordinateAnswer {
    SubordinateFile.read(SubordinateFile.path, unless: known)
  }

  func environment(_ name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }
}

/// Resolves names on this host.
public enum HostNames {
  /// This host's name, for `{host}` in templates.
  static var host: String {
    var name = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return "localhost" }
    return String(
      decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
