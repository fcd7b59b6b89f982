/// A sign-in at an OpenID Connect provider, or at a user pool's Hosted UI, by a browser or by a device
/// code.
///
/// Events go in, one action comes out, and the daemon performs it; its outcome is the next event. It
/// reads no clock and sends nothing. It changes no session: that begins with ``Action/finish(_:)``.
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
    /// What the ID token must say of this user.
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

  /// Whose the session is when the tokens come.
  public struct Present: Sendable, Equatable {
    /// Of the sign-in that would be replaced; nil where nobody is signed in.
    public var user: User?
    /// The identity with a login or a guest's data that the sign-in would be linked to.
    public var linksTo: String?

    public struct User: Sendable, Equatable {
      /// Nil where no provider of OpenID Connect gave the sign-in.
      public var issuer: String?
      public var subject: String?
      /// For the user who has to confirm.
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
    /// What ``Request/prepare(_:)`` brings.
    case prepared(ProviderMetadata, challenge: String)
    case deviceGranted(DeviceGrant, at: ProviderMetadata)
    case exchanged(OIDCTokenReply, serverTime: WallTime?, present: Present)
    case deviceAnswered(DeviceAnswer, serverTime: WallTime?, present: Present)
    /// A request has failed.
    case failed(UpstreamFailure)
    case answered(ChallengeAnswers)
    /// The time ``nextPoll`` has come, and somebody waits.
    case pollDue
  }

  public enum Request: Sendable, Equatable {
    /// Reads the discovery document, unless it is known, and computes the challenge of PKCE.
    case prepare(AuthorizationSecrets)
    case startDeviceGrant(scopes: [String])
    /// At the provider that the browser was sent to, whatever discovery says by now.
    case exchange(
      code: Secret, redirectURI: String, AuthorizationSecrets, at: ProviderMetadata)
    case poll(DeviceGrant, at: ProviderMetadata)

    /// What must not come back in a message.
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
    /// The same question stays: the answer does not fit, or is not of this sign-in.
    case refuse(ProtocolError)
    /// The user has still to act elsewhere.
    case wait
    case finish(ProviderSignIn)
    /// - Parameter isRefusal: whether the sign-in was refused, and not prevented.
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
    /// The tokens are here, and another sign-in or identity too. Goes to `ended`.
    case confirming(ProviderSignIn, SignInChallenge, deadline: Instant)
    case ended
  }

  /// The browser is on its way.
  struct Browsing: Sendable {
    let request: AuthorizationRequest
    let secrets: AuthorizationSecrets
    let provider: ProviderMetadata
    let challenge: SignInChallenge
    let deadline: Instant
  }

  /// The user types a code.
  struct Typing: Sendable {
    let grant: DeviceGrant
    let provider: ProviderMetadata
    let challenge: SignInChallenge
    var polling: DevicePolling
    /// Whether a question to the provider is under way.
    var isAsking = false
  }

  /// For a confirmation, as for any question at the terminal.
  static let confirmationTime = Limits.Challenge.answerTime

  let plan: Plan
  var state = State.begun
  /// Who gives the tokens.
  var exchangedAt: ProviderMetadata?
  /// What came and is not taken into a session: with an ID token that is refused, of an account that
  /// may not be used, or not confirmed.
  public internal(set) var unclaimed: UnclaimedTokens?

  /// Whether the user types a code elsewhere, and brings nothing back.
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

  /// Until when it waits; nil if there is no question.
  public var deadline: Instant? {
    switch state {
    case .browsing(let browsing): browsing.deadline
    case .typing(let typing): typing.polling.deadline
    case .confirming(_, _, let deadline): deadline
    case .begun, .preparing, .exchanging, .startingDevice, .ended: nil
    }
  }

  /// When the provider may be asked for the tokens of a device code; nil where it has none to ask for,
  /// or is being asked.
  public var nextPoll: Instant? {
    guard case .typing(let typing) = state, !typing.isAsking else { return nil }
    return typing.polling.next
  }

  var upstream: Upstream { .backend(plan.backend) }

  /// Takes an event.
  ///
  /// - Parameter random: for state, nonce and verifier.
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

/// A sign-in at a provider that has succeeded: what goes into the session.
public struct ProviderSignIn: Sendable, Equatable {
  public let tokens: OIDCTokens
  /// Who gave them, and where. They go to nobody else.
  public let provider: ProviderMetadata
  public let clientID: String
  /// The server's time, of the reply with the tokens.
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

/// Tokens that a provider gave and that no session has: they are to be revoked.
public struct UnclaimedTokens: Sendable, Equatable {
  public let refresh: Secret
  /// Who gave them.
  public let provider: ProviderMetadata
  /// Nil where it is not known whose they are.
  public let subject: String?

  /// Nil without a refresh token: nothing is left that could be revoked.
  init?(_ refresh: Secret?, from provider: ProviderMetadata, of subject: String?) {
    guard let refresh else { return nil }
    self.refresh = refresh
    self.provider = provider
    self.subject = subject
  }
}
