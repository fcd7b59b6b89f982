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
  /// The line, if the same line may get the same answer again; else empty.
  var line: [UInt8] = []
  /// For a request that starts again: whose account it was about, and the session that its client has
  /// signed in to.
  var account: AccountOwner?
  var signedInTo: Session?
  /// Where the client waits and is answered.
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

  /// Whether the client is there still: a write that fails ends it.
  var isOpen: Bool { clients[client.id] != nil }

  func give(_ reply: RenderedReply) { clients.give(reply, self) }

  func refuse(_ error: ProtocolError) {
    clients.refuse(error, id: request.id, asked: asked, client)
  }

  /// Gives a session's state, perhaps with a page that the user is to open.
  func giveState(of session: Session, logoutURL: String? = nil) {
    give(
      .session(
        profile: session.key.profile, state: session.machine.state.reported,
        identityID: session.machine.identityID, signedIn: clients.signedIn(to: session),
        logoutURL: logoutURL))
  }

  /// Lets the request wait for its caller to be looked up: it then starts again.
  func waitForCaller() {
    let waiting = waiting(for: .caller)
    waiting.signedInTo = signedInTo
    waiting.account = account
    clients.wait(client, for: waiting)
  }

  /// - Parameters:
  ///   - account: for a request about the account, whose it is.
  ///   - isAsking: false where the client only waits for what another one asked.
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
  /// Whether it may give an account to its user, or do something with one. The next person of a uid must
  /// not do this in the former one's session.
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
