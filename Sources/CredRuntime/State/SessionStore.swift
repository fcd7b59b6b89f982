internal import CLinux
internal import CSystemd
internal import CredCore
internal import Logging

/// The sessions that the service manager keeps for the next process of this service.
final class SessionStore {
  private let log: Logger
  private let sessions: SessionLog
  /// Those that could not be stored, which is said once of each.
  private var failing: Set<Session.Key> = []

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
  ) -> (store: SessionStore, records: [Session.Key: SessionRecord])? {
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
    let others = others.filter { $0 != PassedDescriptors.parkedName }
    guard let name, name != PassedDescriptors.parkedName else {
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
  func put(_ record: SessionRecord, for key: Session.Key) {
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
  func remove(_ key: Session.Key) {
    sessions.remove(key)
    failing.remove(key)
  }

  /// The file that holds them.
  var descriptor: Int32 { sessions.descriptor }

  /// Sessions in it.
  var count: Int { sessions.places.count }
}
