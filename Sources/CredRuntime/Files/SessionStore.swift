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
  /// Sessions that could not be stored; each is logged once.
  private var failing: Set<SessionKey> = []

  private init(_ sessions: SessionLog, _ log: Logger) {
    self.sessions = sessions
    self.log = log
  }

  /// The passed store, or else a new one, and the sessions in it. Nil without a service manager.
  ///
  /// Drops unusable stores with a warning: the daemon then fetches credentials anew.
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

  /// Stores the new file under an unused name, then removes the others: one is always stored.
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
    // The passed store is the only one of its name: systemd has it already.
    guard others.count(where: { $0 == name }) > 1 else { return }
    // systemd takes no descriptor twice, so here the old name goes first.
    ServiceNotification.remove(name)
    try ServiceNotification.store(sessions.descriptor, as: name)
  }

  /// The boot's id; zeros if the kernel does not report it.
  static func bootID() -> [UInt8] {
    var id = sd_id128_t()
    guard unsafe sd_id128_get_boot(&id) >= 0 else { return [UInt8](repeating: 0, count: 16) }
    return unsafe withUnsafeBytes(of: &id) { unsafe Array($0) }
  }

  // MARK: Changes

  /// Stores a session's present state in place of the former one.
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

  /// Wipes the stored state of a session.
  func remove(_ key: SessionKey) {
    sessions.remove(key)
    failing.remove(key)
  }

  /// The file that holds the sessions.
  var descriptor: Int32 { sessions.descriptor }

  /// The number of stored sessions.
  var count: Int { sessions.places.count }
}

/// The sessions while no daemon runs. systemd before 254 drops its store when the service ends.
///
/// A copy of the store in the runtime directory, which is in memory too. Only this user and root
/// can read it. The next daemon reads the file, wipes it and removes it.
struct SessionsFile: ~Copyable {
  private static let name = "sessions"

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

  /// Writes a copy of the store; replaces an older file.
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

  /// The sessions of the file, copied to a new store; the file is wiped and removed. Nil if there
  /// is no file.
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

  /// The sessions in the last daemon's file, if there is one.
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
