/// A sign-in at an OpenID Connect provider, or at a user pool's Hosted UI, by a browser or by a device
/// code.
///
/// An event goes in, one action comes out, and the daemon performs it; the outcome is the next
/// event. The conversation reads no clock, sends nothing and changes no session. The session
/// changes only after ``Action/finish(_:)``.
public struct ProviderConversation: Sendable {
  /// How a user signs in.
  public enum Way: Sendable, Equatable {
    case browser(AuthorizationRequest)
    case device(scopes: [String])
  }

  public struct Plan: Sendable, Equatable {
    /// The backend's name.
    public var backend: String
    public var clientID: String
    public var way: Way
    /// The claims that the ID token of this user must have.
    public var required = RequiredClaims()

    public init(
      backend: String, clientID: String, way: Way, required: RequiredClaims = RequiredClaims()
    ) {
      self.backend = backend
      self.clientID = clientID
      self.way = way
      self.required = required
    }
  }

  /// The user of the session when the tokens come.
  public struct Present: Sendable, Equatable {
    /// The user of the sign-in that would be replaced; nil if nobody is signed in.
    public var user: User?
    /// The identity, with a login or a guest's data, to which the sign-in would be linked.
    public var linksTo: String?

    public struct User: Sendable, Equatable {
      /// Nil if the sign-in is not from an OpenID Connect provider.
      public var issuer: String?
      public var subject: String?
      /// The name to show to the user who confirms.
      public var shown: String

      public init(issuer: String?, subject: String?, shown: String) {
        self.issuer = issuer
        self.subject = subject
        self.shown = shown
      }
    }

    public init(user: User? = nil, linksTo: String? = nil) {
      self.user = user
      self.linksTo = linksTo
    }
  }

  public enum Event: Sendable {
    case started
    /// The result of ``Request/prepare(_:)``.
    case prepared(ProviderMetadata, challenge: String)
    case deviceGranted(DeviceGrant, at: ProviderMetadata)
    case exchanged(OIDCTokenReply, serverTime: WallTime?, present: Present)
    case deviceAnswered(DeviceAnswer, serverTime: WallTime?, present: Present)
    /// A request has failed.
    case failed(UpstreamFailure)
    case answered(ChallengeAnswers)
    /// The time ``nextPoll`` has come, and a client waits.
    case pollDue
  }

  public enum Request: Sendable, Equatable {
    /// Reads the discovery document, unless it is known, and computes the challenge of PKCE.
    case prepare(AuthorizationSecrets)
    case startDeviceGrant(scopes: [String])
    /// Exchanges the code at the provider to which the browser was sent, even if discovery now
    /// names other URLs.
    case exchange(
      code: Secret, redirectURI: String, AuthorizationSecrets, at: ProviderMetadata)
    case poll(DeviceGrant, at: ProviderMetadata)

    /// Secrets that messages must not repeat.
    public var secrets: [Secret] {
      switch self {
      case .prepare, .startDeviceGrant: []
      case .exchange(let code, _, let secrets, _): [code, secrets.verifier]
      case .poll(let grant, _): [grant.deviceCode]
      }
    }
  }

  public enum Action: Sendable, Equatable {
    case send(Request)
    /// A question that was not asked before. An answer is due before ``deadline``.
    case ask(SignInChallenge)
    /// The same question stays, because the answer does not fit or belongs to another sign-in.
    case refuse(ProtocolError)
    /// The user must still act elsewhere.
    case wait
    case finish(ProviderSignIn)
    /// - Parameter isRefusal: whether the provider refused the sign-in, rather than failed.
    case fail(UpstreamFailure, isRefusal: Bool)
  }

  enum State: Sendable {
    /// Goes to `preparing` or `startingDevice`.
    case begun
    /// Goes to `browsing` or `ended`.
    case preparing(AuthorizationRequest, AuthorizationSecrets)
    /// Goes to `exchanging` or `ended`.
    case browsing(Browsing)
    /// Goes to `confirming` or `ended`.
    case exchanging
    /// Goes to `typing` or `ended`.
    case startingDevice
    /// Goes to `confirming` or `ended`.
    case typing(Typing)
    /// The tokens have come, and the session has another user or identity. Goes to `ended`.
    case confirming(ProviderSignIn, SignInChallenge, deadline: Instant)
    case ended
  }

