internal import CLinux
internal import CredCore
internal import Glibc

/// The file of a session policy. Whoever may write to the file, or to a folder on the way to it,
/// could widen what programs get. So all of them belong to root or to the daemon's user, and nobody
/// else may write to them.
enum PolicyFile {
  struct Refusal: Error {
    /// What is wrong, after the path.
    let reason: String
    /// The errno; 0 where the file was seen.
    var number: Int32 = 0
  }

  /// For the daemon.
  static func read(_ path: String) -> Result<[UInt8], InvalidValue> {
    read(path, owners: [0, geteuid()]).mapError { InvalidValue($0.reason) }
  }

  /// - Parameter owners: to whom the file and the folders may belong.
  static func read(_ path: String, owners: Set<uid_t>) -> Result<[UInt8], Refusal> {
    Result { () throws(Refusal) in
      let own = try walk(to: path, owners)
      let facts = FileFacts(ofRegular: own, .text(.lines))
      try check(facts.failure)
      guard facts.kind == S_IFREG else { throw Refusal(reason: "is no regular file") }
      if let fault = facts.fault { throw Refusal(reason: fault) }
      guard let content = try? SecretFile.read(own, as: "policy_file") else {
        throw Refusal(reason: "cannot be read")
      }
      return Array(content.bytes.withoutByteOrderMark)
    }
  }

  /// As many as the kernel follows.
  private static let linksFollowed = 40

  /// Goes the way of a path, link by link, and looks at each folder on it: `realpath` alone would not see
  /// who may exchange a link.
  ///
  /// - Returns: the file's own path.
  private static func walk(to path: String, _ owners: Set<uid_t>) throws(Refusal) -> String {
    var walked: [Substring] = []
    var rest = path.split(separator: "/")[...]
    var links = 0
    try check("/", look(at: "/"), owners)
    while let part = rest.popFirst() {
      if part == "." { continue }
      if part == ".." {
        _ = walked.popLast()
        continue
      }
      let next = "/" + (walked + [part]).joined(separator: "/")
      let facts = try look(at: next)
      try check(next, facts, owners)
      guard facts.st_mode & S_IFMT == S_IFLNK else {
        walked.append(part)
        continue
      }
      links += 1
      guard links <= linksFollowed else { throw refusal(ELOOP) }
      let target = try target(of: next)
      if target.hasPrefix("/") { walked = [] }
      rest = (target.split(separator: "/") + rest)[...]
    }
    return "/" + walked.joined(separator: "/")
  }

  private static func check(
    _ path: String, _ facts: stat, _ owners: Set<uid_t>
  ) throws(Refusal) {
    guard owners.contains(facts.st_uid) else {
      throw Refusal(
        reason: "is not safe: '\(path)' belongs to uid \(facts.st_uid), not to root or credd's "
          + "user; 'chown root' it")
    }
    let kind = facts.st_mode & S_IFMT
    // Every link has all bits. In a folder with the sticky bit nobody exchanges what another user has.
    let isHeld = kind == S_IFLNK || kind == S_IFDIR && facts.st_mode & S_ISVTX != 0
    guard isHeld || facts.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
      throw Refusal(reason: "is not safe: others may write to '\(path)'; 'chmod go-w' it")
    }
  }

  private static func look(at path: String) throws(Refusal) -> stat {
    var facts = stat()
    if unsafe lstat(path, &facts) != 0 { throw refusal(errno) }
    return facts
  }

  private static func target(of link: String) throws(Refusal) -> String {
    let size = Int(PATH_MAX)
    var bytes = [CChar](repeating: 0, count: size)
    let count = unsafe readlink(link, &bytes, size)
    guard count >= 0 else { throw refusal(errno) }
    return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func check(_ failure: Int32) throws(Refusal) {
    if failure != 0 { throw refusal(failure) }
  }

  private static func refusal(_ number: Int32) -> Refusal {
    Refusal(reason: SystemError("cannot be read", number: number).description, number: number)
  }
}
