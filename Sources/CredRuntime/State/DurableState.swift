internal import CredCore

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
