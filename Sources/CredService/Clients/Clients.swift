import CredCore

/// The connected clients: which of them wait, and how they are answered.
final class Clients {
  private struct AccountAllowance: Hashable {
    let account: Account
    let allowance: UnixSocketPath?
  }

  private var byID: [UInt64: Client] = [:]
  private var lastID: UInt64 = 0
  /// Users with a client.
  private(set) var users: [UserPlace: ClientUser] = [:]
  /// How many sessions have waiting requests, for each account.
  private var waitingSessions: [AccountAllowance: Int] = [:]
  private let doors: Doors
  private let clock: any Clock
  private let accounts: AccountDirectory
  private let journal: Journal
  private let figures: Figures

  init(
    doors: Doors, clock: any Clock, accounts: AccountDirectory, journal: Journal, figures: Figures
  ) {
    self.doors = doors
    self.clock = clock
    self.accounts = accounts
    self.journal = journal
    self.figures = figures
  }

  // MARK: Connections

  func connect(
    _ facts: any PeerFacts, _ sink: any ReplySink, by transport: Transport,
    at socket: ClientSocket = .main
  ) -> Client {
    let place = UserPlace(uid: facts.peer.uid, allowance: socket.allowance)
    let user =
      users[place]
      ?? ClientUser(uid: place.uid, at: place.allowance, account: accounts.known(place.uid))
    users[place] = user
    user.clientCount += 1
    lastID += 1
    let client = Client(
      id: lastID, user: user, transport: transport, at: socket, door: doors.door(of: socket),
      facts: facts, sink: sink)
    byID[client.id] = client
    return client
  }

  /// Call it when the client neither waits nor watches any more.
  func remove(_ client: Client) {
    byID[client.id] = nil
    client.user.clientCount -= 1
    guard client.user.clientCount == 0 else { return }
    users[UserPlace(uid: client.user.uid, allowance: client.user.allowance)] = nil
  }

  subscript(_ id: UInt64) -> Client? { byID[id] }

  var count: Int { byID.count }

  var now: Instant { clock.now }

  var httpCount: Int { byID.values.count { $0.http != nil } }

  /// The clients in the order in which they connected, so that work for many clients has the same
  /// order in every process.
  var inOrder: [Client] { byID.values.sorted { $0.id < $1.id } }

  /// The first client that waits in a session.
  func first(waitingIn session: Session) -> Client? {
    byID.values.filter { $0.waiting?.session === session }.min { $0.id < $1.id }
  }

  /// Forgets the uid's kept answers: its next request is decided anew.
  func forgetAnswers(of uid: UInt32) {
    for user in users.values where user.uid == uid { user.cachedAnswer = nil }
    for client in byID.values where client.peer.uid == uid { client.forgetAnswers() }
  }

  /// Forgets inspected programs, because other programs may have to be hashed.
  func forgetExecutables() {
    for client in byID.values { client.program.known = nil }
  }

  // MARK: Waits

  /// Makes a client wait for the answer to a request.
  func wait(_ client: Client, for waiting: WaitingRequest) {
    client.setWaiting(waiting)
    guard let session = waiting.session else { return }
    settleAccount(of: client.user)
    let id = ObjectIdentifier(session)
    if client.user.waitingSessions[id] == nil { countWaiting(1, of: client.user) }
    client.user.waitingSessions[id, default: 0] += 1
  }

  /// Ends the wait of a client that gets its answer or has disconnected. Returns nil if the client
  /// does not wait.
  @discardableResult
  func endWait(_ client: Client) -> WaitingRequest? {
    guard let waiting = client.waiting else { return nil }
    client.setWaiting(nil)
    guard let session = waiting.session else { return waiting }
    let id = ObjectIdentifier(session)
    let left = (client.user.waitingSessions[id] ?? 0) - 1
    client.user.waitingSessions[id] = left > 0 ? left : nil
    if left <= 0 { countWaiting(-1, of: client.user) }
    return waiting
  }

  /// Ends a wait in a session. Returns nil if the client does not wait there, so that an answer
  /// never goes to another request.
  func endWait(_ id: UInt64, in session: Session) -> Turn? {
    guard let client = byID[id], let waiting = client.waiting, waiting.session === session
    else { return nil }
    endWait(client)
    return turn(waiting, client)
  }

  /// Ends a wait for a call that belongs to no session.
  func endWait(_ id: UInt64, for call: CallID) -> Turn? {
    guard let client = byID[id], let waiting = client.waiting, waiting.isFor(call)
    else { return nil }
    endWait(client)
    return turn(waiting, client)
  }

  /// A request that goes on after a wait.
  func turn(_ waiting: WaitingRequest, _ client: Client) -> Turn {
    Turn(waiting, of: client, at: clock.now, in: self)
  }

