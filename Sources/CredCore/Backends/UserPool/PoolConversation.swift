/// A sign-in at a user pool, from the user's name to the tokens. The pool asks. The conversation
/// itself answers with proofs of the password and of a remembered device, and asks the user for the
/// rest.
///
/// An event goes in, one action comes out, and the daemon performs it; the outcome is the next
/// event. The conversation reads no clock, sends nothing and changes no session. The session
/// changes only after ``Action/finish(_:)``.
public struct PoolConversation: Sendable {
  /// The settings of the backend's configuration.
  public struct Plan: Sendable, Equatable {
    /// The backend's name.
    public var backend: String
    /// The issuer, which is a user pool.
    public var issuer: ProviderIssuer
    public var flow: UserPoolSettings.AuthFlow
    public var rememberDevice: UserPoolSettings.DeviceMemory

    public init(
      backend: String, issuer: ProviderIssuer, flow: UserPoolSettings.AuthFlow = .srp,
      rememberDevice: UserPoolSettings.DeviceMemory = .no
    ) {
      self.backend = backend
      self.issuer = issuer
      self.flow = flow
      self.rememberDevice = rememberDevice
    }

    var pool: UserPoolID {
      guard let pool = issuer.pool else {
        preconditionFailure("only a user pool asks back in such a way")
      }
      return pool
    }
  }

  /// The user who signs in, and the data for that.
  public struct Input: Sendable, Equatable {
    /// The user name as typed; it may be an alias.
    public var username: String
    /// The password; nil if the pool asks for something else.
    public var password: Secret?
    /// For the pool's triggers, with each request.
    public var metadata = ClientMetadata()
    /// For the pool's triggers, only with the first request.
    public var validationData = ClientMetadata()
    /// Devices that the pool remembers for users of this uid, by their immutable names.
    public var devices: [(username: String, device: DeviceSecret)] = []

    public init(username: String, password: Secret? = nil) {
      self.username = username
      self.password = password
    }

    public static func == (one: Input, other: Input) -> Bool {
      one.username == other.username && one.password == other.password
        && one.metadata == other.metadata && one.validationData == other.validationData
        && one.devices.elementsEqual(other.devices) { $0 == $1 }
    }
  }

  public enum Event: Sendable {
    case started
    case computed(PoolProof.Result)
    case replied(PoolReply)
    /// A request or a computation has failed.
    case failed(UpstreamFailure)
    /// - Parameter metadata: nil to use the metadata of the `login`.
    case answered(ChallengeAnswers, metadata: ClientMetadata? = nil)
  }

  public enum Action: Sendable, Equatable {
    case compute(PoolProof)
    case send(PoolRequest)
    /// Send the request after a pause.
    case sendLater(PoolRequest, after: Duration)
    /// The pool has a question that was not asked before. An answer is due before ``deadline``.
    ///
    /// - Parameter isRefusal: whether this is the former question again, because its answer was
    ///   wrong.
    case ask(SignInChallenge, isRefusal: Bool)
    /// The same question stays, because its answer was wrong or did not reach the pool.
    case askAgain(UpstreamFailure, isRefusal: Bool)
    /// The same question stays: the answer was not sent, because it does not fit.
    case refuse(ProtocolError)
    case finish(PoolSignInResult)
    /// - Parameter isRefusal: whether the password or an answer was wrong.
    case fail(UpstreamFailure, isRefusal: Bool)
  }

  indirect enum State: Sendable {
    /// Goes to `preparing` or `sending`.
    case begun
    /// Computes SRP_A of a request. Goes to `sending` or `ended`.
    case preparing(Prepared)
    /// Goes to `preparing`, `proving`, `sending`, `asked`, `confirming` or `ended`.
    case sending(Sent)
    /// Computes the proof for a challenge. Goes to `sending` or `ended`.
    case proving(PoolChallenge, ofDevice: Bool)
    /// Goes to `sending`, `preparing`, `asked`, `confirming` or `ended`.
    case asked(Question)
    /// The tokens have come, and the pool is being told of this device. Goes to `asked` or `ended`.
    case confirming(ReceivedTokens, DeviceSecret, Confirmation)
    case ended
  }

  /// The request for which an SRP_A is computed.
  enum Prepared: Sendable {
    case start
    case device(PoolChallenge)
    /// The password, with the question that the user answered, if any.
    case password(PoolChallenge, asChoice: Bool, Question?)
  }

  /// A request whose reply is awaited.
  struct Sent: Sendable {
    /// The values for the request's SRP_A.
    var pair: SRPKeyPair?
    /// The question that the request answers; nil if it answers none.
    var question: Question?
    /// Whether the request is about the device.
    var isOfDevice = false
    /// Whether the request carries the password or its proof.
    var isOfPassword = false
    /// The challenge MFA_SETUP, if the request sets up an authenticator app.
    var setup: PoolChallenge?
  }

