import AuthCore
import Glibc

/// A file that is written beside its place, for its owner alone, and appears there once it is whole. No
/// other file goes for it.
final class NewFile {
  let path: String
  /// Where it is written.
  let temporary: String
  /// Without links: whoever changes one later changes nothing here.
  private let folder: String
  private let place: String
  private let descriptor: Int32

  init(_ path: String) throws {
    self.path = path
    let slash = path.lastIndex(of: "/")
    let named = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    guard unsafe access(path, F_OK) != 0 else { throw NewFile.taken(path) }
    guard let resolved = unsafe realpath(named, nil) else { throw NewFile.failed(path) }
    folder = unsafe String(cString: resolved)
    unsafe free(resolved)
    place = folder + "/" + path[(slash.map { path.index(after: $0) } ?? path.startIndex)...]
    try Self.check(folder, path)
    var template = Array("\(folder)/.credd-authserver.XXXXXX".utf8CString)
    descriptor = unsafe mkstemp(&template)
    guard descriptor >= 0 else { throw NewFile.failed(path) }
    temporary = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    _ = unsafe unlink(temporary)
    close(descriptor)
  }

  /// Whoever else can write the folder could put a file of theirs in this one's place; and whoever can
  /// write one above it, a folder of theirs.
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
      throw Failed("\(path) cannot be made: others can write \(folder), and change the file")
    }
  }

  private static func taken(_ path: String) -> Failed {
    Failed("\(path) is there already: name a file that is not", .usage)
  }

  private static func failed(_ path: String) -> Failed {
    Failed("\(path) cannot be written: \(SystemError.last)", .unavailable)
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

  /// Puts it in its place. What returns is on disk.
  ///
  /// - Returns: its length.
  func publish() throws -> Int64 {
    var state = stat()
    guard fsync(descriptor) == 0, unsafe fstat(descriptor, &state) == 0 else {
      throw NewFile.failed(path)
    }
    guard unsafe link(temporary, place) == 0 else {
      throw errno == EEXIST ? NewFile.taken(path) : NewFile.failed(path)
    }
    var published = stat()
    guard unsafe lstat(place, &published) == 0, published.st_ino == state.st_ino,
      published.st_dev == state.st_dev
    else { throw Failed("\(path) is not the file that was written: look who can write \(folder)") }
    let directory = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if directory >= 0 {
      fsync(directory)
      close(directory)
    }
    return Int64(state.st_size)
  }

  /// Takes it away again.
  func withdraw() { _ = unsafe unlink(place) }
}
