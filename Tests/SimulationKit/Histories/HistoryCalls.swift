import CredCore
import CredService

/// The calls of sessions on their way to the upstreams: a session has at most one under way.
final class HistoryCalls: UpstreamPerforming {
  private struct Session: Hashable {
    let uid: UInt32
    let profile: String
  }

  private let world: World
  private let client: UpstreamClient
  private var underWay: [Session: CallID] = [:]
  /// The calls that were given up last.
  private var givenUp: [Session: (call: CallID, at: Instant)] = [:]
  /// When a call was last given up. Its request may go on beside those of the next call.
  private(set) var lastGivenUp = World.beginning

  init(_ world: World, _ client: UpstreamClient) {
    self.world = world
    self.client = client
  }

  func start(_ request: CallRequest, completion: @escaping (UpstreamOutcome) -> Void) {
    // A renewal goes on whatever comes meanwhile: its new refresh token is kept.
    if case .renewProviderTokens = request.call {
      return client.start(request, completion: completion)
    }
    let session = Session(uid: request.user.uid, profile: request.profile.settings.name)
    // Only a sign-in, a sign-out or a reload puts a call in the place of another.
    let former = givenUp[session].flatMap { $0.at == world.now ? $0.call : nil }
    let replaced = world.isQuiet ? former : nil
    if let other = underWay.updateValue(request.id, forKey: session) ?? replaced {
      world.violate(
        .singleFlight,
        "call \(request.id) of \(session.profile), uid \(session.uid), begins beside \(other)")
    }
    client.start(request) { [weak self] outcome in
      self?.end(request.id)
      completion(outcome)
    }
  }

  @discardableResult
  private func end(_ id: CallID) -> Session? {
    guard let session = underWay.first(where: { $0.value == id })?.key else { return nil }
    underWay[session] = nil
    return session
  }

  func prioritise(_ id: CallID) { client.prioritise(id) }

  func cancel(_ id: CallID) {
    lastGivenUp = world.now
    if let session = end(id) { givenUp[session] = (id, world.now) }
    client.cancel(id)
  }

  func withdraw(_ id: CallID) -> Bool {
    guard client.withdraw(id) else { return false }
    end(id)
    return true
  }

  // MARK: What belongs to no session's call

  func signOut(_ request: BackendSignOut, completion: @escaping (UpstreamFailure?) -> Void) {
    client.signOut(request, completion: completion)
  }

  func account(
    _ call: AccountCall, completion: @escaping (Result<AccountResult, UpstreamFailure>) -> Void
  ) {
    client.account(call, completion: completion)
  }

  func converse(
    _ call: ConversationCall,
    completion: @escaping (PoolConversation.Event, PoolPlace) -> Void
  ) {
    client.converse(call, completion: completion)
  }

  func converse(
    _ call: ProviderCall, completion: @escaping (Result<ProviderReply, UpstreamFailure>) -> Void
  ) {
    client.converse(call, completion: completion)
  }

  func replicaInUse(of profile: Profile) -> String? { client.replicaInUse(of: profile) }
  func hostEnrolmentEnd(at backend: String) -> WallTime? { nil }

  func logoutURL(of profile: Profile) -> String? { client.logoutURL(of: profile) }

  func probe(_ request: ProbeRequest, completion: @escaping ([ProbeOutcome]) -> Void) {
    client.probe(request, completion: completion)
  }

  var requestEnded: ((EndedRequest) -> Void)? {
    get { client.requestEnded }
    set { client.requestEnded = newValue }
  }

  var callCount: Int { client.callCount }
}
