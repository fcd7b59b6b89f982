import CredCore
import CredService

/// Judges every answer by what is true: who has the uid, what the configuration allows, and what
/// upstream gave to whom.
extension HistoryRun {
  func received(_ reply: [UInt8], _ client: HistoryClient) {
    world.trace("\(client.name) < \(String(decoding: reply.dropLast(), as: UTF8.self))")
    guard let json = try? JSONValue.parse(reply) else {
      return world.violate(.answeredInTime, "an answer is no JSON")
    }
    if client.current == nil, client.watches { return judgeEvent(json, client) }
    guard let line = client.current else {
      return world.violate(
        .answeredInTime, "\(client.name) is answered and asked nothing")
    }
    client.current = nil
    world.report.answers += 1
    if client.isForeign {
      world.inProcess(after: 0) { [self] in
        guard !client.isFinished else { return }
        world.violate(
          .admitted, "\(client.name) does not speak the protocol and is served")
      }
    }
    if world.now > line.deadline, world.now > world.awakeSince {
      world.violate(.answeredInTime, "line \(line.number) is answered late")
    }
    if line.number % 2 == 1, line.request.hasID, json["Id"]?.integer != Int64(line.number) {
      world.violate(.answeredInTime, "line \(line.number) got another's answer")
    }
    let code = json["Event"] == nil ? json["Error"]?["Code"]?.text : nil
    judgeSecrets(reply, line, client, isError: code != nil)
    if let code { judgeRefusal(code, line, client) } else { judgeSuccess(json, line, client) }
    judgeSignIn(json, code, line, client)
    if code != nil { world.report.refusals += 1 }
    if case .watch = line.request, code != nil { client.watches = false }
    let isSignedIn = code == nil && json["Challenge"] == nil
    signIns.ended(line, client.user, isGood: isSignedIn, people, world.now)
    expectations.ended(line, client.user, at: world.now)
    if isSignedIn { noteDevice(line, client) }
    if let code { askAgain(code, line, client) }
    world.inProcess(after: 0) { [self] in handOver(client) }
  }

  /// Whom credd may take a user for. A watch was decided about up to a minute ago.
  private func credible(_ user: Int, _ line: HistoryClient.Line?) -> [HistoryPeople.Person] {
    let decided = line?.start ?? world.now - HistoryPeople.grace
    return people.possible(user, from: line?.start ?? world.now, decided: decided)
  }

  /// Whose secrets a user may get.
  func believed(_ user: Int, _ line: HistoryClient.Line?) -> Set<Int> {
    people.withGuises(Set(credible(user, line).map(\.number)))
  }

  // MARK: Secrets

