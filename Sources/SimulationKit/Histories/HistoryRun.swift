import CredCore
import CredService

/// Runs a history: each event at its time, then a calm in which everybody asks once more.
final class HistoryRun {
  /// By then all pauses have ended, of back-off, rate limits and wrong passwords.
  private static let calm = 420.0

  let world: World
  let people: HistoryPeople
  let upstreams: HistoryUpstreams
  let host: HistoryHost
  private let configurations: [HistoryConfiguration]
  var clients: [Int: HistoryClient] = [:]
  /// What is known of each user's sign-in in each profile.
  var signIns = SignIns()
  private(set) var lastReload = World.beginning
  private(set) var lastRestart = World.beginning
  private var lastLine = 0
  private var lastPID: Int32 = 100
  private let events: [HistoryEvent]
  /// In some histories the upstreams never fail for anybody but the first user.
  let isTroubleOfOne: Bool

  init(_ history: History, isTraced: Bool, fault: InjectedFault?) {
    var scenario = Scenario(seed: history.seed, fault: fault)
    scenario.isTraced = isTraced
    world = World(scenario)
    people = HistoryPeople(world)
    upstreams = HistoryUpstreams(world, people)
    var first = HistoryConfiguration(&world.random)
    while let fault, !first.canShow(fault) { first = HistoryConfiguration(&world.random) }
    var list = [first]
    while list.count < History.configurations {
      list.append((list.randomElement(using: &world.random) ?? list[0]).changed(&world.random))
    }
    configurations = list
    host = HistoryHost(world, people, upstreams, list[0])
    events = history.events
    isTroubleOfOne = history.seed.isMultiple(of: 5) || fault == .mixedTroubles
  }

  func run() -> SimulationReport {
    world.trace(configurations[0].text)
    host.start()
    for event in events {
      world.schedule.put(at: World.beginning + .milliseconds(event.at)) { [self] in
        world.trace("· \(event.act)")
        perform(event.act)
        checkLog()
      }
    }
    let end = (events.map(\.at).max() ?? 0) / 1000 + 1
    world.after(Double(end)) { [self] in calmBegins() }
    world.run()
    checkLog()
    var report = world.report
    report.sessionHours = (world.now - World.beginning).inSeconds / 3600 * 9
    report.violation = world.trace.violation
    report.trace = world.trace.lines
    clients = [:]
    host.end()
    return report
  }

  // MARK: Events

