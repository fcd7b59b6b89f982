import AuthCore
import CHardening
import Glibc

/// The user as whom root's commands go on.
///
/// A user who can change a folder on the way to the database decides what root would find there. It
/// could be a link to a file of root, or a journal of SQLite that names such a file.
struct DatabaseOwner {
  private let uid: uid_t
  private let gid: gid_t

  /// Nil if there is no such user, or if it is root.
  init?(name: String) {
    guard let user = unsafe getpwnam(name), unsafe user.pointee.pw_uid != 0 else { return nil }
    (uid, gid) = unsafe (user.pointee.pw_uid, user.pointee.pw_gid)
  }

  /// The owner of the first folder on the way to the file that not only root can change; nil if
  /// there is none. This owner has laid everything that comes after the folder. So what comes after
  /// it does not say whom root may become.
  init?(ofFile path: String) throws {
    var walk = Walk(path)
    guard let open = walk.findOpenFolder() else { return nil }
    var state = stat()
    guard unsafe stat(walk.folder, &state) == 0 else {
      throw Failed("\(path): \(walk.folder): \(SystemError.last)", .unavailable)
    }
    guard open.uid != 0, open.uid == state.st_uid else {
      throw Failed(
        "\(path): others can change \(open.path), and choose by it where root's commands go "
          + "(the user \(open.uid) owns it, the user \(state.st_uid) the database's folder): give "
          + "both to the server's user, or \(open.path) to root alone")
    }
    uid = open.uid
    // Never root's group.
    gid = open.gid == 0 ? open.uid : open.gid
  }

  /// Gives up root's rights for good.
  func become() throws {
    let isDone: Bool
    if let user = unsafe getpwuid(uid) {
      let group = unsafe user.pointee.pw_gid
      isDone = unsafe initgroups(user.pointee.pw_name, group) == 0 && setgid(group) == 0
    } else {
      isDone = setgroups(0, nil) == 0 && setgid(gid) == 0
    }
    // The kernel may allow tracing again once the user is another one.
    guard isDone, setuid(uid) == 0, auth_harden() == 0 else {
      throw Failed("this cannot go on as the user \(uid): \(SystemError.last)", .unavailable)
    }
  }
}

/// The way to a file, folder by folder and link by link.
private struct Walk {
  /// A folder, or a link to one, that not only root can change.
  struct OpenFolder {
    let path: String
    let uid: uid_t
    let gid: gid_t
  }

  /// Names that are still to be looked at. The last one is the next.
  private var rest: [Substring]
  /// The folder that was reached; empty for the root.
  private var place = ""

  init(_ path: String) {
    rest = path.split(separator: "/").reversed()
    guard !path.hasPrefix("/"), let here = unsafe realpath(".", nil) else { return }
    place = unsafe String(cString: here)
    unsafe free(here)
  }

  /// The folder of the file, as far as root has followed the way.
  var folder: String {
    ([Substring(place)] + rest.reversed().dropLast()).joined(separator: "/") + "/"
  }

  /// The first folder that not only root can change; nil if there is none.
  mutating func findOpenFolder() -> OpenFolder? {
    var links = 0
    while let name = rest.last {
      let next = place + "/" + name
      var (above, there) = (stat(), stat())
      guard unsafe stat(place + "/", &above) == 0 else { return nil }
      let isThere = unsafe lstat(next, &there) == 0
      let isFolder = isThere && rest.count > 1
      if Self.isOpen(above, isFolder ? there : nil) {
        let isEntry = isFolder && above.st_uid == 0 && above.st_mode & S_ISVTX != 0
        let state = isEntry ? there : above
        let path = isEntry ? next : place.isEmpty ? "/" : place
        return OpenFolder(path: path, uid: state.st_uid, gid: state.st_gid)
      }
      guard isThere else { return nil }
      rest.removeLast()
      switch name {
      case ".": continue
      case "..": place = String(place[..<(place.lastIndex(of: "/") ?? place.startIndex)])
      default:
        guard there.st_mode & S_IFMT == S_IFLNK else {
          if !rest.isEmpty { place = next }
          continue
        }
        links += 1
        guard links <= 40, let target = Self.target(next) else { return nil }
        if target.hasPrefix("/") { place = "" }
        rest += target.split(separator: "/").reversed()
      }
    }
    return nil
  }

  /// - Parameter entry: a folder or link in the folder. A sticky bit keeps it in its place if it is
  ///   root's. Nil for the database, because SQLite makes files beside it.
  private static func isOpen(_ folder: stat, _ entry: stat?) -> Bool {
    guard folder.st_uid == 0 else { return true }
    guard folder.st_mode & 0o022 != 0 else { return false }
    return entry.map { folder.st_mode & S_ISVTX == 0 || $0.st_uid != 0 } ?? true
  }

  private static func target(_ link: String) -> String? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink(link, &bytes, bytes.count)
    guard count >= 0 else { return nil }
    return String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
