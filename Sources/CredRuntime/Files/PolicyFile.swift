internal import CLinux
internal import CredCore
internal import Glibc

/// A session policy's file. Whoever may write to it, or to a folder above it, could widen what programs get:
/// so all of them belong to root or to the daemon's user, and nobody else may write to them.
enum PolicyFile {
  static func read(_ path: String) -> Result<[UInt8], InvalidValue> {
    Result { () throws(InvalidValue) in
      let resolved = try resolve(path)
      var place = "/"
      try check(place)
      for part in resolved.split(separator: "/") {
        place += (place == "/" ? "" : "/") + part
        try check(place)
      }
      let content: Secret
      do throws(InvalidInput) {
        content = try SecretFile.read(resolved, as: "policy_file")
      } catch {
        throw InvalidValue(error.reason)
      }
      if let fault = FileText.lines.fault(in: content) { throw InvalidValue(fault) }
      return Array(content.bytes.withoutByteOrderMark)
    }
  }

  private static func resolve(_ path: String) throws(InvalidValue) -> String {
    guard let resolved = unsafe realpath(path, nil) else {
      throw InvalidValue(SystemError("cannot be read", number: errno).description)
    }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }

  private static func check(_ place: String) throws(InvalidValue) {
    var facts = stat()
    guard unsafe lstat(place, &facts) == 0 else {
      throw InvalidValue(SystemError("cannot be read", number: errno).description)
    }
    guard facts.st_uid == 0 || facts.st_uid == geteuid() else {
      throw InvalidValue("is not safe: \(place) belongs to uid \(facts.st_uid)")
    }
    // In a folder with the sticky bit nobody renames what belongs to another user.
    let isSticky = facts.st_mode & S_IFMT == S_IFDIR && facts.st_mode & S_ISVTX != 0
    guard facts.st_mode & (S_IWGRP | S_IWOTH) == 0 || isSticky else {
      throw InvalidValue("is not safe: others may write to \(place)")
    }
  }
}
