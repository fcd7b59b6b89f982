import CredCore
import Logging

/// What the service knows of sessions that nobody uses.
///
/// A timer goes through all sessions, a few at a time. A cached answer records its use only once for
/// each refresh, because it must cost nothing, so each look makes the next use be recorded. Hence a
/// session is forgotten when two looks and `forget_after` have passed since the last recorded use: not
/// before `forget_after` without a use, and at most a quarter later.
struct Forgetting {
  /// How often a session is looked at within the shortest `forget_after`.
  static let looks = 8
  /// Sessions looked at in a turn.
  static let batch = 64
  /// The longest time for which credentials are used without a record: a restart cannot tell.
  static let longestUnrecorded = Duration.seconds(Limits.Line.longestLifetimeSeconds)

  /// The last session that was looked at; nil where a round begins.
  var last: SessionKey?
  var isArmed = false
  /// Sessions that were forgotten while their user was signed out by a logout. It still holds: without
  /// this mark the next request would sign the user in where a backend trusts the host.
  var signedOut: [SessionKey: SessionRecord] = [:]
}

extension SessionService {
  /// The time of one round through all sessions.
  private var roundTime: Duration {
    configuration.shortestForgetAfter * (1 / Double(Forgetting.looks))
  }

  /// Plans the next look, unless one is planned.
  func armForgetting() {
    guard !forgetting.isArmed, sessionOrder.count > 0 else { return }
    forgetting.isArmed = true
    let share = Double(Forgetting.batch) / Double(max(sessionOrder.count, Forgetting.batch))
    forgetTimer?.arm(at: host.clock.now + roundTime * share)
  }

  /// Looks at the next few sessions, and forgets those that nobody uses.
  func forgetUnused() {
    let now = host.clock.now
    var looked: [Session] = []
    sessionOrder.walk(after: forgetting.last) { session in
      looked.append(session)
      return looked.count < Forgetting.batch
    }
    forgetting.last = looked.count < Forgetting.batch ? nil : looked.last?.key
    for session in looked { look(at: session, now) }
    forgetting.isArmed = false
    armForgetting()
  }

  private func look(at session: Session, _ now: Instant) {
    let unused = now - session.machine.lastAsked
    guard session.wasLookedAt, !session.machine.isBusy, signIns[session.key] == nil,
      unused >= session.profile.settings.forgetAfter + roundTime
    else {
      session.wasLookedAt = true
      session.usedCredentials = 0
      return
    }
    forget(session, now)
  }

  /// Its end is a logout: tokens, logins and credentials are gone, and a refresh token is revoked. The
  /// IdentityId stays known.
  private func forget(_ session: Session, _ now: Instant) {
    let key = session.key
    var mark: SessionRecord?
    if session.machine.state == .signedOut(byUser: true) {
      guard forgetting.signedOut.count < Limits.Session.most else { return }
      mark = record(of: session, session.machine.snapshot)
    }
    log.info(
      "session forgotten: nobody used it",
      metadata: ["profile": "\(key.profile)", "uid": "\(key.uid)"])
    revokeTokens(of: session)
    end(session)
    guard let mark else { return }
    forgetting.signedOut[key] = mark
    host.store?.save(mark, for: key)
  }

  /// Whether a stored session was not used for so long that it would have been forgotten. Of a user
  /// who signed out the mark is kept.
  func isForgotten(_ key: SessionKey, _ record: SessionRecord, now: Instant) -> Bool {
    guard let settings = configuration.profiles[key.profile]?.settings,
      now - record.snapshot.lastUse >= settings.forgetAfter + Forgetting.longestUnrecorded
    else { return false }
    if record.snapshot.isSignedOutByUser { forgetting.signedOut[key] = record }
    revokeDropped(of: key, record, keeping: nil)
    return true
  }

  /// Makes a session again of a user who signed out, if it was forgotten.
  func recall(_ key: SessionKey) {
    guard sessions.count < configuration.daemon.maxSessions,
      let record = forgetting.signedOut.removeValue(forKey: key)
    else { return }
    if !restore(key, record) { host.store?.remove(key) }
  }

  /// After a reload: marks of removed profiles go, as their sessions do, and the time of a round may be
  /// another.
  func forgettingChanged(removed: Set<String>) {
    if !removed.isEmpty {
      for key in forgetting.signedOut.keys where removed.contains(key.profile) {
        forgetting.signedOut[key] = nil
        host.store?.remove(key)
      }
    }
    forgetting.isArmed = false
    armForgetting()
  }
}