  /// Refuses a request of a user who waits in too many other sessions. Further requests in the same
  /// session do not count.
  func refusalOfWait(in session: Session, _ client: Client) -> ProtocolError? {
    settleAccount(of: client.user)
    guard session.machine.waiterCount == 0,
      waitingSessions[allowance(of: client.user), default: 0] >= Limits.Client.waitingSessions
    else { return nil }
    figures.hit(.waitingSessions)
    return ProtocolError(
      .tooManyRequests,
      "requests of this user wait in \(Limits.Client.waitingSessions) other profiles already",
      retryAfter: .seconds(1))
  }

  /// Counts the waiting requests for the user's account, once that is known.
  private func settleAccount(of user: ClientUser) {
    let account = accounts.known(user.uid)
    guard account != user.account else { return }
    countWaiting(-user.waitingSessions.count, of: user)
    user.account = account
    countWaiting(user.waitingSessions.count, of: user)
  }

  private func countWaiting(_ difference: Int, of user: ClientUser) {
    let key = allowance(of: user)
    let count = waitingSessions[key, default: 0] + difference
    waitingSessions[key] = count > 0 ? count : nil
  }

  /// Accounts without an owner have one allowance at all sockets together: their uids are many.
  private func allowance(of user: ClientUser) -> AccountAllowance {
    AccountAllowance(
      account: user.account, allowance: user.account == .ownerless ? nil : user.allowance)
  }

  // MARK: Answers

  /// Who is signed in, and how.
  func signedIn(to session: Session) -> SignedIn? {
    let (now, wall) = (clock.now, clock.wallTime)
    return session.root.machine.signedIn(hostName: session.userName) { wall + ($0 - now) }
  }

  func give(_ reply: RenderedReply, _ turn: Turn) {
    countAnswer(turn)
    guard let id = turn.request.id else { return turn.client.sink.send(reply.bytes) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(reply.bytes.count + id.json.count + 8)
    reply.append(to: &bytes, id: id)
    turn.client.sink.send(bytes)
  }

  /// Gives a session's credentials in the format of the client's transport.
  func giveCredentials(of session: Session, _ turn: Turn) {
    guard let http = turn.client.http else {
      guard let reply = session.reply else { return turn.refuse(.nothingHeld) }
      return give(reply, turn)
    }
    guard let reply = session.endpointReply(closes: http.closes) else {
      return Self.send(.error(.nothingHeld), to: turn.client, closes: true)
    }
    countAnswer(turn)
    Self.send(reply, to: turn.client, closes: http.closes)
  }

  func giveMetrics(_ text: [UInt8], _ turn: Turn) {
    guard let http = turn.client.http else { return give(.metrics(text), turn) }
    countAnswer(turn)
    Self.send(.metrics(text, closes: http.closes), to: turn.client, closes: http.closes)
  }

  /// - Parameter asked: the operation under which the refusal is counted.
  func refuse(_ error: ProtocolError, id: RequestID?, asked: String, _ client: Client) {
    figures.answered(asked, isHTTP: client.http != nil, error.code.rawValue)
    // Refused sign-ins and actions of accounts have other entries.
    if error.code == .tooManyRequests, !["login", "respond", "account"].contains(asked) {
      journal.limitHit(error, of: client.peer, unit: client.unit())
    }
    if let http = client.http {
      if error.endsAccess {
        journal.forbidden(error, to: asked == "get" ? http.askedProfile : nil, client)
      }
      return Self.send(.error(error), to: client, closes: true)
    }
    var bytes: [UInt8] = []
    RenderedReply.error(error).append(to: &bytes, id: id)
    client.sink.send(bytes)
  }

  /// Refuses an HTTP request that is no request to a session.
  func refuse(_ refusal: EndpointRefusal, asked: String, _ client: Client) {
    figures.answered(asked, isHTTP: true, refusal.rawValue)
    Self.send(.refusal(refusal), to: client, closes: true)
  }

  /// Refuses a request because of its token.
  ///
  /// - Parameter own: the profile of the client's own token; nil if it brought none.
  func refuseToken(of own: String?, for profile: String, _ client: Client) {
    guard let own else { return refuse(.token, asked: "get", client) }
    figures.answered("get", isHTTP: true, EndpointRefusal.token.rawValue)
    Self.send(.tokenOfOtherProfile(own, asked: profile), to: client, closes: true)
  }

  private static func send(_ reply: EndpointReply, to client: Client, closes: Bool) {
    client.sink.send(reply.bytes)
    if closes { client.sink.finish() }
  }

  private func countAnswer(_ turn: Turn) {
    figures.answered(turn.request.operation.name, isHTTP: turn.client.http != nil)
  }
}
