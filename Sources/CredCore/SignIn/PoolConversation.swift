/// A sign-in at a user pool, from the user's name to the tokens: the pool asks, and this answers what
/// it can by itself (proofs of the password and of a remembered device) and asks the user for the rest.
///
/// Events go in, one action comes out, and the daemon performs it; its outcome is the next event. It
/// reads no clock and sends nothing. It changes no session: that begins with ``Action/finish(_:)``.
public struct PoolConversation: Sendable {
  /// What the backend's configuration says.
  public struct Plan: Sendable, Equatable {
    /// The backend's name.
    public var backend: String
    public var issuer: PoolIssuer
    public var flow: UserPoolSettings.AuthFlow
    public var rememberDevice: UserPoolSettings.DeviceMemory

    public init(
      backend: String, issuer: PoolIssuer, flow: UserPoolSettings.AuthFlow = .srp,
      rememberDevice: UserPoolSettings.DeviceMemory = .no
    ) {
      self.backend = backend
      self.issuer = issuer
      self.flow = flow
      self.rememberDevice = rememberDevice
    }
  }

  /// Who signs in, and with what.
  public struct Input: Sendable, Equatable {
    /// As typed; an alias will do.
    public var username: String
    /// Nil where the pool asks for something else.
    public var password: Secret?
    /// For the pool's triggers, with each request.
    public var metadata = ClientMetadata()
    /// The same, with the first request alone.
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
    /// - Parameter metadata: nil for that of the `login`.
    case answered(ChallengeAnswers, metadata: ClientMetadata? = nil)
  }

  public enum Action: Sendable, Equatable {
    case compute(PoolProof)
    case send(PoolRequest)
    /// The pool has a question that was not asked before. An answer is due before ``deadline``.
    ///
    /// - Parameter isRefusal: whether the question before is asked once more, because its answer was
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
    /// SRP_A of a request. Goes to `sending`.
    case preparing(Prepared)
    /// Goes to `preparing`, `proving`, `sending`, `asked`, `confirming` or `ended`.
    case sending(Sent)
    /// The proof that a challenge wants. Goes to `sending` or `ended`.
    case proving(PoolChallenge, ofDevice: Bool)
    /// Goes to `sending`, `preparing`, `asked` or `ended`.
    case asked(Question)
    /// The tokens are here, and the pool is told of this device. Goes to `asked` or `ended`.
    case confirming(Arrival, DeviceSecret, Confirmation)
    case ended
  }

  /// What an SRP_A is computed for.
  enum Prepared: Sendable {
    case start
    case device(PoolChallenge)
    /// With the question that the user answered, if any.
    case password(PoolChallenge, asChoice: Bool, Question?)
  }

  /// A request whose reply is awaited.
  struct Sent: Sendable {
    /// The values that belong to its SRP_A.
    var pair: SRPKeyPair?
    /// The question whose answer it carries; nil if it carries none.
    var question: Question?
    /// Whether it is about the device.
    var isOfDevice = false
    /// MFA_SETUP, where the request sets up an authenticator app.
    var setup: PoolChallenge?
  }

  /// Tokens, and when they came.
  struct Arrival: Sendable {
    let tokens: PoolTokens
    let serverTime: WallTime?
    let received: Instant
  }

  /// How far the pool knows of a device.
  enum Confirmation: Sendable {
    case computing
    case sending(DeviceVerifier, isRepeated: Bool)
    case remembering
  }

  let plan: Plan
  var input: Input
  /// The user's name for the next request.
  var username: String
  var device: DeviceSecret?
  /// A device that the pool does not know any more. The second one of a sign-in is a failure.
  var droppedDevice: String?
  /// Whether the password was given to a question that came for it.
  var hasGivenPassword = false
  /// Requests since the user's last answer.
  var requests = 0
  var wrongAnswers = 0
  var state = State.begun
  /// The server's time, and when it was read.
  var serverTime: (time: WallTime, at: Instant)?

  /// Wrong answers that end it.
  static let mostWrongAnswers = 10
  /// A sign-in without a question takes seven, with a device that is dropped; a pool that goes on
  /// asking must not keep credd busy.
  static let mostRequests = 16
  /// The least that Cognito keeps a Session for (AuthSessionValidity). Pools do not say theirs.
  public static let answerTime = Duration.seconds(180)

  /// - Throws: if Cognito would refuse the name or the password.
  public init(_ plan: Plan, _ input: Input) throws(ProtocolError) {
    guard
      (1...Limits.UserPool.usernameLength).contains(input.username.unicodeScalars.count),
      input.username.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
    else {
      throw .invalid(
        "\"username\" must be 1 to \(Limits.UserPool.usernameLength) characters without controls")
    }
    if let password = input.password {
      _ = try Self.answer("password") { () throws(InvalidInput) in
        try UserPoolInput.password(password)
      }
    }
    self.plan = plan
    self.input = input
    username = input.username
    device = Self.device(of: input.username, in: input)
  }

  /// The question that waits for an answer; nil if there is none.
  public var challenge: SignInChallenge? {
    if case .asked(let question) = state { question.challenge } else { nil }
  }

  /// Until when the question can be answered; nil if there is none.
  public var deadline: Instant? {
    if case .asked(let question) = state { question.deadline } else { nil }
  }

  /// Takes an event.
  ///
  /// - Parameters:
  ///   - wallTime: the time of day, for a pool that does not say its own.
  ///   - random: for the private values of proofs, and the password of a device.
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

  /// What an event needs.
  struct Context {
    let now: Instant
    let wallTime: WallTime
    var random: any RandomNumberGenerator
  }

  var upstream: Upstream { .backend(plan.backend) }

  static func device(of username: String, in input: Input) -> DeviceSecret? {
    // Bytes: Swift takes composed and decomposed accents as equal, the pool as two users.
    input.devices.first { $0.username.utf8.elementsEqual(username.utf8) }?.device
  }

  /// Turns what is wrong with an answer into its refusal.
  static func answer<Value>(
    _ name: String, _ body: () throws(InvalidInput) -> Value
  ) throws(ProtocolError) -> Value {
    do { return try body() } catch { throw .invalid("\(name.quoted) \(error.reason)") }
  }
}

/// What a conversation with a user pool ends with.
public struct PoolSignInResult: Sendable, Equatable {
  /// What goes into the session.
  public let signIn: PoolSignIn
  /// A device to keep: the pool knows it from now on, and it takes the place of a second factor.
  public let newDevice: DeviceSecret?
  /// The key of a device that the pool does not know any more.
  public let droppedDevice: String?
}

extension UserPoolSettings.AuthFlow {
  /// Whether a sign-in cannot begin without a password.
  public var needsPassword: Bool {
    switch self {
    case .srp, .password, .customSRP: true
    case .custom, .choice: false
    }
  }
}
