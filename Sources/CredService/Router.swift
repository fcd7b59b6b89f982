import CredCore

/// Passes each operation to the part that carries it out.
final class Router: RequestCarrying {
  private let clients: Clients
  private let sessions: SessionTable
  private let configuration: ConfigurationInForce
  private let admittance: Admittance
  private let grants: Grants
  private let answers: Answers
  private let signIns: SignIns
  private let signOuts: SignOuts
  private let accountActions: AccountActions
  private let checks: Checks
  private let reports: Reports
  private let http: HTTPClients
  private let process: ProcessFacts

  init(_ base: ServiceBase, _ owners: ServiceOwners) {
    clients = base.clients
    sessions = base.sessions
    configuration = base.configuration
    process = base.host.process
    admittance = owners.admittance
    grants = owners.grants
    answers = owners.answers
    signIns = owners.signIns
    signOuts = owners.signOuts
    accountActions = owners.accountActions
    checks = owners.checks
    reports = owners.reports
    http = owners.http
  }

  /// Carries out a request, perhaps a second time when the caller is known.
  func route(_ turn: Turn) {
    if let error = turn.door.refusal(of: turn.request.operation) { return turn.refuse(error) }
    switch turn.request.operation {
    case .get(let get):
      admittance.withSession(get.profile, inNameOf: get.user, turn) { answers.get(get, $0, turn) }
    case .token(let token):
      admittance.withSession(token.profile, turn) { answers.token(token, $0, turn) }
    case .identity(let profile):
      admittance.withSession(profile, turn, .answer) { turn.giveState(of: $0) }
    case .status(let status): reports.giveStatus(status, turn)
    case .ping: ping(turn)
    case .login(let login):
      withSignIn(login.profile, turn) { signIns.login(login, to: $0, turn) }
    case .respond(let respond): signIns.respond(respond, turn)
    case .account(let account):
      withSignIn(account.profile, turn) { accountActions.act(account, in: $0, turn) }
    case .logout(let logout):
      let need = signOuts.need(
        of: configuration[logout.profile], by: turn.client.peer.uid, global: logout.global)
      withSignIn(logout.profile, turn, need) { signOuts.signOut(logout, $0, turn) }
    case .clear(let profile, let scope):
      let need = signOuts.needOfClear(by: turn.client.peer.uid)
      if scope == .identity {
        withSignIn(profile, turn, need) { signOuts.clear(scope, $0, turn) }
      } else {
        admittance.withSession(profile, turn, need) { signOuts.clear(scope, $0, turn) }
      }
    case .release(let profile): withSignIn(profile, turn) { answers.release($0, turn) }
    case .watch(let profile): grants.watch(profile, turn)
    case .metrics: reports.giveMetrics(turn)
    case .check(let profile?): checks.check(profile, turn)
    case .check(nil): checks.checkAll(turn)
    case .endpoint(let profile): http.giveEndpoint(of: profile, turn)
    }
  }

  /// Runs `body` with the caller's session, unless users sign in to the profile's source.
  private func withSignIn(
    _ profile: String, _ turn: Turn, _ need: SessionNeed = .session, _ body: (Session) -> Void
  ) {
    admittance.withSession(profile, turn, need) { session in
      if let error = session.profile.refusalOfSignIn(turn.request.operation.name) {
        return turn.refuse(error)
      }
      body(session)
    }
  }

  /// Over a socket with a cap, `ping` names what there is, since nothing else lists it.
  private func ping(_ turn: Turn) {
    guard let cap = turn.door.cap else {
      return turn.give(.ping(version: Version.current, pid: process.pid))
    }
    var profiles: [String] = []
    switch admittance.caller(turn.client, cap.needs, turn.now) {
    case .known(let caller): profiles = admittance.profiles(of: caller, behind: turn.door)
    case .pending: return turn.waitForCaller()
    case .unknown: break
    }
    turn.give(
      .ping(
        version: Version.current, pid: process.pid, operations: cap.operations, profiles: profiles))
  }

  /// Ends the wait of a client that has disconnected or may not wait any longer.
  func abandonWait(of client: Client) {
    guard let waiting = clients.endWait(client) else { return }
    checks.abandon(waiting)
    guard let session = waiting.session else { return }
    signIns.waitEnded(waiting.request, in: session, .refused)
    session.asking.checks[client.id] = nil
    signIns.clientLeft(client.id, session.key)
    sessions.handle(.waiterLeft(client.id), session, clients.now)
  }
}
