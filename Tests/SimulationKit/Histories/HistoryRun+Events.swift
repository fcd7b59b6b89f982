import CredCore
import CredService

/// What happens to a host: clients that come and leave, uids that change hands, reloads, restarts,
/// troubles, and the calm in the end.
extension HistoryRun {
  func perform(_ act: HistoryAct) {
    switch act {
    case .connect(let client, let user, let unit): connect(client, user, unit)
    case .send(let client, let request):
      send(isTroubleOfOne ? eager(request, clients[client]) : request, clients[client])
    case .leave(let client): leave(client)
    case .handOver(let user, let isNamed):
      let theirs = clients.values.filter { $0.user == user }.sorted { $0.number < $1.number }
      for client in theirs { leave(client.number) }
      let former = people.holder(of: user)?.number
      people.handOver(user, isNamed: isNamed)
      if people.holder(of: user)?.number != former {
        signIns.forget(user)
        expectations.handedOver(user, people)
      }
      for client in theirs { connect(client.number, user, nil) }
    case .setGroups(let user, let groups): people.setGroups(groups, of: user)
    case .setGroup(let name, let id):
      people.database.setGroup(HistoryConfiguration.groupNames[name], id: id)
    case .programs(let hang): host.setPrograms(hang: hang)
    case .store(let isFull): host.setStore(isFull: isFull)
    case .directory(let trouble): people.setTrouble(trouble)
    case .reload(let index): reload(configurations[index])
    case .restart(let isKilled, let trouble): restart(isKilled, trouble)
    case .upstream(let trouble):
      upstreams.trouble = isTroubleOfOne ? .failingOne : trouble
    case .revoke(let person):
      upstreams.revokeSessions(of: person)
      signedOut(person)
    case .sleep(let seconds): sleep(seconds)
    case .setClock(let seconds): world.skew = .seconds(seconds)
    }
  }

  /// Where one user has trouble, this user asks for long, and the others have no time.
  private func eager(_ request: HistoryRequest, _ client: HistoryClient?) -> HistoryRequest {
    guard let client, case .get(let profile, _) = request else { return request }
    return .get(
      profile: profile,
      members: client.user == 0 ? #","refresh":true,"wait":40"# : #","refresh":true,"wait":1"#)
  }

  /// A person's sign-ins ended otherwise than by a logout.
  func signedOut(_ person: Int) {
    signIns.forget(person: person)
    expectations.signedOut(person: person, people)
  }

  func connect(_ number: Int, _ user: Int, _ unit: Int?) {
    leave(number)
    guard let service = host.service else { return }
    lastPID += 1
    let client = HistoryClient(
      number, user: user, pid: lastPID, groups: people.groups(of: user),
      unit: unit.map { HistoryConfiguration.units[$0] }, self)
    clients[number] = client
    people.database.setProgram(client.program, of: lastPID)
    client.client = service.connected(client, client)
  }

  func leave(_ number: Int) {
    guard let gone = clients.removeValue(forKey: number), let client = gone.client else { return }
    gone.client = nil
    host.service?.left(client)
  }

  /// The service wants no further line of a client.
  func finished(_ client: HistoryClient) {
    client.lines = []
    world.inProcess(after: 0) { [self] in
      if clients[client.number] === client { leave(client.number) }
    }
  }

  private func reload(_ next: HistoryConfiguration) {
    world.trace(next.text)
    lastReload = world.now
    let former = host.configuration
    signIns.forgetSignedIn { next.keeps($0, of: former) }
    expectations.reloaded { next.keeps($0, of: former) }
    host.reload(next)
  }

  private func restart(_ isKilled: Bool, _ trouble: StoreTrouble) {
    world.report.restarts += 1
    lastRestart = world.now
    if !isKilled { host.service?.dismissWaiters() }
    if trouble != .none || host.hasLost { signIns.forgetSignedIn() }
    if trouble == .strange { signIns.forgetAll() }
    expectations.restarted(
      at: world.now, losesSessions: trouble != .none || host.hasLost)
    host.kill(trouble)
    let before = clients.values.sorted { $0.number < $1.number }
    clients = [:]
    host.start()
    for client in before {
      connect(
        client.number, client.user, client.unit().flatMap(HistoryConfiguration.units.firstIndex))
    }
    if History.isOfPools(world.seed), world.random.happens(0.5) { signInAgain(before) }
  }

  /// Somebody signs in once the daemon runs again.
  private func signInAgain(_ before: [HistoryClient]) {
    guard let one = before.randomElement(using: &world.random) else { return }
    let profile = world.random.index(2)
    world.inProcess(after: 2 + 5 * world.random.fraction()) { [self] in
      send(.password(profile: profile, .own), clients[one.number])
    }
  }

  private func sleep(_ seconds: Int) {
    let before = world.now
    world.sleep(until: world.later(Double(seconds)))
    people.awoke(since: before)
    for client in clients.values {
      guard let line = client.current else { continue }
      client.current?.deadline = max(line.deadline, world.later(line.patience))
      allowPolling(for: line)
    }
  }

  // MARK: The calm

  /// By then all pauses have ended, of back-off, rate limits and wrong passwords.
  private static let calm = 420.0

  func calmBegins() {
    people.setTrouble(.none)
    upstreams.trouble = .none
    host.setPrograms(hang: false)
    host.setStore(isFull: false)
    world.skew = .zero
    world.trace("· calm")
    world.after(Self.calm) { [self] in
      checkLateness()
      world.isQuiet = true
      // The first calls after an outage are trials; then all must be well.
      for user in 0..<History.users { askFinally(user, callers: 3) }
      world.after(60) { [self] in
        checkLateness()
        world.isCalm = true
        for user in 0..<History.users { askFinally(user) }
      }
      world.after(120) { [self] in
        checkLateness()
        rest()
      }
    }
  }

  /// Longer than credentials last. Nobody asks for anything.
  private static let rest = 4500.0

  /// Then the first caller of a session that is kept must not wait, and others get nothing that has
  /// expired.
  private func rest() {
    world.trace("· rest")
    world.after(Self.rest) { [self] in
      isRested = true
      for user in 0..<History.users { askFinally(user) }
      world.after(30) { [self] in
        checkLateness()
        world.isOver = true
      }
    }
  }

  /// - Parameter callers: how many ask each session at once.
  private func askFinally(_ user: Int, callers: Int = 1) {
    for profile in 0..<3 {
      for caller in 0..<callers {
        let number = 100 + caller * 10 + user * 3 + profile
        connect(number, user, nil)
        send(.get(profile: profile, members: #","wait":15"#), clients[number])
      }
    }
    guard host.configuration.derivedProfile != nil else { return }
    for caller in 0..<callers {
      let number = 200 + caller * 10 + user
      connect(number, user, nil)
      send(.get(profile: 3, members: #","wait":15"#), clients[number])
    }
  }
}
