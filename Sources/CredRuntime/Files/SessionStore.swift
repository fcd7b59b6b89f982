internal import CLinux
internal import CSystemd
internal import CredCore
internal import CredService
internal import Glibc
internal import Logging

/// The sessions that the service manager keeps for the next process of this service.
final class SessionStore {
  private let log: Logger
  private let sessions: SessionLog
  /// Those that could not be stored, which is said once of each.
  private var failing: Set<SessionKey> = []

  private init(_ sessions: SessionLog, _ log: Logger) {
    self.sessions = sessions
    self.log = log
  }

  /// The store that was passed, or else a new one, and the sessions in it. Nil where nobody would
  /// keep it.
  ///
  /// What cannot be used is dropped with a warning: a daemon without its sessions fetches them anew.
  static func open(
    _ passed: [PassedDescriptors.Named], log: Logger,
    isWanted: Bool = ServiceNotification.isHeard
  ) -> (store: SessionStore, records: [SessionKey: SessionRecord])? {
    guard isWanted else { return nil }
    let boot = bootID()
    let usable = passed.compactMap { passed in
      read(passed, boot, log).map { (name: passed.name, sessions: $0.0, loaded: $0.1) }
    }
    let best = usable.max { $0.sessions.header.generation < $1.sessions.header.generation }
    do throws(SystemError) {
      let sessions: SessionLog
      if let best { sessions = best.sessions } else { sessions = try SessionLog(boot: boot) }
      try leave(sessions, best?.name, others: passed.map(\.name))
      for other in passed where other.descriptor != sessions.descriptor {
        SessionLog.wipeAll(of: other.descriptor)
        if !usable.contains(where: { $0.sessions.descriptor == other.descriptor }) {
          credd_close(other.descriptor)
        }
      }
      if let best, best.loaded.damaged > 0 {
        log.log(
          .sessionsDropped, .warning,
          "stored sessions were damaged; their users get new credentials",
          ["records": "\(best.loaded.damaged)"])
      }
      return (SessionStore(sessions, log), best?.loaded.records ?? [:])
    } catch {
      log.warning("sessions will not survive a restart: \(error)")
      return nil
    }
  }

  private static func read(
    _ passed: PassedDescriptors.Named, _ boot: [UInt8], _ log: Logger
  ) -> (SessionLog, SessionLog.Loaded)? {
    let reason: String
    do {
      let head = try SessionLog.read(
        Int64(StoreHeader.byteCount), at: 0, from: passed.descriptor)
      let header = try StoreHeader(reading: head, boot: boot)
      let sessions = SessionLog(descriptor: passed.descriptor, header: header)
      return (sessions, try sessions.load())
    } catch {
      reason = "\(error)"
    }
    log.log(
      .sessionsDropped, .warning,
      "stored sessions cannot be used and are dropped: \(reason)", ["name": "\(passed.name)"])
    return nil
  }

  /// Leaves it with the service manager, under a name that nothing else there has, and then has the
  /// others removed: at no moment there is none.
  private static func leave(
    _ sessions: SessionLog, _ name: String?, others: [String]
  ) throws(SystemError) {
    let others = others.filter { $0 != PassedDescriptors.fileName }
    guard let name, name != PassedDescriptors.fileName else {
      let names = ["a", "b", "c"].map { "\(PassedDescriptors.storeName)-\($0)" }
      try ServiceNotification.store(
        sessions.descriptor, as: names.first { !others.contains($0) } ?? names[0])
      return Set(others).forEach(ServiceNotification.remove)
    }
    for other in Set(others) where other != name { ServiceNotification.remove(other) }
    // Passed, and alone under its name: it is there already.
    guard others.count(where: { $0 == name }) > 1 else { return }
    // systemd takes no descriptor twice, so here the old name goes first.
    ServiceNotification.remove(name)
    try ServiceNotification.store(sessions.descriptor, as: name)
  }

  /// Zeros where the kernel does not say.
  static func bootID() -> [UInt8] {
    var id = sd_id128_t()
    guard unsafe sd_id128_get_boot(&id) >= 0 else { return [UInt8](repeating: 0, count: 16) }
    return unsafe withUnsafeBytes(of: &id) { unsafe Array($0) }
  }

  // MARK: Changes

  /// Stores a session as it is now, in place of what was stored of it.
  func put(_ record: SessionRecord, for key: SessionKey) {
    do throws(SystemError) {
      try sessions.put(record.encoded, for: key)
      failing.remove(key)
    } catch {
      guard failing.insert(key).inserted else { return }
      log.warning(
        "a session will not survive a restart: \(error)",
        metadata: ["profile": "\(key.profile)", "uid": "\(key.uid)"])
    }
  }

  /// Wipes what was stored of a session.
  func remove(_ key: SessionKey) {
    sessions.remove(key)
    failing.remove(key)
  }

  /// The file that holds them.
  var descriptor: Int32 { sessions.descriptor }

  /// Sessions in it.
  var count: Int { sessions.places.count }
}

/// Sessions while no daemon runs: `exit_on_idle` ends it, and systemd before 254 then forgets what it
/// has in store (it keeps that over a restart alone).
///
/// A copy of the store in the runtime directory, which is in memory as the store is: nobody but this
/// user, and root, can read it, and it is gone when the next daemon has taken it up.
struct SessionsFile: ~Copyable {
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

/// Sessions while no daemon runs.
extension Daemon {
  func writeSessionsFile() {
    guard let store = storage?.store else { return }
    do throws(SystemError) {
      guard let folder = options.runtimeDirectory else {
        throw SystemError("find the unit's RuntimeDirectory=", number: 2)
      }
      try SessionsFile(in: folder).put(store)
    } catch {
      log.warning("the sessions may end with this daemon: \(error)")
    }
  }

  /// The sessions that the last daemon left in its file, if it did.
  static func readSessionsFile(
    in folder: String?, log: Logger
  ) -> [PassedDescriptors.Named] {
    guard let folder else { return [] }
    do throws(SystemError) {
      guard let store = try SessionsFile(in: folder).take() else { return [] }
      return [PassedDescriptors.Named(descriptor: store, name: PassedDescriptors.fileName)]
    } catch {
      log.log(.sessionsDropped, .warning, "parked sessions cannot be used: \(error)")
      return []
    }
  }
}
