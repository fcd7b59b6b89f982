import CredCore
import Logging

/// Another configuration while the daemon runs.
extension SessionService {
  /// The changes of profiles by a reload.
  package struct ReloadOutcome {
    package var added = 0
    package var changed = 0
    package var removed = 0
  }

  /// Applies a configuration. Sessions of unchanged profiles are not affected.
  @discardableResult
  package func apply(_ next: ResolvedConfiguration) -> ReloadOutcome {
    configured = host.clock.wallTime
    reloadProblem = nil
    // Whoever renewed a host's token wrongly is told again.
    hostRefusals = []
    let outcome = change(to: next.keepingGroups(of: configuration))
    log.log(
      .configurationLoaded, .notice, "configuration loaded",
      [
        "profiles": "\(next.profiles.count)", "added": "\(outcome.added)",
        "changed": "\(outcome.changed)", "removed": "\(outcome.removed)",
      ])
    return outcome
  }

  /// Keeps the configuration that is in force: a newer one has errors.
  package func refuseConfiguration(_ problems: [String]) {
    for problem in problems {
      log.log(.configurationRefused, .error, "the new configuration is not used: \(problem)")
    }
    let more = problems.count > 1 ? " and \(problems.count - 1) more" : ""
    reloadProblem = problems.first.map { $0 + more }
  }

  /// The user database answered for groups for which it did not when the configuration was read.
  func groupsFound(_ answers: [String: GroupAnswer]) {
    for (name, answer) in answers.sorted(by: { $0.key < $1.key }) {
      GroupDirectory.report(answer, to: name, log)
    }
    _ = change(to: configuration.with(answers))
  }

  private func change(to next: ResolvedConfiguration) -> ReloadOutcome {
    let previous = configuration.profiles
    if next.digestPaths != configuration.digestPaths {
      for client in clients.values { client.executable = nil }
    }
    replaceConfiguration(next)
    let changed = next.profiles.filter { name, profile in
      previous[name].map { $0 != profile } ?? false
    }
    let removed = Set(previous.keys).subtracting(next.profiles.keys)
    let now = host.clock.now
    dismissCallers(of: removed)
    endSignIns(changedFrom: previous)
    let affected = sessions.values.filter {
      changed[$0.key.profile] != nil || removed.contains($0.key.profile)
    }
    var continuing: [(session: Session, change: ProfileChange)] = []
    for session in affected.sorted(by: { $0.key < $1.key }) {
      if let profile = changed[session.key.profile] {
        continuing.append((session, replaceProfile(of: session, by: profile)))
      } else {
        revokeTokens(of: session)
        end(session)
        if removedSessions.count >= Limits.Session.most { removedSessions = [:] }
        removedSessions[session.key] = session.owner
      }
    }
    forgettingChanged(removed: removed)
    // Before the sessions change: a user who lost a right hears nothing more.
    let withdrawn = changed.filter { previous[$0.key]?.access != $0.value.access }.keys
    decideAccessAnew(Set(changed.keys).union(removed), withdrawn: removed.union(withdrawn), now)
    profilesBefore = previous
    for (session, change) in continuing where sessions[session.key] === session {
      handle(.profileChanged(session.profile.plan, change), session, now)
    }
    profilesBefore = [:]
    makeNamedSessionsAnew()
    return ReloadOutcome(
      added: next.profiles.keys.count { previous[$0] == nil }, changed: changed.count,
      removed: removed.count)
  }

  private func replaceProfile(of session: Session, by profile: Profile) -> ProfileChange {
    let change = session.profile.change(to: profile)
    session.profile = profile
    // The stored state belongs to the old profile.
    session.saved = nil
    return change
  }

  /// Once for all sessions: there may be 100,000, and 4096 clients.
  private func dismissCallers(of profiles: Set<String>) {
    guard !profiles.isEmpty else { return }
    for client in clientsInOrder {
      guard let session = client.waiting?.session, profiles.contains(session.key.profile),
        let waiting = endWait(client)
      else { continue }
      if let attempt = passwordAttempt(waiting.request, in: session) {
        passwordEnded(attempt, .signInFailed)
      }
      refuse(Self.removed(session.key.profile), id: waiting.request.id, client)
    }
  }

  /// Ends a session whose profile is gone, or that nobody uses. Its IdentityId stays known: the
  /// profile or the user may come back.
  func end(_ session: Session) {
    if session.machine.state.reported != .signedOut {
      announce(.state(.signedOut(byUser: false)), session)
    }
    remove(session)
  }

  /// Ends waits and watches that the new rules do not allow.
  ///
  /// - Parameter withdrawn: profiles that may be closed to users now. Those that watch all of their
  ///   sessions hear of them again once access was decided.
  private func decideAccessAnew(
    _ profiles: Set<String>, withdrawn: Set<String>, _ now: Instant
  ) {
    for user in users.values { user.cachedAnswer = nil }
    for client in clientsInOrder {
      client.forgetAnswers()
      if let name = client.waiting?.session?.key.profile, profiles.contains(name) {
        client.waiting?.allowedUntil = now
        if withdrawn.contains(name) { client.waiting?.isUndecided = true }
      }
      if let name = client.waiting?.signedInTo?.key.profile, withdrawn.contains(name) {
        client.waiting?.signedInTo = nil
      }
      if let watch = client.watch, case .all = watch.scope {
        client.watch?.visible.subtract(withdrawn)
        client.watch?.allowedUntil = now
      }
      if let watch = client.watch, case .profile(let name) = watch.scope, profiles.contains(name) {
        client.watch?.allowedUntil = now
        if withdrawn.contains(name) { client.watch?.isUndecided = true }
        if configuration.profiles[name] == nil { endWatch(client, Self.removed(name), watch.id) }
      }
      recheckAccess(of: client, now)
    }
  }

  static func removed(_ profile: String) -> ProtocolError {
    ProtocolError(.unknownProfile, "profile '\(profile)' was removed from the configuration")
  }
}
