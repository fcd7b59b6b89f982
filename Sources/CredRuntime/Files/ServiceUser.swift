internal import CLinux
internal import Glibc

/// The user as whom `--check-config` opens files: the daemon's, if this process may become that user.
struct ServiceUser {
  /// The user of credd.service.
  static let name = "credd"

  /// Whether files are opened as the daemon opens them.
  let isDaemons: Bool
  /// Whether a person started this process, which is not the daemon. It may be unable to open files that
  /// the daemon can open.
  let isStranger: Bool
  /// Whether root became the daemon's user for the check.
  let became: Bool
  /// To whom files belong that nobody else may change.
  let owners: Set<uid_t>
  /// The check that could not be made, with the reason.
  let unchecked: String?

  /// The user of a daemon that looks at the files of its configuration.
  init() {
    (isDaemons, isStranger, became) = (true, false, false)
    owners = [0, geteuid()]
    unchecked = nil
  }

  /// Becomes the daemon's user. Only root can become another user, and never back. This is the first step
  /// of a check, because it waits for all threads, and a thread of a later step may hang in the kernel.
  ///
  /// - Parameter names: waits for the user database.
  init(becoming names: inout BoundedWait) {
    // In a unit, root is the daemon's own user.
    let isRoot = geteuid() == 0 && !ServiceDirectory.isService
    isStranger = geteuid() != 0 && !ServiceDirectory.isService
    let user = isRoot || isStranger ? names.wait(for: { FoundUser(Self.name) }) : nil
    let failure = isRoot ? Self.become(user) : nil
    isDaemons = failure == nil
    became = isRoot && failure == nil
    // Without that user, credd runs as somebody else.
    unchecked =
      user?.result == 0
      ? nil
      : failure.map {
        "whether the user '\(Self.name)' may open the files: \($0); they were opened as root"
      }
    // After a change of the user.
    var owners: Set<uid_t> = [0, geteuid()]
    if isStranger, let user, user.result > 0 { owners.insert(user.uid) }
    self.owners = owners
  }

  /// - Returns: why this process could not become that user; nil if it did.
  private static func become(_ user: FoundUser?) -> String? {
    guard let user else { return "the user database does not answer" }
    guard user.result != 0 else { return "the host has no such user" }
    let result =
      user.result > 0
      ? unsafe credd_become_user(user.uid, user.gid, user.groups, user.groups.count) : user.result
    return result == 0 ? nil : SystemError("", number: -result).reason
  }

  /// Why this process does not see a file that the daemon may see; nil if the daemon does not see it
  /// either.
  ///
  /// - Parameter credentials: the folder of the service's credentials, if this process does not see it.
  func reasonUnseen(_ path: String, _ number: Int32, credentials: String?) -> String? {
    if let credentials, path.hasPrefix(credentials + "/"), number == ENOENT || number == EACCES {
      if ServiceDirectory.isService {
        return "\(path): systemd shows it to the daemon alone, which opens it at the reload"
      }
      if number == EACCES { return "\(path): systemd shows it to credd.service alone" }
      // While the service runs, what is not in the folder was not loaded.
      return unsafe Glibc.access(credentials, X_OK) == 0
        ? nil : "\(path) exists only while credd.service runs"
    }
    guard number == EACCES, !isDaemons || isStranger else { return nil }
    return "\(path): \(SystemError("", number: number).reason) for this user"
  }

  /// The user to name in the message of an errno, if the check has become the daemon's user. Nil if
  /// the errno may be about this process, or is another one than EACCES.
  func access(_ number: Int32) -> ReadAccess? {
    became && number == EACCES ? ReadAccess(user: Self.name) : nil
  }
}

/// The user database's answer about a user. Making this value may block.
private struct FoundUser: Sendable {
  /// The result of `credd_look_up_user`.
  let result: Int32
  let uid: UInt32
  let gid: UInt32
  let groups: [UInt32]

  init(_ name: String) {
    var user = unsafe credd_user()
    result = unsafe credd_look_up_user(0, name, true, &user)
    (uid, gid) = unsafe (user.uid, user.gid)
    groups = unsafe Array(UnsafeBufferPointer(start: user.groups, count: user.group_count))
    unsafe free(user.groups)
  }
}