  private func judgeSecrets(
    _ reply: [UInt8], _ line: HistoryClient.Line, _ client: HistoryClient, isError: Bool
  ) {
    let owners = believed(line.target, line)
    for number in HistorySecret.numbers(in: reply) {
      let persons = number.flatMap { upstreams.keys[$0]?.persons ?? upstreams.tokens[$0]?.persons }
      let isKnown = number.map { upstreams.keys[$0] != nil || upstreams.tokens[$0] != nil } ?? false
      guard isError || !isKnown || persons?.isDisjoint(with: owners) ?? false else { continue }
      world.violate(
        isError || !isKnown ? .secretsStay : .neverForeign,
        "line \(line.number) of \(owners.sorted()) got a secret of "
          + "\(persons?.sorted().description ?? "nobody's")")
    }
    for number in HistorySecret.numbers(in: reply, after: HistorySecret.app) {
      let user = number.flatMap { upstreams.pools.factors.apps[$0]?.user }
      guard let user, isError || !owners.contains(user.person) else { continue }
      world.violate(
        .secretsStay,
        "line \(line.number) of \(owners.sorted()) got the secret of \(user)'s app")
    }
    let readers = owners.union(believed(client.user, line))
    for number in HistorySecret.numbers(in: reply, after: HistorySecret.note) {
      guard let persons = number.flatMap({ upstreams.notes[$0] }), persons.isDisjoint(with: readers)
      else { continue }
      world.violate(
        .secretsStay,
        "words about \(persons.sorted()) reached \(readers.sorted())")
    }
  }

  private func judgeIdentity(_ text: String?, _ owners: Set<Int>) {
    guard let text, let identity = upstreams.identities[text] else { return }
    if identity.isGuest { upstreams.showGuest(text, to: owners) }
    guard let persons = identity.persons, persons.isDisjoint(with: owners) else { return }
    world.violate(
      .neverForeign,
      "the identity of \(persons.sorted()) was shown to \(owners.sorted())")
  }

  /// Who is signed in, or whose account was read, is somebody whom credd may take the user for.
  private func judgeUser(_ name: String?, _ owners: Set<Int>) {
    guard let name, let person = HistoryPeople.person(named: name), !owners.contains(person) else {
      return
    }
    world.violate(.neverForeign, "\(name) is signed in for \(owners.sorted())")
  }

  // MARK: Answers

  private func judgeSuccess(
    _ json: JSONValue, _ line: HistoryClient.Line, _ client: HistoryClient
  ) {
    let owners = believed(line.target, line)
    judgeIdentity(json["IdentityId"]?.text, owners)
    judgeUser(json["Username"]?.text, owners)
    if let key = json["AccessKeyId"]?.text { judgeCredentials(key, line, client) }
    if case .array(let reports) = json["Sessions"] { judgeStatus(reports, line, client) }
    guard let name = line.profile, !mayUse(name, line, client) else { return }
    // A reload may have come in between: the sign-out or the account is made all the same.
    switch line.request {
    case .logout, .account, .ownAccount: if lastReload >= line.start { return }
    default: break
    }
    world.violate(
      .admitted, "line \(line.number): \(client.name) may not use \(name)")
  }

  private func judgeCredentials(
    _ text: String, _ line: HistoryClient.Line, _ client: HistoryClient
  ) {
    guard let number = HistoryUpstreams.number(ofKey: text), let keys = upstreams.keys[number]
    else {
      return world.violate(.neverForeign, "nobody gave \(text)")
    }
    if keys.ends <= world.now {
      world.violate(.neverExpired, "\(text) ended \(world.now - keys.ends) ago")
    }
    judgeIdentity(keys.identity, believed(line.target, line))
    judgeNarrowness(keys, line, client)
    noteCredentials(number, keys, line, client)
    noteKept(line, client)
    guard let profile = line.profile.flatMap(host.configuration.profile), !keys.pool.isEmpty,
      keys.pool != profile.pool, !people.hasChosen(keys.identity)
    else { return }
    world.violate(
      .neverForeign, "\(text) is of pool \(keys.pool), not of \(profile.pool)")
  }

  private func judgeStatus(
    _ reports: [JSONValue], _ line: HistoryClient.Line, _ client: HistoryClient
  ) {
    for report in reports { judgeReport(report, line, client) }
    guard case .status(let members) = line.request else { return }
    if members.contains("all") {
      world.violate(.admitted, "\(client.name) sees everyone's sessions")
    }
    if members.contains("limit"), reports.count > 1 {
      world.violate(.answeredInTime, "a page of one has \(reports.count) sessions")
    }
  }

  private func judgeReport(
    _ report: JSONValue, _ line: HistoryClient.Line, _ client: HistoryClient
  ) {
    judgeIdentity(report["IdentityId"]?.text, believed(client.user, line))
    judgeUser(report["Username"]?.text, believed(client.user, line))
    let profile = report["Profile"]?.text ?? ""
    if report["Uid"]?.integer != Int64(client.peer.uid) {
      world.violate(.neverForeign, "status shows another's session")
    }
    if !mayUse(profile, line, client) {
      world.violate(.admitted, "status shows \(profile) to \(client.name)")
    }
  }

  private func judgeEvent(_ json: JSONValue, _ client: HistoryClient) {
    if json["Error"] != nil, json["Event"] == nil { client.watches = false }
    if json["Event"]?.text == "degraded", let profile = json["Profile"]?.text {
      client.heardOfFailures.insert(profile)
    }
    judgeIdentity(json["IdentityId"]?.text, believed(client.user, nil))
    judgeUser(json["Username"]?.text, believed(client.user, nil))
    judgeChallengeEvent(json, client)
    guard let profile = json["Profile"]?.text, !mayUse(profile, nil, client) else { return }
    // Who watched a session learns that a reload ended it, or that it was another person's.
    let isEnd = lastReload == world.now || json["IdentityId"] == nil
    if json["State"]?.text == "signedOut", isEnd { return }
    world.violate(.admitted, "an event of \(profile) reached \(client.name)")
  }

  // MARK: Rights

  /// Whether credd may admit the caller by what it can know.
  private func mayUse(
    _ name: String, _ line: HistoryClient.Line?, _ client: HistoryClient
  ) -> Bool {
    guard let profile = host.configuration.profile(name),
      client.program.isAllowed(by: profile.rule.programs)
    else { return false }
    let start = line?.start ?? world.now
    let callers = credible(client.user, line)
    let ids = Set(profile.rule.groups + people.database.ids(of: profile.rule.groupNames))
    if case .impersonate(_, let user, _) = line?.request {
      return callers.contains { profile.rule.names($0, in: profile.rule.impersonators) }
        && credible(user, line).contains {
          profile.rule.admits($0, isMember: !ids.isEmpty, unit: nil)
        }
    }
    let isMember = client.kernelGroups.contains {
      ids.contains($0) && mayBelieve($0, client, start)
    }
    return callers.contains { profile.rule.admits($0, isMember: isMember, unit: client.unit()) }
  }

  /// Whether a group of the process may still count for what was asked at `start`.
  private func mayBelieve(_ group: UInt32, _ client: HistoryClient, _ start: Instant) -> Bool {
    guard let end = people.database.end(of: group, for: client.peer.uid) else { return true }
    return start < end || people.hadTrouble(since: start - HistoryPeople.groupGrace)
  }

  /// Whether credd must admit the caller.
  func mustAdmit(
    _ profile: HistoryConfiguration.Profile, _ line: HistoryClient.Line, _ client: HistoryClient
  ) -> Bool {
    let callers = people.possible(client.user, from: line.start)
    let steady = people.groupsAreSteady(
      of: client.user, since: line.start - HistoryPeople.groupGrace)
    let ids = profile.rule.groups + people.database.ids(of: profile.rule.groupNames)
    let isMember =
      steady
      && client.kernelGroups.contains { [groups = people.groups(of: client.user)] in
        ids.contains($0) && groups.contains($0)
      }
    // Who comes while the uid changes hands may be taken for either, and is refused in the end.
    return callers.count == 1 && lastReload < line.start
      && client.program.isAllowed(by: profile.rule.programs)
      && !people.hadTrouble(since: line.start - HistoryPeople.grace)
      && callers.allSatisfy {
        ($0.isNamed
          || people.neverHadName(client.user) && !host.configuration.needsName(profile))
          && profile.rule.admits($0, isMember: isMember, unit: client.unit())
      }
  }

  private func judgeRefusal(
    _ code: String, _ line: HistoryClient.Line, _ client: HistoryClient
  ) {
    if code == "Internal" {
      world.violate(.neverDropped, "line \(line.number) is refused with Internal")
    }
    // A uid without a name has a trouble of its own where the backend needs one.
    if isTroubleOfOne, line.target != 0, client.user != 0, !line.namesOthers,
      code == "BackendUnavailable" || code == "CognitoUnavailable",
      people.possible(client.user, from: line.start).allSatisfy(\.isNamed)
    {
      world.violate(
        .ownTrouble, "\(client.name) got \(code), and only user 0 has troubles")
    }
    guard case .impersonate = line.request else {
      judgeWatchers(code, line)
      return judgeOwnRefusal(code, line, client)
    }
  }

  /// Who watches a session hears of a failure when a client is told of it.
  private func judgeWatchers(_ code: String, _ line: HistoryClient.Line) {
    guard case .get = line.request, code == "BackendUnavailable" || code == "CognitoUnavailable",
      let name = line.profile, let profile = host.configuration.profile(name)
    else { return }
    for client in clients.values where client.user == line.target && client.watches {
      let since = client.watchStart
      guard upstreams.isInFirstTrouble(since: since), lastReload < since, lastRestart < since,
        world.awakeSince < since, people.possible(client.user, from: since).count == 1,
        people.possible(client.user, from: world.now).count == 1,
        !people.hadTrouble(since: since - HistoryPeople.grace),
        client.isWatching(name), profile.rule.hasNoLists, profile.rule.programs.isEmpty,
        !client.heardOfFailures.contains(name)
      else { continue }
      world.violate(
        .answeredInTime,
        "\(client.name) watches \(name) and heard nothing of \(code)")
    }
  }

  private func judgeOwnRefusal(
    _ code: String, _ line: HistoryClient.Line, _ client: HistoryClient
  ) {
    guard let profile = line.profile.flatMap(host.configuration.profile),
      mustAdmit(profile, line, client)
    else { return }
    if code == "AccessDenied" && !line.request.mayBeForbidden || code == "UnknownProfile" {
      world.violate(
        .admitted,
        "line \(line.number): \(client.name) may use \(profile.name) and got \(code)")
    }
    // Where the file of a program cannot be read, the program may not have what there is.
    if code != "Timeout" || profile.rule.programs.isEmpty {
      judgeLoss(code, profile.name, line, client)
    }
    guard world.isCalm, client.number >= 100 else { return }
    let isExpected = signIns.mustWork(
      client.user, profile.isDerived ? HistoryConfiguration.Derived.source : profile.name,
      isUnattended: profile.worksUnattended(host.configuration.backends))
    if isExpected {
      world.violate(
        .healthyAgain,
        "\(client.name) got \(code) for \(profile.name), long after all troubles")
    }
  }
}

extension HistoryClient.Line {
  /// Whether it is about the account of another person.
  var namesOthers: Bool {
    switch request {
    case .account(_, .others, _), .password(_, .others): true
    case .respond: handle?.claim == .others
    default: false
    }
  }
}

extension HistoryRequest {
  /// Whether a profile may have it switched off for everybody.
  fileprivate var mayBeForbidden: Bool {
    switch self {
    case .account, .ownAccount, .token: true
    default: false
    }
  }

  fileprivate var hasID: Bool { if case .nonsense = self { false } else { true } }
}

extension HistoryConfiguration {
  /// Whether a session of the profile needs the user's name.
  func needsName(_ profile: Profile) -> Bool {
    guard let backend = profile.backend.map({ backends[$0] }) else { return profile.isBasic }
    if backend.kind == .get { return !backend.namesUID || profile.isBasic }
    return profile.identifier == .name || profile.identifier == .both || profile.isBasic
  }
}

extension HistoryConfiguration.Rule {
  func names(_ person: HistoryPeople.Person, in list: [String]) -> Bool {
    list.contains("\(HistoryPeople.uid(person.user))")
      || person.isNamed && list.contains(HistoryPeople.name(person.number))
  }

  func admits(_ person: HistoryPeople.Person, isMember: Bool, unit: String?) -> Bool {
    hasNoLists || names(person, in: users) || isMember || unit.map(units.contains) ?? false
  }
}
