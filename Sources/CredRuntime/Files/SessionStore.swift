internal import CLinux
internal import CSystemd
internal import CredCore
internal import CredService
internal import Glibc
internal import Logging

/// The sessions that the service manager keeps for the service's next process.
final class SessionStore {
  private let log: Logger
  private let sessions: SessionLog
  /// Sessions that could not be stored; each is logged once.
  private var failing: Set<SessionKey> = []

  private init(_ sessions: SessionLog, _ log: Logger) {
    self.sessions = sessions
    self.log = log
  }

  /// The passed sessions, and the store from now on.
  struct Opened {
    /// Nil without a service manager, or if the service manager did not accept the store.
    var store: SessionStore?
    var records: [SessionKey: SessionRecord] = [:]
    var devices: [UInt32: RememberedDevices] = [:]
  }

  /// Opens the passed store, or else a new one, with the sessions in it.
  ///
  /// Drops unusable stores with a warning: the daemon then fetches credentials anew.
  static func open(
    _ passed: [PassedDescriptors.Named], log: Logger,
    isWanted: Bool = ServiceNotification.isHeard
  ) -> Opened {
    guard isWanted else { return Opened() }
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
          [
            "records": "\(best.loaded.damaged)",
            "reason": "\(best.loaded.reason?.description ?? "their bytes are not whole")",
          ])
      }
      return Opened(
        store: SessionStore(sessions, log), records: best?.loaded.records ?? [:],
        devices: best?.loaded.devices ?? [:])
    } catch {
      log.warning(
        """
        sessions will not survive a restart, and users would sign in again: \(error); check the \
        unit's FileDescriptorStoreMax=
        """)
      return Opened(
        records: best?.loaded.records ?? [:], devices: best?.loaded.devices ?? [:])
    }
  }

  private static func read(
    _ passed: PassedDescriptors.Named, _ boot: [UInt8]?, _ log: Logger
  ) -> (SessionLog, SessionLog.Loaded)? {
    let reason: String
    do {
      let head = try SessionLog.read(
        Int64(StoreHeader.byteCount), at: 0, from: passed.descriptor)
      let header = try StoreHeader(reading: head, boot: boot)
      // A former daemon was told no boot id.
      if header.encoded != head {
        try SessionLog.write(header.encoded, at: 0, to: passed.descriptor)
      }
      let sessions = SessionLog(descriptor: passed.descriptor, header: header)
      return (sessions, try sessions.load())
    } catch {
      reason = "\(error)"
    }
    log.log(
      .sessionsDropped, .warning,
      """
      stored sessions cannot be used and are dropped: \(reason); users who signed in sign in again
      """, ["name": "\(passed.name)"])
    return nil
  }

  /// Stores the new file under an unused name, then removes the others, so that one is always
  /// stored.
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
    // If the passed store is the only one of its name, systemd has it already.
    guard others.count(where: { $0 == name }) > 1 else { return }
    // systemd does not accept a descriptor twice, so here the old name is removed first.
    ServiceNotification.remove(name)
    try ServiceNotification.store(sessions.descriptor, as: name)
  }

  /// The boot's id as the kernel reports it, else as the unit does: its ProcSubset=pid hides the
  /// kernel's. Nil if neither does.
  static func bootID() -> [UInt8]? {
    var id = sd_id128_t()
    if unsafe sd_id128_get_boot(&id) < 0 {
      guard let told = unsafe getenv("CREDD_BOOT_ID"), unsafe sd_id128_from_string(told, &id) >= 0
      else { return nil }
    }
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
        "a session will not survive a restart, and its user would sign in again: \(error)",
        metadata: ["profile": "\(key.profile)", "uid": "\(key.uid)"])
    }
  }

  /// Stores a uid's remembered devices in place of the former ones.
  func put(_ devices: RememberedDevices, of uid: UInt32) {
    let key = SessionLog.devices(of: uid)
    guard !devices.isEmpty else { return remove(key) }
    do throws(SystemError) {
      try sessions.put(devices.encoded(of: uid), for: key)
      failing.remove(key)
    } catch {
      guard failing.insert(key).inserted else { return }
      log.warning(
        "remembered devices will not survive a restart: \(error)", metadata: ["uid": "\(uid)"])
    }
  }

  /// Wipes the stored state of a session.
  func remove(_ key: SessionKey) {
    sessions.remove(key)
    failing.remove(key)
  }

  /// The file that holds the sessions.
  var descriptor: Int32 { sessions.descriptor }

  /// Whether no session is in this process's memory alone.
  var holdsAll: Bool { failing.isEmpty }

  /// The number of stored sessions.
  var count: Int { sessions.extents.count }
}