  private func perform(_ act: HistoryAct) {
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
      if people.holder(of: user)?.number != former { signIns.forget(user) }
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
      signIns.forget(person: person)
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

  private func connect(_ number: Int, _ user: Int, _ unit: Int?) {
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

  private func leave(_ number: Int) {
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
    signIns.forgetSignedIn()
    host.reload(next)
  }

  private func restart(_ isKilled: Bool, _ trouble: StoreTrouble) {
    world.report.restarts += 1
    lastRestart = world.now
    if !isKilled { host.service?.dismissWaiters() }
    if trouble != .none || host.hasLost { signIns.forgetSignedIn() }
    if trouble == .strange { signIns.forgetAll() }
    host.kill(trouble)
    let before = clients.values.sorted { $0.number < $1.number }
    clients = [:]
    host.start()
    for client in before {
      connect(
        client.number, client.user, client.unit().flatMap(HistoryConfiguration.units.firstIndex))
    }
  }

  private func sleep(_ seconds: Int) {
    let before = world.now
    world.sleep(until: world.later(Double(seconds)))
    people.awoke(since: before)
    for client in clients.values {
      guard let line = client.current else { continue }
      client.current?.deadline = max(line.deadline, world.later(line.patience))
    }
  }

  // MARK: Lines

  func send(_ request: HistoryRequest, _ client: HistoryClient?) {
    guard let client, !client.watches, let person = people.holder(of: client.user) else { return }
    lastLine += 1
    var line = HistoryClient.Line(
      number: lastLine, bytes: bytes(request, lastLine, client, person), request: request,
      profile: request.profile.map { "p\($0)" }, target: client.user, patience: request.patience)
    if case .impersonate(_, let user, _) = request { line.target = user }
    client.lines.append(line)
    handOver(client)
  }

  /// Hands the next line to the service, as a server does once the one before is answered.
  func handOver(_ client: HistoryClient) {
    guard client.current == nil, !client.watches, !client.lines.isEmpty, let service = host.service,
      let peer = client.client
    else { return }
    var line = client.lines.removeFirst()
    if client.isNew { client.isForeign = line.bytes.first != UInt8(ascii: "{") }
    client.isNew = false
    line.start = world.now
    line.deadline = world.later(line.patience)
    if case .watch = line.request {
      // Without a session there is nothing to say yet.
      client.watches = true
      client.watchStart = world.now
      client.watched = line.profile
      client.heardOfFailures = []
      line.deadline = .distantFuture
    }
    client.current = line
    signIns.begins(line, client.user)
    world.report.requests += 1
    world.trace("\(client.name) \(line.number) > \(String(decoding: line.bytes, as: UTF8.self))")
    _ = service.receive(line.bytes.span, from: peer, now: host.clock.now)
  }

  private func bytes(
    _ request: HistoryRequest, _ number: Int, _ client: HistoryClient,
    _ person: HistoryPeople.Person
  ) -> [UInt8] {
    if case .nonsense(let kind) = request { return Array(Self.nonsense[kind].utf8) }
    // A line without an id may be answered on the shortest way.
    var text = number % 2 == 0 ? "{" : #"{"id":\#(number),"#
    text += #""op":"\#(request.operation)""#
    if let profile = request.profile { text += #","profile":"p\#(profile)""# }
    return Array((text + members(request, person) + "}").utf8)
  }

  static let nonsense = [
    "{", #"{"op":"fly"}"#, #"{"op":"get","profile":7}"#, #"{"op":"get","x":1}"#,
    #"{"op":"get","profile":"nowhere"}"#, #"{"op":"login","profile":"p0","logins":{}}"#,
    // Another protocol, or none.
    "GET /token HTTP/1.1", "[1]", "null", "x",
  ]

  private func members(_ request: HistoryRequest, _ person: HistoryPeople.Person) -> String {
    let others = (0...person.number + 1).filter { $0 != person.number }
    if request.operation == "login" { people.signsIn(person) }
    switch request {
    case .get(_, let members): return members
    case .impersonate(_, let user, let byName):
      let name = people.holder(of: user).map { HistoryPeople.name($0.number) } ?? ""
      return #","user":"\#(byName ? name : "\(HistoryPeople.uid(user))")""#
    case .password(_, let claim):
      let other = others.randomElement(using: &world.random) ?? 0
      let name = HistoryPeople.name(claim == .others ? other : person.number)
      let word = HistorySecret.password(of: person.number)
      return #","username":"\#(name)","password":"\#(claim == .bad ? "wrong" : word)""#
    case .developerToken(let profile, let claim):
      let pool = host.configuration.profile("p\(profile)")?.pool ?? HistoryConfiguration.pool(0)
      var own = upstreams.developerToken(of: person.number, pool: pool, isGood: claim != .bad)
      if claim == .others {
        let identities = upstreams.identities.keys.filter { $0 != own.identity }.sorted()
        own.identity = identities.randomElement(using: &world.random) ?? own.identity
      }
      return #","identity_id":"\#(own.identity)","token":"\#(own.token)""#
    case .account(_, let claim, let isKnown):
      let other = others.randomElement(using: &world.random) ?? 0
      let name = HistoryPeople.name(claim == .others ? other : person.number)
      let word = HistorySecret.password(of: person.number)
      return #","action":"\#(isKnown ? "sign-up" : "confirm")","username":"\#(name)""#
        + #","password":"\#(word)""#
    case .logins(let profile, let provider, let isAlone, let choosesIdentity):
      let pool = host.configuration.profile("p\(profile)")?.pool ?? HistoryConfiguration.pool(0)
      let login = login(person, provider, pool, isAlone: isAlone)
      let chosen = upstreams.identities.keys.sorted().randomElement(using: &world.random)
      if choosesIdentity, let chosen { people.chose(chosen) }
      return #","logins":{"\#(login.provider)":"\#(login.token)"}"#
        + (isAlone ? #","alone":true"# : "")
        + (choosesIdentity ? chosen.map { #","identity_id":"\#($0)""# } ?? "" : "")
    case .status(let members): return members
    case .logout(_, let isGlobal): return isGlobal ? #","global":true"# : ""
    case .clear(_, let identity): return #","what":"\#(identity ? "identity" : "credentials")""#
    default: return ""
    }
  }

  /// A provider's key among the logins, and what the client has for it.
  private func login(
    _ person: HistoryPeople.Person, _ provider: LoginProvider, _ pool: String, isAlone: Bool
  ) -> (provider: String, token: String) {
    let others = (0...person.number + 1).filter { $0 != person.number }
    let other = others.randomElement(using: &world.random) ?? 0
    let name = world.random.pick([
      HistoryPeople.name(other), "\(HistoryPeople.uid(other % History.users))",
    ])
    switch provider {
    case .publicOne:
      let token = upstreams.publicToken(of: person.number, pool: pool, isAlone: isAlone)
      return (SimulatedConfiguration.provider, token)
    case .developers: return (HistoryConfiguration.provider, name)
    case .developersLoudly: return (HistoryConfiguration.provider.uppercased(), name)
    }
  }

  // MARK: Checks that no answer begins

  func checkLateness() {
    for client in clients.values {
      guard let line = client.current, world.now > line.deadline, world.now > world.awakeSince
      else { continue }
      world.violate(
        .answeredInTime, session: nil,
        "line \(line.number) had to be answered \(world.now - line.deadline) ago")
    }
  }

  private func checkLog() {
    checkLateness()
    guard let leak = host.log.leak else { return }
    world.violate(.secretsStay, session: nil, "a secret was logged: \(leak)")
  }

  // MARK: The calm

  private func calmBegins() {
    people.setTrouble(.none)
    upstreams.trouble = .none
    host.setPrograms(hang: false)
    host.setStore(isFull: false)
    world.skew = .zero
    world.trace("· calm")
    world.after(Self.calm) { [self] in
      checkLateness()
      // The first calls after an outage are trials; then all must be well.
      for user in 0..<History.users { askFinally(user) }
      world.after(60) { [self] in
        checkLateness()
        world.isCalm = true
        for user in 0..<History.users { askFinally(user) }
      }
      world.after(120) { [self] in
        checkLateness()
        world.isOver = true
      }
    }
  }

  private func askFinally(_ user: Int) {
    for profile in 0..<3 {
      let number = 100 + user * 3 + profile
      connect(number, user, nil)
      send(.get(profile: profile, members: #","wait":15"#), clients[number])
    }
  }
}

extension HistoryClient {
  var name: String { "client \(number) of \(peer.uid)" }
}

extension HistoryRequest {
  var profile: Int? {
    switch self {
    case .get(let profile, _), .token(let profile), .identity(let profile),
      .impersonate(let profile, _, _), .password(let profile, _), .developerToken(let profile, _),
      .logins(let profile, _, _, _), .hostLogin(let profile), .logout(let profile, _),
      .clear(let profile, _), .release(let profile), .account(let profile, _, _):
      profile
    case .watch(let profile): profile
    case .status, .ping, .nonsense: nil
    }
  }

  var operation: String {
    switch self {
    case .get, .impersonate: "get"
    case .token: "token"
    case .identity: "identity"
    case .password, .developerToken, .logins, .hostLogin: "login"
    case .account: "account"
    case .logout: "logout"
    case .clear: "clear"
    case .release: "release"
    case .status: "status"
    case .ping: "ping"
    case .watch, .nonsense: "watch"
    }
  }

  /// Seconds within which there must be an answer. Look-ups of the caller come first.
  var patience: Double {
    switch self {
    case .get(_, let members): members.contains("40") ? 52 : members.contains("15") ? 27 : 17
    case .token, .impersonate: 17
    case .password, .developerToken, .logins, .hostLogin, .account: 75
    case .logout: 75
    default: 12
    }
  }
}
