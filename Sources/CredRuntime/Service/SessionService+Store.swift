internal import CredCore
internal import Logging

/// What outlives this process.
extension SessionService {
  /// Takes up what a former process left.
  ///
  /// - Parameters:
  ///   - stores: passed by the service manager.
  ///   - folder: the state directory; nil where there is none.
  func restore(_ stores: [PassedDescriptors.Named], folder: String?) throws(SystemError) {
    if let folder {
      state.identities = try IdentityFile(in: folder, loop: loop, log: log)
    }
    guard let (store, records) = SessionStore.open(stores, log: log) else { return }
    state.store = store
    var restored = 0
    for (key, record) in records {
      if restore(key, record) {
        restored += 1
      } else {
        store.remove(key)
      }
    }
    guard !records.isEmpty else { return }
    log.log(
      .sessionsRestored, .info, "sessions restored",
      ["sessions": "\(restored)", "dropped": "\(records.count - restored)"])
  }

  /// False where nothing of it holds any more.
  private func restore(_ key: Session.Key, _ record: SessionRecord) -> Bool {
    let now = loop.now
    guard let profile = settings.profiles[key.profile],
      sessions.count < settings.daemon.maxSessions,
      let snapshot = record.snapshot(for: profile, now: now)
    else { return false }
    let machine = SessionMachine(
      plan: profile.plan, snapshot: snapshot, now: now,
      jitter: .random(in: 0..<1, using: &random))
    let session = Session(
      key: key, profile: profile, userName: record.user, machine: machine)
    session.kept = Session.Kept(snapshot: record.snapshot, userName: record.user)
    render(session)
    adopt(session)
    // Killed before it was written to the file.
    state.identities?.note(
      KnownIdentity(
        uid: key.uid, user: record.user, profile: profile, snapshot: snapshot), for: key)
    // What no longer holds is not stored any longer either.
    if snapshot != record.snapshot { keep(session) }
    return true
  }

  /// A machine for a session that begins, with the IdentityId it had before a reboot.
  func newMachine(_ key: Session.Key, _ profile: Profile, _ user: String?, _ now: Instant)
    -> SessionMachine
  {
    guard let known = state.identities?.identity(key), known.belongs(to: user, in: profile) else {
      return SessionMachine(plan: profile.plan, now: now)
    }
    return SessionMachine(
      plan: profile.plan, identityID: known.identityID, isGuests: known.isGuests, now: now)
  }

  /// Keeps what an event changed for the next process.
  func keep(_ session: Session) {
    guard !state.isMissing else { return }
    let snapshot = session.machine.snapshot
    if let kept = session.kept, kept.userName == session.userName,
      kept.snapshot.isDurablyEqual(to: snapshot)
    {
      return
    }
    session.kept = Session.Kept(snapshot: snapshot, userName: session.userName)
    state.keep(session, snapshot)
  }
}

/// Where sessions are found again: after a restart in the descriptor store, after a reboot, as far
/// as their IdentityIds, in the state directory. Either may be missing.
struct DurableState {
  var store: SessionStore?
  var identities: IdentityFile?

  var isMissing: Bool { store == nil && identities == nil }

  /// Keeps a session as it is now.
  func keep(_ session: Session, _ snapshot: SessionSnapshot) {
    identities?.note(
      KnownIdentity(
        uid: session.key.uid, user: session.userName, profile: session.profile,
        snapshot: snapshot), for: session.key)
    guard let store else { return }
    guard snapshot.isWorthKeeping else { return store.remove(session.key) }
    store.put(
      SessionRecord(
        uid: session.key.uid, user: session.userName, profile: session.profile,
        snapshot: snapshot), for: session.key)
  }

  /// A session is gone, and what was stored of it too. Its IdentityId stays known: a profile may
  /// come back.
  func remove(_ key: Session.Key) {
    store?.remove(key)
  }
}