  /// Tokens, and when they came.
  struct ReceivedTokens: Sendable {
    let tokens: ProviderTokens
    let serverTime: WallTime?
    let received: Instant
  }

  /// How far the confirmation of a device is.
  enum Confirmation: Sendable {
    case computing
    case sending(DeviceVerifier, attempt: Int)
    case remembering
  }

  let plan: Plan
  var input: Input
  /// The user's name for the next request.
  var username: String
  var device: DeviceSecret?
  /// A device that the pool does not know any more. A second such device in a sign-in is a failure.
  var droppedDevice: String?
  /// Whether the password was given in answer to a question for it.
  var hasGivenPassword = false
  /// Whether the pool went on after it had the password.
  var isPasswordProved = false
  /// Whether later sign-ins are to use the device that this sign-in brings.
  var wantsDevice: Bool
  /// Requests since the user's last answer.
  var requests = 0
  var wrongAnswers = 0
  /// How many answers the pool's trigger did not judge: it only asked another question. They count
  /// as wrong if the sign-in ends without success.
  public internal(set) var unjudgedAnswers = 0
  var state = State.begun
  /// The server's time, and when credd read it.
  var serverTime: (time: WallTime, at: Instant)?

  /// - Throws: if Cognito would refuse the name or the password.
  public init(_ plan: Plan, _ input: Input) throws(ProtocolError) {
    _ = try Self.answer("username") { () throws(InvalidInput) in
      try UserPoolInput.username(input.username)
    }
    if let password = input.password {
      _ = try Self.answer("password") { () throws(InvalidInput) in
        try UserPoolInput.password(password)
      }
    }
    self.plan = plan
    self.input = input
    username = input.username
    wantsDevice = plan.rememberDevice == .yes
    device = Self.device(of: input.username, in: input)
  }

  /// The question that waits for an answer; nil if there is none.
  public var challenge: SignInChallenge? {
    if case .asked(let question) = state { question.challenge } else { nil }
  }

  /// Until when the question can be answered; nil if there is no question.
  public var deadline: Instant? {
    if case .asked(let question) = state { question.deadline } else { nil }
  }

  /// The pool's name for the user, once a password was proved; nil before.
  public var provedUser: String? { isPasswordProved ? username : nil }

  /// Takes an event.
  ///
  /// - Parameters:
  ///   - wallTime: this host's time of day, used if the pool does not say the time.
  ///   - random: draws the private values of proofs, and the password of a device.
  public mutating func handle(
    _ event: Event, now: Instant, wallTime: WallTime, random: inout any RandomNumberGenerator
  ) -> Action {
    var context = Context(now: now, wallTime: wallTime, random: random)
    defer { random = context.random }
    switch event {
    case .started: return start(&context)
    case .computed(let result): return computed(result, &context)
    case .replied(let reply): return replied(reply, &context)
    case .failed(let failure): return failed(failure, &context)
    case .answered(let answers, let metadata): return answered(answers, metadata, &context)
    }
  }

  /// The input of an event.
  struct Context {
    let now: Instant
    let wallTime: WallTime
    var random: any RandomNumberGenerator
  }

  var upstream: Upstream { .backend(plan.backend) }

  static func device(of username: String, in input: Input) -> DeviceSecret? {
    // Compares bytes: Swift takes composed and decomposed accents as equal, the pool as two users.
    input.devices.first { $0.username.utf8.elementsEqual(username.utf8) }?.device
  }

  /// Turns a problem of an answer into its refusal.
  static func answer<Value>(
    _ name: String, _ body: () throws(InvalidInput) -> Value
  ) throws(ProtocolError) -> Value {
    do { return try body() } catch { throw .invalid("\(name.quoted) \(error.reason)") }
  }
}

/// The result of a conversation with a user pool.
public struct PoolSignInResult: Sendable, Equatable {
  /// The data for the session.
  public let signIn: AcceptedSignIn
  /// A device to keep: the pool knows it from now on, and it replaces a second factor.
  public let newDevice: DeviceSecret?
  /// A device that the pool knows from now on, but that the user has not allowed it to remember.
  /// credd keeps it, but no sign-in uses it.
  public let unusedDevice: DeviceSecret?
  /// The key of a device that the pool does not know any more.
  public let droppedDevice: String?
}

extension UserPoolSettings.AuthFlow {
  /// Whether a sign-in needs a password to begin.
  public var needsPassword: Bool {
    switch self {
    case .srp, .password, .customSRP: true
    case .custom, .choice: false
    }
  }
}
