internal import CredCore
internal import Logging

/// Another configuration while the daemon runs.
extension SessionService {
  /// What a reload did to profiles.
  struct ReloadOutcome {
    var added = 0
    var changed = 0
    var removed = 0
  }

  /// Takes a configuration into use. Sessions of profiles that are as before notice nothing.
  func adopt(_ next: ActiveConfiguration) -> ReloadOutcome {
    let previous = settings.profiles
    settings = next
    let changed = next.profiles.filter { name, profile in
      previous[name].map { $0 != profile } ?? false
    }
    let removed = Set(previous.keys).subtracting(next.profiles.keys)
    let now = loop.now
    dismissCallers(of: removed)
    for session in Array(sessions.values) {
      if let profile = changed[session.key.profile] {
        change(session, to: profile, now)
      } else if removed.contains(session.key.profile) {
        end(session)
      }
    }
    decideAccessAnew(Set(changed.keys).union(removed), now)
    server.finishTurn()
    return ReloadOutcome(
      added: next.profiles.keys.count { previous[$0] == nil }, changed: changed.count,
      removed: removed.count)
  }

  private func change(_ session: Session, to profile: Profile, _ now: Instant) {
    let change = session.profile.change(to: profile)
    session.profile = profile
    // What is stored is of the old one.
    session.kept = nil
    handle(.profileChanged(profile.plan, change), session, now)
  }

  /// Once for all sessions: there may be 100,000, and 4096 connections.
  private func dismissCallers(of profiles: Set<String>) {
    guard !profiles.isEmpty else { return }
    for connection in server.connections {
      guard let parked = connection.parked, let key = parked.session?.key,
        profiles.contains(key.profile)
      else { continue }
      connection.parked = nil
      if parked.request.isPasswordSignIn { passwordEnded(key.uid, .signInFailed) }
      refuse(Self.removed(key.profile), id: parked.request.id, connection)
    }
  }

  /// Ends a session whose profile is gone. Its IdentityId stays known: the profile may come back.
  private func end(_ session: Session) {
    if let ticket = session.ticket { changeCall(.cancelled(ticket.id), ticket.id) }
    if session.machine.state.reported != .signedOut {
      announce(.state(.signedOut(byUser: false)), session)
    }
    remove(session)
  }

  /// What connections were granted under the old rules.
  private func decideAccessAnew(_ profiles: Set<String>, _ now: Instant) {
    for connection in server.connections {
      connection.quickAnswer = nil
      connection.user.quickAnswer = nil
      if let name = connection.parked?.session?.key.profile, profiles.contains(name) {
        connection.parked?.grantedUntil = now
      }
      if let watch = connection.watch, case .profile(let name) = watch.scope,
        profiles.contains(name)
      {
        connection.watch?.grantedUntil = now
        if settings.profiles[name] == nil { endWatch(connection, Self.removed(name), watch.id) }
      }
      review(connection, now)
    }
  }

  private static func removed(_ profile: String) -> ProtocolError {
    ProtocolError(.unknownProfile, "profile '\(profile)' was removed from the configuration")
  }
}
