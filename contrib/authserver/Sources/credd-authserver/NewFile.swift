import AuthCore
import CSpawn
import Glibc

/// A file that is written beside its place, only for its owner, and appears in its place once it is
/// whole. It never replaces another file.
///
/// The names are changed by a process that keeps the rights of this one. Root opens the file, gives
/// up being root, and can still put the file in its place.
final class NewFile {
  let path: String
  let descriptor: Int32
  /// Without links: whoever changes one later changes nothing here.
  private let folder: String
  private let keeper: auth_keeper

  init(_ path: String) throws {
    self.path = path
    let slash = path.lastIndex(of: "/")
    let named = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let name = String(path[(slash.map { path.index(after: $0) } ?? path.startIndex)...])
    guard unsafe access(path, F_OK) != 0 else { throw NewFile.taken(path) }
    try Self.checkWay(to: named, path)
    folder = try Self.resolved(named, path)
    try Self.check(folder, path)
    var template = Array("\(folder)/.credd-authserver.XXXXXX".utf8CString)
    let made = unsafe mkstemp(&template)
    guard made >= 0 else { throw NewFile.failed(path) }
    let temporary = String(
      decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    do {
      keeper = try Self.keeper(of: made, folder, temporary, name)
    } catch {
      _ = unsafe unlink(temporary)
      close(made)
      throw NewFile.failed(path, error)
    }
    descriptor = made
  }

  private static func keeper(
    of descriptor: Int32, _ folder: String, _ temporary: String, _ name: String
  ) throws(SystemError) -> auth_keeper {
    let directory = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw .last }
    defer { close(directory) }
    let own = temporary[(temporary.lastIndex(of: "/") ?? temporary.startIndex)...].dropFirst()
    var keeper = auth_keeper()
    let code = unsafe auth_keep(descriptor, directory, String(own), name, &keeper)
    guard code == 0 else { throw SystemError(code) }
    return keeper
  }

  deinit {
    unsafe withUnsafePointer(to: keeper) { unsafe auth_dismiss($0) }
    close(descriptor)
  }

  /// Another user who can write the folder could put another file in the place of this one. A user
  /// who can write a folder above could put another folder in the place of the folder.
  private static func check(_ folder: String, _ path: String) throws {
    if folder != "/" {
      let above = folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)]
      try check(above.isEmpty ? "/" : String(above), path)
    }
    var state = stat()
    guard unsafe stat(folder, &state) == 0 else { throw failed(path) }
    let isOwn = [0, geteuid()].contains(state.st_uid)
    let isOthers =
      state.st_mode & 0o002 != 0
      || (state.st_mode & 0o020 != 0 && ![0, getegid()].contains(state.st_gid))
    guard isOwn, !isOthers || state.st_mode & S_ISVTX != 0 else {
      throw replaceable(folder, path)
    }
  }

  /// A user who can change a folder or a link on the way sends the file into another folder. Nobody
  /// can do so if each folder and link belongs to the caller or to root, and lies in a folder in
  /// which nobody else can replace it.
  private static func checkWay(to folder: String, _ path: String) throws {
    var way = folder.hasPrefix("/") ? "/" : ""
    for name in folder.split(separator: "/") {
      try check(resolved(way.isEmpty ? "." : way, path), path)
      let next = way + name
      var state = stat()
      guard unsafe lstat(next, &state) == 0 else { throw failed(path) }
      guard [0, geteuid()].contains(state.st_uid) else { throw replaceable(next, path) }
      way = next + "/"
    }
  }

  private static func resolved(_ folder: String, _ path: String) throws -> String {
    guard let found = unsafe realpath(folder, nil) else { throw failed(path) }
    defer { unsafe free(found) }
    return unsafe String(cString: found)
  }

  private static func replaceable(_ folder: String, _ path: String) -> Failed {
    Failed("\(path) cannot be made: others can write \(folder), and change the file")
  }

  private static func taken(_ path: String) -> Failed {
    Failed("\(path) is there already: name a file that is not", .usage)
  }

  private static func failed(_ path: String, _ error: SystemError = .last) -> Failed {
    Failed("\(path) cannot be written: \(error)", .unavailable)
  }

  func write(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
      }
      guard count > 0 || errno == EINTR else { throw NewFile.failed(path) }
      rest = rest.dropFirst(max(0, count))
    }
  }

  /// Puts the file in its place. When this returns, it is on disk.
  ///
  /// - Returns: the file's length.
  func publish() throws -> Int64 {
    var state = stat()
    guard fsync(descriptor) == 0, unsafe fstat(descriptor, &state) == 0 else {
      throw NewFile.failed(path)
    }
    switch order("p") {
    case 0: return Int64(state.st_size)
    case EEXIST: throw NewFile.taken(path)
    case -1: throw Failed("\(path) is not the file that was written: look who can write \(folder)")
    case let code: throw NewFile.failed(path, SystemError(code))
    }
  }

  /// Takes it away again.
  func withdraw() { _ = order("w") }

  private func order(_ order: Character) -> Int32 {
    unsafe withUnsafePointer(to: keeper) { keeper in
      unsafe auth_order(keeper, CChar(bitPattern: order.asciiValue ?? 0))
    }
  }
}
