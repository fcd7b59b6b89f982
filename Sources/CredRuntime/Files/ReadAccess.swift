internal import CLinux
internal import Glibc

/// What the user of this process may not read, in words for root, who can allow it.
struct ReadAccess {
  /// The user's name.
  let user: String

  /// Why a file that gave EACCES cannot be read, with what to do.
  func refusal(of path: String, isSecret: Bool = false) -> String {
    if let folder = Self.closedFolder(on: path) {
      return "\(cannot) enter \(folder): \(mend(folder, on: path, isSecret))"
    }
    let isElsewhere = isSecret && !Self.isOwn(path)
    return "\(cannot) read \(path): \(isElsewhere ? move(path) : openFile)"
  }

  /// The same, to follow the file's path.
  func predicate(of path: String) -> String {
    if let folder = Self.closedFolder(on: path) {
      return "cannot be read, since \(cannot) enter \(folder): \(mend(folder, on: path))"
    }
    return "cannot be read by the user '\(user)': \(openFile)"
  }

  /// Why a folder that gave EACCES cannot be listed, with what to do.
  func refusal(toList folder: String) -> String {
    if let above = Self.closedFolder(on: folder) {
      return "\(cannot) enter \(above): \(mend(above, on: folder))"
    }
    let advice = Self.isOwn(folder) ? openFolder : "keep the configuration in \(Self.own)"
    return "\(cannot) list \(folder): \(advice)"
  }

  // MARK: What to do

  private var cannot: String { "the user '\(user)' cannot" }
  private var openFile: String { "'chown root:\(user)' and 'chmod 0640' it" }
  private var openFolder: String {
    "'chmod 0755' it, or 'chown root:\(user)' and 'chmod 0750' it"
  }

  private func move(_ path: String) -> String {
    "move the file to \(Self.own) (root:\(user) 0640), or write LoadCredential=NAME:\(path) in "
      + "'systemctl edit credd', and ${CREDENTIALS_DIRECTORY}/NAME here"
  }

  /// Other programs rely on the modes of folders that are not credd's, such as /root.
  private func mend(_ folder: String, on path: String, _ isSecret: Bool = false) -> String {
    if Self.isOwn(folder) { return openFolder }
    return isSecret ? move(path) : "move the file to a folder that this user can enter"
  }

  /// The folder that is credd's own.
  private static let own = "/etc/credd"

  /// Whether a path is in credd's own folder, and does not lead out of it.
  private static func isOwn(_ path: String) -> Bool {
    let parts = path.split(separator: "/")
    guard parts.starts(with: own.split(separator: "/")), !parts.contains("..") else { return false }
    var prefix = ""
    return parts.allSatisfy { part in
      prefix += "/\(part)"
      var facts = stat()
      return unsafe lstat(prefix, &facts) != 0 || facts.st_mode & S_IFMT != S_IFLNK
    }
  }

  /// The first folder on the way to a path that this process may not enter.
  private static func closedFolder(on path: String) -> String? {
    var prefix = ""
    for part in path.split(separator: "/").dropLast() {
      prefix += "/\(part)"
      if unsafe access(prefix, X_OK) != 0, errno == EACCES { return prefix }
    }
    return nil
  }
}

extension ConfigurationFiles {
  /// What the user of this process may not read of a configuration.
  ///
  /// - Parameter path: the main file.
  static func refusals(of path: String, to reader: ReadAccess) -> [String] {
    var refusals: [String] = []
    if isClosed(path, R_OK) {
      refusals.append(reader.refusal(of: path))
    }
    if isClosed(path + ".d", R_OK) {
      refusals.append(reader.refusal(toList: path + ".d"))
    } else {
      refusals += ((try? fragments(of: path)) ?? []).filter { isClosed($0, R_OK) }
        .map { reader.refusal(of: $0) }
    }
    // A folder that is closed is the reason for each of its files.
    return refusals.enumerated().filter { !refusals[..<$0.offset].contains($0.element) }
      .map(\.element)
  }

  private static func isClosed(_ path: String, _ mode: Int32) -> Bool {
    unsafe access(path, mode) != 0 && errno == EACCES
  }

  /// An error of a reading, in words for the person who can mend it.
  ///
  /// - Parameters:
  ///   - path: the main file.
  ///   - isCheck: whether a person, or a reload, checks the configuration.
  public static func explained(_ error: SystemError, of path: String, isCheck: Bool) -> String {
    guard error.number == EACCES else { return "\(error)" }
    if ServiceDirectory.isService {
      // systemd says as which user the service runs.
      let user = unsafe getenv("USER").map { unsafe String(cString: $0) } ?? ServiceUser.name
      return refusals(of: path, to: ReadAccess(user: user)).first ?? "\(error)"
    }
    guard isCheck, geteuid() != 0 else { return "\(error)" }
    return "\(error): run this check as root"
  }
}
