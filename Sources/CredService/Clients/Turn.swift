import CredCore

/// A client's request while it is carried out: everything about it, as one argument.
struct Turn {
  let client: Client
  let request: Request
  let now: Instant
  /// See ``WaitingRequest/asked``.
  let asked: String
  /// See ``WaitingRequest/nameSince``.
  let nameSince: Instant?
  /// The request's line, if an equal line may get the same answer; else empty.
  var line: [UInt8] = []
  /// For a request that starts again: the owner of the account that it was about, and the session
  /// to which its client has signed in.
  var account: AccountOwner?
  var signedInTo: Session?
  /// The table in which the client waits and through which it is answered.
  private let clients: Clients

  /// A request that has just come.
  init(_ request: Request, of client: Client, at now: Instant, in clients: Clients) {
    self.client = client
    self.request = request
    self.now = now
    self.clients = clients
    asked = request.operation.name
    nameSince = request.operation.joinsAccount ? now : nil
  }

  /// A request that has waited.
  init(_ waiting: WaitingRequest, of client: Client, at now: Instant, in clients: Clients) {
    self.client = client
    request = waiting.request
    self.now = now
    self.clients = clients
    asked = waiting.asked
    line = waiting.line
    nameSince = waiting.nameSince
    account = waiting.account
    signedInTo = waiting.signedInTo
  }

  var requester: Requester { Requester(client: client, purpose: request.purpose) }

  /// What there is for the client.
  var door: Door { client.door }

  /// Whether the client is still connected: a write that fails removes it.
  var isOpen: Bool { clients[client.id] != nil }

  func give(_ reply: RenderedReply) { clients.give(reply, self) }

  func refuse(_ error: ProtocolError) {
    clients.refuse(door.worded(error), id: request.id, asked: asked, client)
  }

  /// Gives a session's state, perhaps with a page for the user to open.
  func giveState(of session: Session, logoutURL: String? = nil) {
    give(
      .session(
        profile: session.key.profile, state: session.machine.state.reported,
        identityID: session.machine.identityID, signedIn: clients.signedIn(to: session),
        logoutURL: logoutURL,
        derived: DerivedReport(
          session.profile, holding: session.machine.credentials?.credentials, naming: door.has)))
  }

  /// Lets the request wait until its caller is looked up: then the request starts again.
  func waitForCaller() {
    let waiting = waiting(for: .caller)
    waiting.signedInTo = signedInTo
    waiting.account = account
    clients.wait(client, for: waiting)
  }

  /// - Parameters:
  ///   - account: the account's owner, for a request about an account.
  ///   - isAsking: false if the client only waits for the result of another client's request.
  func wait(
    for session: Session, about account: AccountOwner? = nil, isAsking: Bool = true
  ) {
    let waiting = waiting(for: .session(session))
    waiting.account = account
    if isAsking { session.asking.client = client.id }
    clients.wait(client, for: waiting)
  }

  func wait(for call: CallID) { clients.wait(client, for: waiting(for: .call(call))) }

  private func waiting(for subject: WaitingRequest.Subject) -> WaitingRequest {
    let waiting = WaitingRequest(request, for: subject, asked: asked, nameSince: nameSince)
    waiting.line = line
    return waiting
  }
}

extension Operation {
  /// Whether the operation may sign in to an account, or do something with one. The next person of
  /// a uid must not do this in the former person's session.
  var joinsAccount: Bool {
    switch self {
    case .login, .account: true
    case .respond(let respond):
      switch respond.input {
      case .cancel, .wait: false
      default: true
      }
    default: false
    }
  }
}
