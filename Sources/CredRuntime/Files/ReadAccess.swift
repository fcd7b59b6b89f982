internal import CLinux
internal import Glibc

/// What the user of this process may not read, in words for root, who can allow it.
struct ReadAccess {
  /// The user's name.
  let user: String

  /// Why a file that gave EACCES cannot be read, with what to do.
  func refusal(of path: String) -> String {
    if let folder = Self.closedFolder(on: path) {
      return "\(cannot) enter \(folder): \(openFolder)"
    }
    return "\(cannot) read \(path): \(openFile)"
  }

  /// The same, to follow the file's path.
  func predicate(of path: String) -> String {
    if let folder = Self.closedFolder(on: path) {
      return "cannot be read, since \(cannot) enter \(folder): \(openFolder)"
    }
    return "cannot be read by the user '\(user)': \(openFile)"
  }

  /// Why a folder that gave EACCES cannot be listed, with what to do.
  func refusal(toList folder: String) -> String {
    if let above = Self.closedFolder(on: folder) {
      return "\(cannot) enter \(above): \(openFolder)"
    }
    return "\(cannot) list \(folder): \(openFolder)"
  }

  private var cannot: String { "the user '\(user)' cannot" }
  private var openFile: String { "'chown root:\(user)' and 'chmod 0640' it" }
  private var openFolder: String {
    "'chmod 0755' it, or 'chown root:\(user)' and 'chmod 0750' it"
  }

  /// The first folder on the way to a path that this process may not enter.
  private static func closedFolder(on path: String) -> String? {
    var place = ""
    for part in path.split(separator: "/").dropLast() {
      place += "/\(part)"
      if unsafe access(place, X_OK) != 0, errno == EACCES { return place }
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

  /// An error of a reading, in words for those who can mend it.
  ///
  /// - Parameters:
  ///   - path: the main file.
  ///   - isCheck: whether a person, or a reload, checks the configuration.
  public static func explained(_ error: SystemError, of path: String, isCheck: Bool) -> String {
    guard error.number == EACCES else { return "\(error)" }
    if ServiceDirectory.isService {
      // systemd says whose service it is.
      let user = unsafe getenv("USER").map { unsafe String(cString: $0) } ?? ServiceUser.name
      return refusals(of: path, to: ReadAccess(user: user)).first ?? "\(error)"
    }
    guard isCheck, geteuid() != 0 else { return "\(error)" }
    return "\(error): run this check as root"
  }
}
