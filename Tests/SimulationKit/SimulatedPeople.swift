import CredCore
import CredService

/// One connection of a Unix user's program or terminal.
final class SimulatedClient: PeerFacts, ReplySink {
  let user: Int
  let peer: Peer
  fileprivate(set) var client: Client?
  /// What it waits for.
  fileprivate(set) var request: OpenRequest?
  private unowned let people: SimulatedPeople

  init(_ user: Int, uid: UInt32, pid: Int32, _ people: SimulatedPeople) {
    self.user = user
    self.people = people
    peer = Peer(uid: uid, gid: 100, pid: pid)
  }

  func groups() -> [UInt32] { [100] }
  func unit() -> String? { "app.service" }
  func isAlive() -> Bool { true }
  func startTime() -> Instant? { World.beginning }
  func send(_ reply: [UInt8]) { people.received(reply, self) }
  /// Only lines that are no requests end a connection, and the simulation sends none.
  func finish() {}
}

/// A line that was sent and is not answered.
struct OpenRequest {
  enum Kind {
    /// - Parameter isPlain: any good credentials will do.
    case get(isPlain: Bool)
    case token
    case login([Owner])
    /// - Parameter changes: see ``Oracle/signOutBegins(_:)``.
    case logout(changes: Int)
    case clear(ClearScope)
    case release
    /// An injected request: its answer is ignored.
    case intrusion
    case status
  }

  let id: UInt64
  let session: Int
  let kind: Kind
  /// How long the answer may take, and until when.
  let patience: Double
  var deadline: Instant
  /// In the calm, when it must succeed.
  var isFinal = false
  /// When it must be answered at the latest, if its session is kept.
  var warmUntil: Instant?

  /// Whether it may remove credentials or replace a call.
  var isWish: Bool {
    switch kind {
    case .login, .logout, .clear: true
    case .get, .token, .release, .intrusion, .status: false
    }
  }
}

/// The users of the host with their connections: sends lines, and passes the replies to the oracle.
///
/// What people do is in `SimulatedActs.swift`. Pipelining, watchers and other operations go there
/// and into ``OpenRequest/Kind``.
final class SimulatedPeople {
  static let password = "right"

  let world: World
  let host: SimulatedHost
  let oracle: Oracle
  /// Connections that wait for nothing, by user.
  private var idle: [Int: [SimulatedClient]] = [:]
  /// Those that wait, in the order of their requests.
  private var waiting: [UInt64: SimulatedClient] = [:]
  private var lastRequest: UInt64 = 0
  private var lastPID: Int32 = 100
  /// Users whose uid is being given to another person: they send no requests.
  var absent: Set<Int> = []

  init(_ world: World, _ host: SimulatedHost, _ oracle: Oracle) {
    self.world = world
    self.host = host
    self.oracle = oracle
  }

  // MARK: Requests

  /// Sends a line of a session's user.
  ///
  /// - Parameters:
  ///   - members: what follows operation and profile, as JSON.
  ///   - patience: seconds within which there must be an answer.
  @discardableResult
  func send(
    _ operation: String, _ members: String = "", _ kind: OpenRequest.Kind, _ session: Int,
    patience: Double, isFinal: Bool = false
  ) -> UInt64 {
    let profile = oracle.sessions[session].profile.name
    let line = #"{"op":"\#(operation)","profile":"\#(profile)"\#(members)}"#
    return send(
      Array(line.utf8), kind, session, oracle.sessions[session].user, patience: patience,
      isFinal: isFinal)
  }

  @discardableResult
  func send(
    _ line: [UInt8], _ kind: OpenRequest.Kind, _ session: Int, _ user: Int, patience: Double,
    isFinal: Bool = false
  ) -> UInt64 {
    guard let service = host.service else { return 0 }
    lastRequest += 1
    let request = OpenRequest(
      id: lastRequest, session: session, kind: kind, patience: patience,
      deadline: deadline(patience), isFinal: isFinal,
      warmUntil: isFinal ? warmEnd(of: session, kind) : nil)
    world.report.requests += 1
    world.trace(
      session: session, "request \(request.id): \(String(decoding: line, as: UTF8.self))")
    if request.isWish { oracle.wishBegins(session) }
    if case .login(let owners) = kind { oracle.loginBegins(request.id, owners, session) }
    let connection = connection(of: user, service)
    guard let client = connection.client else { return 0 }
    connection.request = request
    waiting[request.id] = connection
    _ = service.receive(line.span, from: client, now: host.clock.now)
    return request.id
  }

  /// Nil for a session that is not kept, or that a caller has asked for in the calm.
  private func warmEnd(of session: Int, _ kind: OpenRequest.Kind) -> Instant? {
    guard case .get(isPlain: true) = kind, oracle.sessions[session].isWarm else { return nil }
    return deadline(oracle.sessions[session].longestWaitWhileKept)
  }

  /// The service may look up the user first.
  private func deadline(_ patience: Double) -> Instant {
    world.later(patience + 2 * SimulatedBackground.slowest)
  }

  private func connection(of user: Int, _ service: SessionService) -> SimulatedClient {
    if let known = idle[user]?.popLast() {
      guard world.random.happens(0.1), let client = known.client else { return known }
      service.left(client)
    }
    lastPID += 1
    let uid = user == Simulation.root ? 0 : SimulatedUsers.uid(user)
    let connection = SimulatedClient(user, uid: uid, pid: lastPID, self)
    connection.client = service.connected(connection, connection)
    return connection
  }

