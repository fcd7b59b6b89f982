import CredCore
import Logging

/// Whose sessions are whose. A uid may be given to another person, who must get nothing of the
/// former one.
extension SessionService {
  /// Whether a session belongs to its uid's present owner. If it belongs to a former owner of the
  /// uid, everything of that person is dropped.
  func isOwned(_ session: Session, by owner: SessionOwner, _ now: Instant) -> Bool {
    switch session.owner.successor(owner) {
    case .samePerson: return true
    case .firstSeen:
      session.owner = owner
      shares.remove(session)
      shares.insert(session, of: share(of: session))
      noteEmpty(session)
      save(session)
      return true
    case .anotherPerson:
      uidPassedOn(session.key.uid, to: owner, now)
      return false
    case .nameless: return false
    }
  }

  /// A caller's own sessions, in the profiles that it may use now, by the profiles' names.
  func sessions(of caller: Caller, _ now: Instant) -> [Session] {
    let owner = SessionOwner(name: caller.userName)
    return sessionOrder.sessions(of: caller.uid).filter {
      $0.profile.access.allows(caller) && isOwned($0, by: owner, now)
    }
  }

  /// The names of the profiles that a caller may use now, sorted.
  func profiles(of caller: Caller) -> [String] {
    configuration.profileNames.filter {
      configuration.profiles[$0]?.access.allows(caller) ?? false
    }
  }

  /// Drops everything of the former owner of a uid, in memory and on disk, in all profiles.
  private func uidPassedOn(_ uid: UInt32, to owner: SessionOwner, _ now: Instant) {
    for name in configuration.profileNames {
      let key = SessionKey(uid: uid, profile: name)
      if let session = sessions[key], session.owner.successor(owner) == .anotherPerson {
        endOfFormerOwner(session, owner, now)
      }
      dropIdentity(of: key, unlessOf: owner)
      if forgetting.signedOut[key]?.owner.successor(owner) == .anotherPerson {
        forgetting.signedOut[key] = nil
        host.store?.remove(key)
      }
    }
    keepDevices(of: uid, only: owner)
  }

  /// The next request of the uid is decided about anew.
  func forgetCachedAnswers(of uid: UInt32) {
    users[uid]?.cachedAnswer = nil
    for client in clients.values where client.facts.peer.uid == uid { client.forgetAnswers() }
  }

  private func endOfFormerOwner(_ session: Session, _ owner: SessionOwner, _ now: Instant) {
    var metadata: Logger.Metadata = [
      "profile": "\(session.key.profile)", "uid": "\(session.key.uid)",
      "user": "\(owner.name ?? "")",
    ]
    if let name = session.userName { metadata["former_user"] = "\(name)" }
    log.log(
      .uidPassedOn, .notice,
      "a uid belongs to another user now: everything of the former one was dropped", metadata)
    handle(.userChanged, session, now)
    remove(session)
  }

  /// Removes a stored IdentityId of a former owner of the uid.
  private func dropIdentity(of key: SessionKey, unlessOf owner: SessionOwner) {
    guard host.store?.identity(for: key)?.owner.successor(owner) == .anotherPerson else { return }
    host.store?.setIdentity(nil, for: key)
  }
}
