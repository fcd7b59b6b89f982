import CredCore
import Logging

/// The records of sessions for the next process, and the marks of users who signed out and were
/// forgotten.
final class Records {
  /// The longest time for which credentials may be used without a record. After a restart, credd
  /// does not know such a use.
  static let longestUnrecorded = Duration.seconds(Limits.Line.longestLifetimeSeconds)

  /// Sessions that were forgotten after their user had signed out. The logout must still hold:
  /// without this mark, the next request would sign the user in if the backend trusts the host.
  private(set) var signedOut: [SessionKey: SessionRecord] = [:]
  private var host: Host
  private let configuration: ConfigurationInForce
  private let sessions: SessionTable
  private let derived: DerivedSessions
  private let tokens: Tokens

  init(
    host: Host, configuration: ConfigurationInForce, sessions: SessionTable,
    derived: DerivedSessions, tokens: Tokens
  ) {
    self.host = host
    self.configuration = configuration
    self.sessions = sessions
    self.derived = derived
    self.tokens = tokens
  }

  // MARK: The next process

  /// Restores the sessions of the former process.
  func restore() {
    guard let records = host.store?.load(), !records.isEmpty else { return }
    var restored = 0
    for (key, record) in records.sorted(by: { $0.key < $1.key }) {
      if isUnused(record, in: key.profile) {
        tokens.revokeDropped(of: key, record, keeping: nil)
        // The record of a user who signed out becomes a mark.
        if record.snapshot.isSignedOutByUser, configuration[key.profile]?.hasSignIn ?? true {
          signedOut[key] = record
        } else {
          host.store?.remove(key)
        }
      } else if restore(key, record) {
        restored += 1
      } else {
        host.store?.remove(key)
      }
    }
    restored -= tieDerived()
    host.log.log(
      .sessionsRestored, .info, "sessions restored",
      ["sessions": "\(restored)", "dropped": "\(records.count - restored)"])
  }

  /// Ties the restored sessions of derived profiles to their sources. What was derived goes where the
  /// source's session did not come back, or is another user's now.
  ///
  /// - Returns: how many went.
  private func tieDerived() -> Int {
    let restored = sessions.byKey.values.filter { !$0.profile.hasSignIn }
      .sorted {
        $0.profile.depth == $1.profile.depth ? $0.key < $1.key : $0.profile.depth < $1.profile.depth
      }
    for session in restored {
      let key = SessionKey(
        uid: session.key.uid, profile: session.profile.source?.settings.name ?? "")
      guard let source = sessions[key], source.owner == session.owner else {
        sessions.remove(session)
        continue
      }
      session.follow(source)
      derived.tell(session)
    }
    return restored.count { $0.hasEnded }
  }

  /// Whether a stored session has been unused for so long that it would have been forgotten.
  private func isUnused(_ record: SessionRecord, in profile: String) -> Bool {
    guard let settings = configuration[profile]?.settings else { return false }
    let unused = host.clock.now - record.snapshot.lastUse
    return unused >= settings.forgetAfter + Self.longestUnrecorded
  }

  /// Makes a session from its record. Returns false if nothing in the record is valid any more.
  private func restore(_ key: SessionKey, _ record: SessionRecord) -> Bool {
    let now = host.clock.now
    guard let profile = configuration[key.profile] else {
      tokens.revokeDropped(of: key, record, keeping: nil)
      return false
    }
    guard sessions.count < configuration.daemon.maxSessions else { return false }
    let kept: SessionSnapshot?
    do throws(SnapshotError) {
      kept = try record.snapshot(for: profile, now: now)
    } catch {
      logUnusable(record, in: profile, error)
      return false
    }
    tokens.revokeDropped(of: key, record, keeping: kept)
    guard let snapshot = kept else { return false }
    insert(key, record, snapshot, profile, now)
    return true
  }

  private func insert(
    _ key: SessionKey, _ record: SessionRecord, _ snapshot: SessionSnapshot, _ profile: Profile,
    _ now: Instant
  ) {
    let machine = SessionMachine(
      plan: profile.plan, snapshot: snapshot, now: now,
      jitter: Double.random(in: 0..<1, using: &host.random))
    let session = Session(key: key, profile: profile, owner: record.owner, machine: machine)
    session.saved = Session.Saved(snapshot: record.snapshot, owner: record.owner)
    sessions.credentialsChanged(session)
    sessions.insert(session)
    // The former process may have been killed before it wrote the file.
    if profile.hasSignIn {
      host.store?.setIdentity(
        KnownIdentity(uid: key.uid, owner: record.owner, profile: profile, snapshot: snapshot),
        for: key)
    }
    // Removes stored state that is no longer valid.
    if snapshot != record.snapshot { sessions.save(session) }
  }

  /// Logs that a record does not fit its profile: one session is lost.
  private func logUnusable(_ record: SessionRecord, in profile: Profile, _ error: SnapshotError) {
    host.log.log(
      .sessionsDropped, .warning, "a stored session cannot be used and begins anew: \(error)",
      ["profile": "\(profile.settings.name)", "uid": "\(record.uid)"])
  }

  /// A machine for a new session, with the IdentityId from before a reboot.
  func newMachine(
    _ known: KnownIdentity?, _ profile: Profile, _ owner: SessionOwner, _ now: Instant
  ) -> SessionMachine {
    guard let known, known.belongs(to: owner, in: profile) else {
      return SessionMachine(plan: profile.plan, now: now)
    }
    return SessionMachine(
      plan: profile.plan, identityID: known.identityID, isGuests: known.isGuests, now: now)
  }

  // MARK: Marks

  /// Keeps a mark of a session that will be forgotten, if its user has signed out.
  ///
  /// - Returns: false if there is no room for another mark: then the session stays.
  func keepMark(of session: Session) -> Bool {
    guard session.machine.state == .signedOut(byUser: true), !session.followsSource else {
      return true
    }
    guard signedOut.count < Limits.Session.most else { return false }
    signedOut[session.key] = SessionRecord(
      uid: session.key.uid, owner: session.owner, profile: session.profile,
      snapshot: session.machine.snapshot)
    return true
  }

  /// Call it when the session has left the table, which removes its record.
  func storeMark(of key: SessionKey) {
    if let mark = signedOut[key] { host.store?.save(mark, for: key) }
  }

  /// Makes a forgotten session again if its user had signed out.
  func recall(_ key: SessionKey) {
    guard sessions.count < configuration.daemon.maxSessions,
      let record = signedOut.removeValue(forKey: key)
    else { return }
    // The user signed out of the source.
    guard configuration[key.profile]?.hasSignIn ?? true else {
      host.store?.remove(key)
      return
    }
    if !restore(key, record) { host.store?.remove(key) }
  }

  /// Drops the marks of removed profiles, like their sessions.
  func dropMarks(of profiles: Set<String>) {
    guard !profiles.isEmpty else { return }
    for key in signedOut.keys where profiles.contains(key.profile) { dropMark(of: key) }
  }

  /// Drops the mark and the IdentityId of a former owner of the uid.
  func dropFormer(_ key: SessionKey, than owner: SessionOwner) {
    if host.store?.identity(for: key)?.owner.successor(owner) == .anotherPerson {
      host.store?.setIdentity(nil, for: key)
    }
    if signedOut[key]?.owner.successor(owner) == .anotherPerson { dropMark(of: key) }
  }

  private func dropMark(of key: SessionKey) {
    signedOut[key] = nil
    host.store?.remove(key)
  }
}
