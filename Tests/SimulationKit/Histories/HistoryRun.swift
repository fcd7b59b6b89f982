import CredCore
import CredService

/// Runs a history: each event at its time, then a calm in which everybody asks once more.
final class HistoryRun {
  let world: World
  let people: HistoryPeople
  let upstreams: HistoryUpstreams
  let host: HistoryHost
  let configurations: [HistoryConfiguration]
  var clients: [Int: HistoryClient] = [:]
  /// What is known of each user's sign-in in each profile.
  var signIns = SignIns()
  /// What the daemon must still have.
  var expectations = HistoryExpectations()
  /// How often a code was wrong, by the question's handle.
  var wrongCodes: [String: Int] = [:]
  /// When somebody last began a sign-in in another's name.
  private(set) var lastForeignLogin = World.beginning
  /// The questions of sign-ins that clients were asked, the oldest first.
  var handles: [HistoryHandle] = []
  /// The sessions of the calm that are renewed though nobody asks.
  var keptWarm: Set<Place> = []
  /// Whether nobody has asked for an hour.
  var isRested = false
  /// The service does not keep its clients.
  var intruders: [HistoryIntruder] = []
  var lastReload = World.beginning
  var lastRestart = World.beginning
  private var lastLine = 0
  var lastPID: Int32 = 100
  private let events: [HistoryEvent]
  /// In some histories the upstreams never fail for anybody but the first user.
  let isTroubleOfOne: Bool

  init(_ history: History, isTraced: Bool, fault: InjectedFault?) {
    world = World(seed: history.seed, fault: fault, isTraced: isTraced)
    people = HistoryPeople(world)
    upstreams = HistoryUpstreams(world, people)
    let isOfPools = History.isOfPools(history.seed)
    var first = HistoryConfiguration(
      &world.random, ofPools: isOfPools, ofProviders: History.isOfProviders(history.seed),
      derived: HistoryConfiguration.hasDerived(history.seed))
    while let fault, !isOfPools, !first.canShow(fault) {
      first = HistoryConfiguration(
        &world.random, ofPools: false, derived: HistoryConfiguration.hasDerived(history.seed))
    }
    var list = [first]
    while list.count < History.configurations {
      list.append((list.randomElement(using: &world.random) ?? list[0]).changed(&world.random))
    }
    configurations = list
    host = HistoryHost(world, people, upstreams, list[0])
    events = history.events
    isTroubleOfOne = history.seed.isMultiple(of: 5) || fault == .mixedTroubles
    upstreams.clear = { [unowned self] in intrude($0) }
    upstreams.refused = { [unowned self] in
      signIns.forgetSignedIn()
      expectations.refused()
    }
    upstreams.pools.tokensAreOnTheirWay = { [unowned self] in giveUp($0) }
    upstreams.pools.signedOut = { [unowned self] in signedOut($0) }
    upstreams.pools.deviceForgotten = { [unowned self] in expectations.deviceForgotten($0) }
    upstreams.pools.beganWithoutDevice = { [unowned self] in judgeStart(of: $0) }
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
    countCalls()
    world.run()
    checkLog()
    var report = world.report
    report.sessionHours = (world.now - World.beginning).inSeconds / 3600 * 9
    report.violation = world.trace.violation
    report.trace = world.trace.lines
    clients = [:]
    upstreams.clear = nil
    upstreams.refused = nil
    host.end()
    return report
  }

  // MARK: Lines

  func send(_ request: HistoryRequest, _ client: HistoryClient?) {
    guard let client, !client.watches, let person = people.holder(of: client.user) else { return }
    lastLine += 1
    let handle = handle(for: request, client)
    var line = HistoryClient.Line(
      number: lastLine, bytes: bytes(request, lastLine, person, handle), request: request,
      profile: request.profile.map { "p\($0)" }, target: client.user, patience: request.patience)
    line.handle = handle
    if let handle, handle.user == client.user { line.profile = handle.profile }
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
    allowPolling(for: line)
    expectations.begins(line, client.user, people)
    if line.namesOthers { lastForeignLogin = world.now }
    signIns.begins(
      line, client.user,
      isAtPool: line.profile.flatMap(host.configuration.userPool) != nil
        || line.profile.flatMap(host.configuration.provider) != nil)
    world.report.requests += 1
    world.trace("\(client.name) \(line.number) > \(String(decoding: line.bytes, as: UTF8.self))")
    _ = service.receive(line.bytes.span, from: peer, now: host.clock.now)
  }

