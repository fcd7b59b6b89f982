import CredCore
import Logging

/// The owners of sessions. A uid may be given to another person, who must get nothing of the former
/// one.
extension Admittance {
  /// Gives a session to the present owner of its uid. If it belongs to a former owner, everything
  /// of that person is dropped.
  ///
  /// - Returns: whether the session is the owner's.
  func claim(_ session: Session, for owner: SessionOwner, _ now: Instant) -> Bool {
    switch session.owner.successor(owner) {
    case .samePerson: return true
    case .firstSeen:
      sessions.setOwner(owner, of: session)
      return true
    case .anotherPerson:
      passOn(session.key.uid, to: owner, now)
      return false
    case .nameless: return false
    }
  }

  /// A caller's own sessions, in the profiles behind the door that it may use now, by the profiles'
  /// names. Sessions of a former owner of the caller's uid are dropped.
  func claimSessions(of caller: Caller, behind door: Door, _ now: Instant) -> [Session] {
    let owner = SessionOwner(name: caller.userName)
    return sessions.sessions(of: caller.uid).filter {
      $0.profile.access.allows(caller) && claim($0, for: owner, now) && door.has($0.key.profile)
    }
  }

  /// The names of the profiles behind the door that a caller may use now, sorted.
  func profiles(of caller: Caller, behind door: Door) -> [String] {
    (door.cap?.profileNames ?? configuration.profileNames).filter {
      configuration[$0]?.access.allows(caller) ?? false
    }
  }

  /// Whether a client may use a profile, as far as that is known at once.
  func mayUse(_ profile: Profile, _ client: Client, _ now: Instant) -> Bool {
    switch caller(client, needs(of: profile, forOthers: false), now) {
    case .known(let caller): profile.access.allows(caller)
    case .pending, .unknown: false
    }
  }

  /// The profiles that are derived from another one and are open to a client, sorted.
  func derivedProfiles(
    of source: Profile, openTo client: Client, behind door: Door, _ now: Instant
  ) -> [String] {
    guard case .known(let caller) = caller(client, configuration.current.needs.own, now) else {
      return []
    }
    return profiles(of: caller, behind: door).filter {
      configuration[$0]?.follows(source.settings.name) ?? false
    }
  }

  /// Drops everything of the former owner of a uid, in memory and on disk, in all profiles.
  private func passOn(_ uid: UInt32, to owner: SessionOwner, _ now: Instant) {
    let keys = configuration.profileNames.map { SessionKey(uid: uid, profile: $0) }
    let former = keys.compactMap { sessions[$0] }
      .filter { $0.owner.successor(owner) == .anotherPerson }
    for session in former {
      journal.uidPassedOn(session, to: owner)
      sessions.handle(.userChanged, session, now)
    }
    // With a session end the sessions that are derived from it. Their clients have their answers by
    // now.
    for session in former where !session.hasEnded { sessions.remove(session) }
    for key in keys { records.dropFormer(key, than: owner) }
    devices.keep(of: uid, only: owner)
  }
}