  /// A client hangs up, if it still waits.
  func leave(_ id: UInt64) {
    guard let connection = waiting.removeValue(forKey: id), let client = connection.client else {
      return
    }
    world.trace(session: connection.request?.session, "request \(id) is left")
    connection.request = nil
    host.service?.left(client)
  }

  /// All of a user's processes end.
  func leaveAll(of user: Int) {
    let requests = waiting.filter { $0.value.user == user }.keys.sorted()
    for id in requests { leave(id) }
    for connection in idle.removeValue(forKey: user) ?? [] {
      if let client = connection.client { host.service?.left(client) }
    }
  }

  /// The other end is gone.
  func disconnect() {
    idle = [:]
    waiting = [:]
  }

  // MARK: Answers

  func received(_ reply: [UInt8], _ connection: SimulatedClient) {
    guard let request = connection.request else {
      return world.violate(.answeredInTime, session: nil, "a client is answered that asked nothing")
    }
    connection.request = nil
    waiting[request.id] = nil
    idle[connection.user, default: []].append(connection)
    world.report.answers += 1
    checkLateness(request)
    if let end = request.warmUntil {
      oracle.keptSessionAnswered(late: world.now - end, request.session)
    }
    oracle.answered(request.session)
    if let code = Self.errorCode(of: reply) {
      refused(request, code, reply)
    } else {
      world.trace(session: request.session, "request \(request.id) is answered")
      answered(request, reply)
    }
    if request.isWish { oracle.wishEnds(request.session) }
  }

  private func answered(_ request: OpenRequest, _ reply: [UInt8]) {
    let session = request.session
    switch request.kind {
    case .get: oracle.credentialsGiven(reply, session)
    case .token: oracle.tokenGiven(reply, session)
    case .login(let owners): oracle.loginAccepted(owners, session)
    case .logout(let changes): oracle.signOutEnds(changes, session)
    case .clear(.identity): oracle.identityCleared(session)
    case .clear(.credentials), .release, .intrusion: break
    case .status: checkStatus(reply)
    }
  }

  private func refused(_ request: OpenRequest, _ code: String, _ reply: [UInt8]) {
    let session = request.session
    world.report.refusals += 1
    world.trace(
      session: session,
      "request \(request.id) is refused: \(String(decoding: reply.dropLast(), as: UTF8.self))")
    switch request.kind {
    case .get(isPlain: true): oracle.plainGetRefused(code, session)
    case .login: oracle.loginRefused(request.id, code, session)
    // The user is signed out on this host, even if not at the backend; unless the service has not
    // read the request yet.
    case .logout(let changes): oracle.signOutEnds(code == "ShuttingDown" ? nil : changes, session)
    default: break
    }
    // Without a developer provider there are no tokens to hand out.
    if case .token = request.kind, code == "AccessDenied",
      oracle.sessions[session].profile.backend == nil
    {
      return
    }
    if ["Internal", "AccessDenied", "UnknownProfile"].contains(code) {
      world.violate(.neverDropped, session: session, "refused with \(code)")
    }
    guard request.isFinal else { return }
    let isAsk = if case .get = request.kind { true } else { false }
    if oracle.finallyRefused(code, isAsk: isAsk, session) { signInAndAskAgain(session) }
  }

  /// The code of `{"Version":1,"Error":{"Code":"…`; nil where it is no error.
  private static func errorCode(of reply: [UInt8]) -> String? {
    guard reply.count > errorStart.count, reply[13] == errorStart[13],
      reply.starts(with: errorStart)
    else { return nil }
    let code = reply.dropFirst(errorStart.count).prefix { $0 != UInt8(ascii: "\"") }
    return String(decoding: code, as: UTF8.self)
  }

  private static let errorStart = Array(#"{"Version":1,"Error":{"Code":""#.utf8)

  // MARK: Time

  private func checkLateness(_ request: OpenRequest) {
    if world.now > request.deadline, world.now > world.awakeSince {
      world.violate(
        .answeredInTime, session: request.session,
        "request \(request.id) had to be answered \(world.now - request.deadline) ago")
    }
  }

  func checkLateness() {
    for id in waiting.keys.sorted() {
      if let request = waiting[id]?.request { checkLateness(request) }
    }
  }

  /// The host was asleep: the time of waiting requests begins again.
  func wokeUp() {
    for id in waiting.keys.sorted() {
      guard let request = waiting[id]?.request else { continue }
      waiting[id]?.request?.deadline = max(request.deadline, deadline(request.patience))
    }
  }

  // MARK: Status

  private func checkStatus(_ reply: [UInt8]) {
    guard case .array(let reports) = (try? JSONValue.parse(reply))?["Sessions"] else {
      return world.violate(.healthyAgain, session: nil, "status names no sessions")
    }
    for report in reports {
      guard let uid = report["Uid"]?.integer, let profile = report["Profile"]?.text,
        let user = SimulatedUsers.user(withUID: UInt32(uid)),
        let index = SimulatedUsers.sessions(ofUser: user).first(where: {
          oracle.sessions.indices.contains($0) && oracle.sessions[$0].profile.name == profile
        })
      else { continue }
      oracle.finalStatus(
        index, state: report["State"]?.text ?? "", failures: report["Failures"]?.integer ?? 0,
        hasCredentials: report["Expiration"] != nil)
    }
  }
}
