import CredCore
import Logging

/// State that is kept for the next process.
extension SessionService {
  /// Restores the sessions of the former process.
  func restore() {
    guard let records = host.store?.load(), !records.isEmpty else { return }
    var restored = 0
    for (key, record) in records.sorted(by: { $0.key < $1.key }) {
      if isForgotten(key, record, now: host.clock.now) {
        if forgetting.signedOut[key] == nil { host.store?.remove(key) }
      } else if restore(key, record) {
        restored += 1
      } else {
        host.store?.remove(key)
      }
    }
    log.log(
      .sessionsRestored, .info, "sessions restored",
      ["sessions": "\(restored)", "dropped": "\(records.count - restored)"])
  }

  /// False if nothing of it is valid any more.
  func restore(_ key: SessionKey, _ record: SessionRecord) -> Bool {
    let now = host.clock.now
    guard let profile = configuration.profiles[key.profile] else {
      revokeDropped(of: key, record, keeping: nil)
      return false
    }
    guard sessions.count < configuration.daemon.maxSessions,
      let snapshot = usable(key, record, in: profile, now)
    else { return false }
    let machine = SessionMachine(
      plan: profile.plan, snapshot: snapshot, now: now,
      jitter: Double.random(in: 0..<1, using: &host.random))
    let session = Session(key: key, profile: profile, owner: record.owner, machine: machine)
    session.saved = Session.Saved(snapshot: record.snapshot, owner: record.owner)
    credentialsChanged(session)
    insert(session)
    // The former process may have been killed before it wrote the file.
    host.store?.setIdentity(
      KnownIdentity(uid: key.uid, owner: record.owner, profile: profile, snapshot: snapshot),
      for: key)
    // Removes stored state that is no longer valid.
    if snapshot != record.snapshot { save(session) }
    return true
  }

  /// Nil if the profile has changed, or the record cannot be of it. The latter costs one session, and
  /// is logged.
  private func usable(
    _ key: SessionKey, _ record: SessionRecord, in profile: Profile, _ now: Instant
  ) -> SessionSnapshot? {
    do throws(SnapshotError) {
      let snapshot = try record.snapshot(for: profile, now: now)
      revokeDropped(of: key, record, keeping: snapshot)
      return snapshot
    } catch {
      log.log(
        .sessionsDropped, .warning, "a stored session cannot be used and begins anew: \(error)",
        ["profile": "\(profile.settings.name)", "uid": "\(record.uid)"])
      return nil
    }
  }

  /// A machine for a session that begins, with the IdentityId that it had before a reboot.
  func newMachine(
    _ known: KnownIdentity?, _ profile: Profile, _ owner: SessionOwner, _ now: Instant
  ) -> SessionMachine {
    guard let known, known.belongs(to: owner, in: profile) else {
      return SessionMachine(plan: profile.plan, now: now)
    }
    return SessionMachine(
      plan: profile.plan, identityID: known.identityID, isGuests: known.isGuests, now: now)
  }

  /// Stores the changes of an event, for the next process.
  func save(_ session: Session) {
    guard let store = host.store else { return }
    let snapshot = session.machine.snapshot
    if let saved = session.saved, saved.owner == session.owner,
      saved.snapshot.isDurablyEqual(to: snapshot)
    {
      return
    }
    session.saved = Session.Saved(snapshot: snapshot, owner: session.owner)
    let (uid, owner, profile) = (session.key.uid, session.owner, session.profile)
    store.setIdentity(
      KnownIdentity(uid: uid, owner: owner, profile: profile, snapshot: snapshot), for: session.key)
    guard snapshot.isWorthKeeping else { return store.remove(session.key) }
    store.save(record(of: session, snapshot), for: session.key)
  }

  func record(of session: Session, _ snapshot: SessionSnapshot) -> SessionRecord {
    SessionRecord(
      uid: session.key.uid, owner: session.owner, profile: session.profile, snapshot: snapshot)
  }
}