  private func bytes(
    _ request: HistoryRequest, _ number: Int, _ person: HistoryPeople.Person,
    _ handle: HistoryHandle?
  ) -> [UInt8] {
    if case .nonsense(let kind) = request { return Array(Self.nonsense[kind].utf8) }
    // A line without an id may be answered on the shortest way.
    var text = number % 2 == 0 ? "{" : #"{"id":\#(number),"#
    text += #""op":"\#(request.operation)""#
    if let profile = request.profile { text += #","profile":"p\#(profile)""# }
    if case .respond(_, let input, let isGood) = request {
      people.signsIn(person)
      return Array((text + answer(input, isGood: isGood, handle) + "}").utf8)
    }
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
    case .get(_, let members), .token(_, let members): return members
    case .impersonate(_, let user, let byName):
      let name = people.holder(of: user).map { HistoryPeople.name($0.number) } ?? ""
      return #","user":"\#(byName ? name : "\(HistoryPeople.uid(user))")""#
    case .password(let profile, _)
    where host.configuration.provider(of: "p\(profile)") != nil:
      let name = host.configuration.provider(of: "p\(profile)")?.name ?? ""
      guard world.random.happens(0.6) else { return #","device":true"# }
      return #","browser":{"redirect_uri":"http://127.0.0.1:4711/\#(name)"}"#
    case .password(_, let claim):
      let other = others.randomElement(using: &world.random) ?? 0
      let name = HistoryPeople.name(claim == .others ? other : person.number)
      let word = password(of: person, request)
      return #","username":"\#(name)""#
        + (mayLeaveOutPassword(request) && world.random.happens(0.5)
          ? "" : #","password":"\#(claim == .bad ? "wrong" : word)""#)
    case .ownAccount(_, let changesPassword):
      guard changesPassword else { return #","action":"get""# }
      return #","action":"change-password","old_password":"\#(password(of: person, request))""#
        + #","password":"\#(upstreams.pools.newPassword(of: person.number))""#
    case .developerToken(let profile, let claim):
      let pool = host.configuration.profile("p\(profile)")?.pool ?? HistoryConfiguration.pool(0)
      var own = upstreams.developerToken(of: person.number, pool: pool, isGood: claim != .bad)
      if claim == .others {
        let identities = upstreams.identities.keys.filter { $0 != own.identity }.sorted()
        own.identity = identities.randomElement(using: &world.random) ?? own.identity
      }
      upstreams.claimed = own.identity
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

  /// What a person signs in with at the profile's backend.
  private func password(of person: HistoryPeople.Person, _ request: HistoryRequest) -> String {
    let pool = request.profile.flatMap { host.configuration.userPool(of: "p\($0)") }
    return pool.map { upstreams.pools.password(of: person.number, at: $0.server) }
      ?? HistorySecret.password(of: person.number)
  }

  private func mayLeaveOutPassword(_ request: HistoryRequest) -> Bool {
    let pool = request.profile.flatMap { host.configuration.userPool(of: "p\($0)") }
    return pool.map { $0.flow == .custom || $0.flow == .choice } ?? false
  }

  /// The question that a client answers; nil for one that nobody was asked.
  private func handle(for request: HistoryRequest, _ client: HistoryClient) -> HistoryHandle? {
    guard case .respond(let chosen, _, _) = request else { return nil }
    switch chosen {
    case .own: return handles.last { $0.user == client.user }
    case .former: return handles.filter { $0.user == client.user }.dropLast().last
    case .others: return handles.last { $0.user != client.user }
    case .madeUp: return nil
    }
  }

  private func answer(
    _ input: ChallengeInput, isGood: Bool, _ handle: HistoryHandle?
  ) -> String {
    let named = #","handle":"\#(handle?.text ?? String(repeating: "0", count: 32))""#
    switch input {
    case .wait where handle?.device != nil: return named + #","wait":\#(Int(Self.deviceWait))"#
    case .wait: return named + #","wait":1"#
    case .cancel: return named + #","cancel":true"#
    case .answers where handle?.answers == ["confirm"]:
      return named + #","answers":{"confirm":\#(isGood)}"#
    case .answers where handle?.name == "DEVICE":
      return named + #","answers":{"choice":"\#(isGood ? "yes" : "no")"}"#
    case .answers where handle?.app != nil:
      return named + #","answers":{"code":"\#(appCode(isGood: isGood, handle))"}"#
    case .answers where handle?.answers == ["response"]:
      return named + #","answers":{"response":"\#(response(isGood: isGood, handle))"}"#
    case .answers:
      let server = handle.flatMap { host.configuration.userPool(of: $0.profile)?.server }
      var word = "wrong"
      // Who claims to be another does not know what the other one would answer.
      if isGood, let handle, let server, handle.claim != .others {
        word = upstreams.pools.answer(of: handle.person, at: server) ?? word
      }
      return named + #","answers":{"\#(handle?.answers.first ?? "code")":"\#(word)"}"#
    }
  }

  /// What the app shows that was set up with the secret of a question.
  private func appCode(isGood: Bool, _ handle: HistoryHandle?) -> String {
    guard isGood, let handle, handle.claim != .others,
      let app = handle.app.flatMap({ upstreams.pools.factors.apps[$0] })
    else { return "wrong" }
    return HistoryFactors.code(of: app)
  }

  /// What a browser brings back. Who claims to be another brings the answer of another's sign-in.
  private func response(isGood: Bool, _ handle: HistoryHandle?) -> String {
    let others = handles.last { $0.url != nil && $0.user != handle?.user }
    let asked = handle?.claim == .others ? others : handle
    guard let asked, let url = asked.url,
      let response = upstreams.pools.browse(url, as: asked.person)
    else { return "state=x" }
    let isWrong = !isGood || handle?.claim == .bad
    // A code that the provider does not know, in the right sign-in.
    return isWrong ? "code=unknown\(response.drop { $0 != "&" })" : response
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
      return (HistoryConfiguration.publicProvider, token)
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
        .answeredInTime,
        "line \(line.number) had to be answered \(world.now - line.deadline) ago")
    }
  }

  func checkLog() {
    checkLateness()
    guard let leak = host.log.leak else { return }
    world.violate(.secretsStay, "a secret was logged: \(leak)")
  }

}

extension HistoryClient {
  var name: String { "client \(number) of \(peer.uid)" }
}
