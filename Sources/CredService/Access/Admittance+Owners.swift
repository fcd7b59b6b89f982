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

  /// Drops everything of the former owner of a uid, in memory and on disk, in all profiles.
  private func passOn(_ uid: UInt32, to owner: SessionOwner, _ now: Instant) {
    for name in configuration.profileNames {
      let key = SessionKey(uid: uid, profile: name)
      if let session = sessions[key], session.owner.successor(owner) == .anotherPerson {
        endOfFormerOwner(session, owner, now)
      }
      records.dropFormer(key, than: owner)
    }
    devices.keep(of: uid, only: owner)
  }

  private func endOfFormerOwner(_ session: Session, _ owner: SessionOwner, _ now: Instant) {
    journal.uidPassedOn(session, to: owner)
    sessions.handle(.userChanged, session, now)
    sessions.remove(session)
  }
}
