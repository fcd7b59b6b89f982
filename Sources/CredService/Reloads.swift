import CredCore
import Logging

/// How a reload has changed profiles.
package struct ReloadOutcome {
  package var added = 0
  package var changed = 0
  package var removed = 0
}

/// Applies other configurations while the daemon runs.
final class Reloads {
  private var groups: GroupDirectory?
  private let host: Host
  private let configuration: ConfigurationInForce
  private let doors: Doors
  private let clients: Clients
  private let sessions: SessionTable
  private let admittance: Admittance
  private let grants: Grants
  private let derived: DerivedSessions
  private let tokens: Tokens
  private let records: Records
  private let forgetting: Forgetting
  private let kept: KeptSessions
  private let signIns: SignIns
  private let journal: Journal

  init(
    host: Host, configuration: ConfigurationInForce, doors: Doors, clients: Clients,
    sessions: SessionTable, admittance: Admittance, grants: Grants, derived: DerivedSessions,
    tokens: Tokens,
    records: Records,
    forgetting: Forgetting, kept: KeptSessions, signIns: SignIns, journal: Journal
  ) {
    self.host = host
    self.configuration = configuration
    self.doors = doors
    self.clients = clients
    self.sessions = sessions
    self.admittance = admittance
    self.grants = grants
    self.derived = derived
    self.tokens = tokens
    self.records = records
    self.forgetting = forgetting
    self.kept = kept
    self.signIns = signIns
    self.journal = journal
    groups = GroupDirectory(
      clock: host.clock, background: host.background, queries: host.queries
    ) { [unowned self] in groupsFound($0) }
    groups?.lookUpLater(configuration.current.unansweredGroups)
  }

  /// Applies a configuration. Sessions of unchanged profiles are not affected.
  func apply(_ next: ResolvedConfiguration) -> ReloadOutcome {
    configuration.loaded(at: host.clock.wallTime)
    journal.forgetWhatWasSaid()
    let outcome = change(to: next.keepingGroups(of: configuration.current))
    host.log.log(
      .configurationLoaded, .notice, "configuration loaded",
      [
        "profiles": "\(next.profiles.count)", "added": "\(outcome.added)",
        "changed": "\(outcome.changed)", "removed": "\(outcome.removed)",
      ])
    return outcome
  }

  /// Keeps the configuration that is in force: a newer one has errors.
  func refuse(_ problems: [String]) {
    for problem in problems {
      host.log.log(.configurationRefused, .error, "the new configuration is not used: \(problem)")
    }
    let more = problems.count > 1 ? " and \(problems.count - 1) more" : ""
    configuration.refused(problems.first.map { $0 + more })
  }

  /// Takes groups that the user database knows now, and did not know when the configuration was
  /// read.
  private func groupsFound(_ answers: [String: GroupAnswer]) {
    for (name, answer) in answers.sorted(by: { $0.key < $1.key }) {
      GroupDirectory.report(answer, to: name, host.log)
    }
    _ = change(to: configuration.current.with(answers))
  }

  private func change(to next: ResolvedConfiguration) -> ReloadOutcome {
    let previous = configuration.current.profiles
    if next.digestPaths != configuration.current.digestPaths { clients.forgetExecutables() }
    configuration.replace(by: next)
    let movedDoors = doors.configurationChanged(clients.inOrder)
    groups?.lookUpLater(next.unansweredGroups)
    let changed = next.profiles.filter { name, profile in
      previous[name].map { $0 != profile } ?? false
    }
    let removed = Set(previous.keys).subtracting(next.profiles.keys)
    let moved = Set(changed.filter { previous[$0.key]?.sources != $0.value.sources }.keys)
    let now = host.clock.now
    dismissCallers(of: removed) { Admittance.removed($0) }
    dismissCallers(of: moved) { _ in Self.movedMeanwhile }
    signIns.end(changedFrom: previous, to: next.profiles)
    let continuing = changeProfiles(changed, removed: removed, moved: moved)
    records.dropMarks(of: removed)
    forgetting.armAnew()
    // Decided before the sessions change, so that a user who lost a right is not told of the
    // change.
    let withdrawn = changed.filter { previous[$0.key]?.access != $0.value.access }.keys
    grants.decideAnew(
      Set(changed.keys).union(removed), withdrawn: removed.union(withdrawn), moved: movedDoors, now)
    // At the socket there is nothing any more, also over a connection that was open before.
    for client in movedDoors where client.isIdleAtClosedDoor { client.sink.finish() }
    // A source goes before what is derived from it.
    let inOrder = continuing.sorted { $0.0.profile.depth < $1.0.profile.depth }
    for (session, former) in inOrder where sessions.contains(session) {
      sessions.handle(
        .profileChanged(session.profile.plan, former.change(to: session.profile)), session, now,
        .reload(from: former))
      derived.tell(session)
    }
    kept.makeNamedAnew()
    return ReloadOutcome(
      added: next.profiles.keys.count { previous[$0] == nil }, changed: changed.count,
      removed: removed.count)
  }

  private static let movedMeanwhile = ProtocolError(
    .timeout, "the profile's source_profile changed in between; ask again", retryAfter: .seconds(1))

  /// Gives sessions their changed profiles. Ends sessions of removed profiles, and of profiles that
  /// now get their identity from elsewhere.
  ///
  /// - Returns: the sessions that go on, with their former profiles.
  private func changeProfiles(
    _ changed: [String: Profile], removed: Set<String>, moved: Set<String>
  ) -> [(Session, Profile)] {
    let affected = sessions.byKey.values.filter {
      changed[$0.key.profile] != nil || removed.contains($0.key.profile)
    }
    var continuing: [(Session, Profile)] = []
    for session in affected.sorted(by: { $0.key < $1.key }) where !session.hasEnded {
      let name = session.key.profile
      if let profile = changed[name], !moved.contains(name) {
        continuing.append((session, session.profile))
        session.profile = profile
        // The stored state belongs to the old profile.
        session.saved = nil
      } else {
        tokens.revokeAll(of: session)
        sessions.end(session)
        if removed.contains(name) { admittance.noteRemoved(session) }
      }
    }
    return continuing
  }

  /// Goes through the clients once, not once for each session: there may be 100,000 sessions and
  /// 4096 clients.
  private func dismissCallers(
    of profiles: Set<String>, _ error: (_ profile: String) -> ProtocolError
  ) {
    guard !profiles.isEmpty else { return }
    for client in clients.inOrder {
      guard let session = client.waiting?.session, profiles.contains(session.key.profile),
        let turn = clients.endWait(client.id, in: session)
      else { continue }
      signIns.waitEnded(turn.request, in: session, .refused)
      turn.refuse(error(session.key.profile))
    }
  }
}

extension Profile {
  /// The names of the profile's source, of the source's source, and so on.
  fileprivate var sources: [String] { source.map { [$0.settings.name] + $0.sources } ?? [] }
}

extension Client {
  fileprivate var isIdleAtClosedDoor: Bool {
    // At a capped one the next request is refused: no answer of the main socket is kept for it.
    guard case .closed = door, !socket.isCapped else { return false }
    return waiting == nil && watch == nil
  }
}
