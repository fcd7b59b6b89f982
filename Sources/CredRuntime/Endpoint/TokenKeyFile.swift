internal import CLinux
internal import CredCore
internal import Glibc

/// The key of this boot's tokens, in the runtime directory. It outlives a restart, a crash and a
/// stop of the daemon, but not a reboot. If somebody removes it, all tokens are void after the next
/// start.
enum TokenKeyFile {
  static let name = "token-key"
  private static let unfinishedName = "token-key.new"

  /// The key, made anew if there is none.
  ///
  /// - Parameter path: the runtime directory, which must be in memory.
  static func take(in path: String) throws(SystemError) -> Secret {
    let folder = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw SystemError("open \(path)", number: errno) }
    defer { credd_close(folder) }
    guard credd_is_in_memory(folder) == 1 else {
      throw SystemError("keep the token key in \(path), which is not in memory", number: ENOTSUP)
    }
    if let known = try read(in: folder) { return known }
    try make(in: folder)
    guard let made = try read(in: folder) else {
      throw SystemError("read the token key again", number: ENOENT)
    }
    return made
  }

  /// The key in the file; nil if there is none.
  private static func read(in folder: Int32) throws(SystemError) -> Secret? {
    let file = unsafe credd_open_private(folder, name)
    guard file != -ENOENT else { return nil }
    try SystemError.check(file, "open the token key")
    defer { credd_close(file) }
    var bytes = [UInt8](repeating: 0, count: TokenKey.bytes + 1)
    let count = unsafe credd_read_at(file, &bytes, bytes.count, 0)
    guard count >= 0 else { throw SystemError("read the token key", number: Int32(-count)) }
    guard count == TokenKey.bytes else {
      throw SystemError(
        "use the token key, which has another length; remove the file \(name) and start again",
        number: EINVAL)
    }
    return Secret(Array(bytes.prefix(TokenKey.bytes)))
  }

  /// The file gets its name only when it is complete, and never replaces another file.
  private static func make(in folder: Int32) throws(SystemError) {
    let file = unsafe try SystemError.check(
      credd_create_private(folder, unfinishedName), "create the token key")
    defer { credd_close(file) }
    let key = random()
    unsafe try SystemError.check(
      credd_write_at(file, key.bytes, key.count, 0), "write the token key")
    let linked = unsafe linkat(folder, unfinishedName, folder, name, 0)
    let failure = errno
    unsafe unlinkat(folder, unfinishedName, 0)
    guard linked == 0 || failure == EEXIST else {
      throw SystemError("name the token key", number: failure)
    }
  }

  /// A key that lives as long as this process.
  static func random() -> Secret {
    var generator = SystemRandomNumberGenerator()
    return Secret((0..<TokenKey.bytes).map { _ in UInt8.random(in: 0...255, using: &generator) })
  }
}
