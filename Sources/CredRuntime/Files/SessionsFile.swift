internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc
public import Logging

/// The sessions while no daemon runs, because systemd before 254 drops its store when the service
/// ends.
///
/// This is a copy of the store in the runtime directory, which is also in memory. Only this user
/// and root can read it. The next daemon reads the file, stores the sessions elsewhere, and only
/// then wipes and removes the file. So a daemon that is killed in between loses nothing.
struct SessionsFile: ~Copyable {
  static let name = "sessions"
  /// The name of a copy that is not complete yet, or was abandoned.
  private static let unfinishedName = "sessions.new"

  private let folder: Int32

  /// - Parameter path: the runtime directory.
  /// - Throws: if `path` is no directory, or is on a disk: no secret may be written to a disk.
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

  /// Writes a copy of a store. An older file is replaced when the copy is complete.
  func put(_ store: Int32) throws(SystemError) {
    let file = unsafe try SystemError.check(
      credd_create_private(folder, Self.unfinishedName), "create the file of sessions")
    defer { credd_close(file) }
    do throws(SystemError) {
      try Self.copy(store, to: file)
      guard unsafe renameat(folder, Self.unfinishedName, folder, Self.name) == 0 else {
        throw SystemError("name the file of sessions", number: errno)
      }
    } catch {
      SessionLog.wipeAll(of: file)
      unsafe unlinkat(folder, Self.unfinishedName, 0)
      throw error
    }
  }

  /// The sessions of the file, copied to a new store; nil if there is no file. The file stays until
  /// ``remove()``.
  func read() throws(SystemError) -> Int32? {
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
    return store
  }

  /// Wipes and removes the file.
  func remove() throws(SystemError) {
    for name in [Self.name, Self.unfinishedName] {
      let file = unsafe credd_open_private(folder, name)
      guard file != -ENOENT else { continue }
      try SystemError.check(file, "open the file of sessions")
      SessionLog.wipeAll(of: file)
      credd_close(file)
      guard unsafe unlinkat(folder, name, 0) == 0 else {
        throw SystemError("remove the file of sessions", number: errno)
      }
    }
  }

  /// Copies the data ranges, not the holes.
  private static func copy(_ source: Int32, to target: Int32) throws(SystemError) {
    let window: Int64 = 1 << 20
    var (from, begin, end): (Int64, Int64, Int64) = (0, 0, 0)
    while unsafe try SystemError.check(
      credd_next_data(source, from, &begin, &end), "read the session store") == 1
    {
      from = begin
      while from < end {
        let bytes = try SessionLog.read(min(window, end - from), at: from, from: source)
        // Another process truncated the file.
        guard !bytes.isEmpty else { return }
        try SessionLog.write(bytes, at: from, to: target)
        from += Int64(bytes.count)
      }
    }
  }
}

/// Keeping sessions while no daemon runs.
extension Daemon {
  /// - Returns: why it could not be written; nil also where there is nothing to write.
  func writeSessionsFile() -> String? {
    guard let store = storage?.store else { return nil }
    guard store.count > 0 else {
      removeSessionsFile()
      return nil
    }
    return Self.writeSessionsFile(store.descriptor, in: options.runtimeDirectory)
  }

  func removeSessionsFile() {
    guard let folder = options.runtimeDirectory else { return }
    try? SessionsFile(in: folder).remove()
  }

  private static func writeSessionsFile(_ store: Int32, in folder: String?) -> String? {
    do throws(SystemError) {
      guard let folder else {
        throw SystemError("find the unit's RuntimeDirectory=", number: ENOENT)
      }
      try SessionsFile(in: folder).put(store)
      return nil
    } catch {
      return "\(error); check the unit's RuntimeDirectory="
    }
  }

  /// Keeps the passed sessions for the next daemon if this daemon cannot start. systemd before 254
  /// drops its store when a service fails.
  public static func keepSessions(
    of passed: PassedDescriptors, in folder: String? = ServiceDirectory.runtime, log: Logger
  ) {
    let boot = SessionStore.bootID()
    let newest = passed.stores.max { generation($0, boot) < generation($1, boot) }
    if let problem = newest.flatMap({ writeSessionsFile($0.descriptor, in: folder) }) {
      log.warning("the sessions may end with this daemon: \(problem)")
    }
  }

  /// The generation of a store; 0 if the descriptor is no store.
  private static func generation(_ store: PassedDescriptors.Named, _ boot: [UInt8]?) -> UInt64 {
    let head = try? SessionLog.read(Int64(StoreHeader.byteCount), at: 0, from: store.descriptor)
    guard let head, let header = try? StoreHeader(reading: head, boot: boot) else { return 0 }
    return header.generation
  }

  /// Takes over the sessions in the last daemon's file, if there is one.
  ///
  /// - Parameter open: stores the sessions. After that, the file is removed, unless they are stored
  ///   nowhere else.
  static func takeSessionsFile(
    in folder: String?, log: Logger, open: ([PassedDescriptors.Named]) -> DurableSessions?
  ) -> DurableSessions? {
    guard let folder else { return open([]) }
    do throws(SystemError) {
      let file = try SessionsFile(in: folder)
      guard let store = try file.read() else { return open([]) }
      let storage = open([
        PassedDescriptors.Named(descriptor: store, name: PassedDescriptors.fileName)
      ])
      guard storage?.store != nil else { return storage }
      do throws(SystemError) {
        try file.remove()
      } catch {
        log.warning(
          """
          the file with the sessions of the last daemon cannot be removed from \(folder), remove it \
          by hand: \(error)
          """)
      }
      return storage
    } catch {
      log.log(
        .sessionsDropped, .warning,
        "parked sessions cannot be used: \(error); users who signed in sign in again")
      return open([])
    }
  }
}
