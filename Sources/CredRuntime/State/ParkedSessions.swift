internal import CLinux
internal import Glibc

/// Sessions while no daemon runs: `exit_on_idle` ends it, and systemd before 254 then forgets what it
/// has in store (it keeps that over a restart alone).
///
/// A copy of the store in the runtime directory, which is in memory as the store is: nobody but this
/// user, and root, can read it, and it is gone when the next daemon has taken it up.
struct ParkedSessions: ~Copyable {
  private static let name = "sessions"

  private let folder: Int32

  /// - Parameter path: the runtime directory.
  /// - Throws: where it is none, or one on a disk, where no secret may be written.
  init(in path: String) throws(SystemError) {
    let opened = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard opened >= 0 else { throw SystemError("open \(path)", number: errno) }
    guard credd_is_in_memory(opened) == 1 else {
      credd_close(opened)
      throw SystemError("keep sessions in \(path), which is not in memory", number: ENOTSUP)
    }
    folder = opened
  }

  deinit {
    credd_close(folder)
  }

  /// Puts a copy of the store in place of one that may be there.
  func put(_ store: borrowing SessionStore) throws(SystemError) {
    let file = unsafe try SystemError.check(
      credd_create_private(folder, Self.name), "create the file of sessions")
    defer { credd_close(file) }
    do throws(SystemError) {
      try Self.copy(store.descriptor, to: file)
    } catch {
      unsafe unlinkat(folder, Self.name, 0)
      throw error
    }
  }

  /// What was left there, as a store that nobody else has; the file is wiped and removed. Nil where
  /// there is none.
  func take() throws(SystemError) -> Int32? {
    let file = unsafe credd_open_private(folder, Self.name)
    guard file != -ENOENT else { return nil }
    try SystemError.check(file, "open the file of sessions")
    defer { credd_close(file) }
    let store = unsafe try SystemError.check(
      credd_memfd("credd-sessions"), "create the session store")
    do throws(SystemError) {
      try Self.copy(file, to: store)
    } catch {
      credd_close(store)
      throw error
    }
    SessionLog.wipeAll(of: file)
    unsafe unlinkat(folder, Self.name, 0)
    return store
  }

  /// Copies what is no hole, to the same place.
  private static func copy(_ source: Int32, to target: Int32) throws(SystemError) {
    let window: Int64 = 1 << 20
    var (from, begin, end): (Int64, Int64, Int64) = (0, 0, 0)
    while unsafe try SystemError.check(
      credd_next_data(source, from, &begin, &end), "read the session store") == 1
    {
      from = begin
      while from < end {
        let bytes = try SessionLog.read(min(window, end - from), at: from, from: source)
        // Somebody cut it off.
        guard !bytes.isEmpty else { return }
        try SessionLog.write(bytes, at: from, to: target)
        from += Int64(bytes.count)
      }
    }
  }
}