  /// The state while the user is in the browser.
  struct Browsing: Sendable {
    let request: AuthorizationRequest
    let secrets: AuthorizationSecrets
    let provider: ProviderMetadata
    let challenge: SignInChallenge
    let deadline: Instant
  }

  /// The state while the user types a code on another device.
  struct Typing: Sendable {
    let grant: DeviceGrant
    let provider: ProviderMetadata
    let challenge: SignInChallenge
    var polling: DevicePolling
    /// Whether a question to the provider is under way.
    var isAsking = false
  }

  /// The time for a confirmation, as for any question at the terminal.
  static let confirmationTime = Limits.Challenge.answerTime

  let plan: Plan
  var state = State.begun
  /// The provider that gives the tokens.
  var exchangedAt: ProviderMetadata?
  /// Tokens that came but do not go into a session. The ID token was refused, or the account may
  /// not be used, or the user has not confirmed.
  public internal(set) var unclaimed: UnclaimedTokens?

  /// Whether the user types a code on another device, so that no answer comes through the client.
  public var isByDevice: Bool { if case .device = plan.way { true } else { false } }

  public init(_ plan: Plan) {
    self.plan = plan
  }

  /// The question that waits for its user; nil if there is none.
  public var challenge: SignInChallenge? {
    switch state {
    case .browsing(let browsing): browsing.challenge
    case .typing(let typing): typing.challenge
    case .confirming(_, let challenge, _): challenge
    case .begun, .preparing, .exchanging, .startingDevice, .ended: nil
    }
  }

  /// Until when the question waits; nil if there is none.
  public var deadline: Instant? {
    switch state {
    case .browsing(let browsing): browsing.deadline
    case .typing(let typing): typing.polling.deadline
    case .confirming(_, _, let deadline): deadline
    case .begun, .preparing, .exchanging, .startingDevice, .ended: nil
    }
  }

  /// When the provider may be asked for the tokens of a device code; nil if there is no device
  /// code, or while the provider is being asked.
  public var nextPoll: Instant? {
    guard case .typing(let typing) = state, !typing.isAsking else { return nil }
    return typing.polling.next
  }

  var upstream: Upstream { .backend(plan.backend) }

  /// Takes an event.
  ///
  /// - Parameter random: draws state, nonce and verifier.
  public mutating func handle(
    _ event: Event, now: Instant, random: inout any RandomNumberGenerator
  ) -> Action {
    switch event {
    case .started: return start(&random)
    case .prepared(let provider, let challenge): return prepared(provider, challenge, now)
    case .deviceGranted(let grant, let provider): return granted(grant, provider, now)
    case .exchanged(let reply, let serverTime, let present):
      guard case .exchanging = state else { preconditionFailure("no code was exchanged") }
      return received(reply, serverTime, present, now)
    case .deviceAnswered(let answer, let serverTime, let present):
      return answered(answer, serverTime, present, now)
    case .failed(let failure): return failed(failure, now)
    case .answered(let answers): return answered(answers, now)
    case .pollDue: return poll()
    }
  }

  private mutating func start(_ random: inout any RandomNumberGenerator) -> Action {
    guard case .begun = state else { preconditionFailure("a sign-in starts once") }
    switch plan.way {
    case .browser(let request):
      let secrets = AuthorizationSecrets(using: &random)
      state = .preparing(request, secrets)
      return .send(.prepare(secrets))
    case .device(let scopes):
      state = .startingDevice
      return .send(.startDeviceGrant(scopes: scopes))
    }
  }

  mutating func fail(_ failure: UpstreamFailure, isRefusal: Bool = false) -> Action {
    state = .ended
    return .fail(failure, isRefusal: isRefusal)
  }
}

/// A successful sign-in at a provider: the data for the session.
public struct ProviderSignIn: Sendable, Equatable {
  public let tokens: OIDCTokens
  /// The provider that gave the tokens, with its URLs. The tokens go to no other server.
  public let provider: ProviderMetadata
  public let clientID: String
  /// The server's time in the reply with the tokens.
  public let serverTime: WallTime?
  /// When that reply arrived.
  public let received: Instant

  public init(
    tokens: OIDCTokens, provider: ProviderMetadata, clientID: String, serverTime: WallTime?,
    received: Instant
  ) {
    self.tokens = tokens
    self.provider = provider
    self.clientID = clientID
    self.serverTime = serverTime
    self.received = received
  }
}
