import SeededRandom

@testable import CredCore

/// A sign-in at a pool that answers as a test has written down.
final class PoolTalk {
  /// A reply of the pool, or none.
  enum Answer {
    case reply(HTTPReply)
    case lost(TransportFailure)
    case failure(UpstreamFailure)

    static func ok(_ body: String) -> Answer { .reply(Samples.reply(200, body)) }

    static func ok(_ body: String, at date: String) -> Answer {
      .reply(Samples.reply(200, body, ["Date": date]))
    }

    static func error(_ name: String, _ message: String = "", status: Int = 400) -> Answer {
      .reply(Samples.reply(status, #"{"__type":"\#(name)","message":"\#(message)"}"#))
    }
  }

  /// A request as the pool gets it.
  struct Sent {
    let operation: String
    let body: JSONValue
    let text: String

    subscript(_ key: String) -> String? {
      for place in ["AuthParameters", "ChallengeResponses", "ClientMetadata"] {
        if let text = body[place]?[key]?.text { return text }
      }
      return body[key]?.text
    }
  }

  static let srp =
    #""SALT":"7d","SRP_B":"5","SECRET_BLOCK":"AAAA","USER_ID_FOR_SRP":"u-1","USERNAME":"u-1""#
  static let verifier = PoolSamples.challenge("PASSWORD_VERIFIER", "{\(srp)}")
  static let deviceVerifier = PoolSamples.challenge(
    "DEVICE_PASSWORD_VERIFIER",
    #"{"SALT":"7d","SRP_B":"5","SECRET_BLOCK":"AAAA","USERNAME":"u-1"}"#)
  static let smsCode = PoolSamples.challenge(
    "SMS_MFA",
    #"{"CODE_DELIVERY_DELIVERY_MEDIUM":"SMS","CODE_DELIVERY_DESTINATION":"+***99"}"#)
  static let tokens = PoolSamples.tokens(more: #","RefreshToken":"refresh""#)
  static let newDevice =
    #","RefreshToken":"refresh","NewDeviceMetadata":{"DeviceKey":"\#(PoolSamples.deviceKey)","#
    + #""DeviceGroupKey":"-group"}"#
  static let device = DeviceSecret(
    key: PoolSamples.deviceKey, groupKey: "-group", password: Secret("device-password"))

  let client: UserPoolClient
  private(set) var conversation: PoolConversation
  private(set) var sent: [Sent] = []
  private(set) var proofs: [PoolProof] = []
  var answers: [Answer] = []
  var now = Instant.seconds(1000)
  var wallTime = WallTime(milliseconds: 1_767_323_045_000)
  /// What each proof takes.
  var proofTime = Duration.zero
  /// In place of the value that is drawn.
  var privateValue: SRPPrivateValue?
  var crypto: any SRPCrypto = Hashes()
  private var random: any RandomNumberGenerator

  init(
    _ flow: UserPoolSettings.AuthFlow = .srp, password: String? = "pass-word",
    username: String = "alice", remember: UserPoolSettings.DeviceMemory = .no,
    device: DeviceSecret? = nil, pool: String = PoolSamples.poolText, secret: String? = nil,
    seed: UInt64 = 1, _ answers: [Answer] = []
  ) throws {
    client = try PoolSamples.client(secret: secret)
    var input = PoolConversation.Input(
      username: username, password: password.map { Secret($0) })
    if let device { input.devices = [("u-1", device)] }
    input.metadata = try ClientMetadata([("tenant", Secret("t-1"))])
    input.validationData = try ClientMetadata([("check", Secret("c-1"))])
    conversation = try PoolConversation(
      .init(
        backend: "staff",
        issuer: ProviderIssuer(
          pool: try UserPoolID(pool), clientID: client.id, url: client.host.url),
        flow: flow, rememberDevice: remember),
      input)
    random = SeededGenerator(seed: seed)
    self.answers = answers
  }

  /// Hashes that are right, and powers that are quick.
  struct Hashes: SRPArithmetic, Digests {
    func power(_ exponent: Secret) -> Secret {
      Secret(TestCrypto().sha256(exponent.bytes) + [UInt8](repeating: 7, count: 352))
    }
    func sharedSecret(_ terms: SRPTerms) -> Secret? { power(terms.passwordHash) }
    func sha256(_ bytes: [UInt8]) -> [UInt8] { TestCrypto().sha256(bytes) }
    func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
      TestCrypto().hmacSHA256(key: key, message: message)
    }
  }

  /// Begins, and goes on until the user or nobody has to act.
  func start() throws -> PoolConversation.Action { try run(.started) }

  func answer(_ answers: (String, String)..., attributes: [String: String]? = nil) throws
    -> PoolConversation.Action
  {
    try run(
      .answered(
        ChallengeAnswers(
          answers.map { NamedSecret(name: $0.0, value: Secret($0.1)) },
          attributes: attributes?.sorted(by: <).map {
            NamedSecret(name: $0.key, value: Secret($0.value))
          })))
  }

  func run(_ event: PoolConversation.Event) throws -> PoolConversation.Action {
    var event = event
    while true {
      let action = conversation.handle(event, now: now, wallTime: wallTime, random: &random)
      switch action {
      case .compute(let proof): event = computed(proof)
      case .send(let request): event = try reply(to: request)
      default: return action
      }
    }
  }

  /// Makes a request after its pause.
  func send(_ request: PoolRequest) throws -> PoolConversation.Action {
    try run(try reply(to: request))
  }

  private func computed(_ proof: PoolProof) -> PoolConversation.Event {
    proofs.append(proof)
    now = now + proofTime
    wallTime = wallTime + proofTime
    if case .keyPair = proof, let privateValue {
      return .computed(PoolProof.keyPair(privateValue).computed(by: crypto))
    }
    return .computed(proof.computed(by: crypto))
  }

  private func reply(to request: PoolRequest) throws -> PoolConversation.Event {
    let http = try client.request(request, deviceName: "host.example", digests: TestCrypto())
    let target = http.headers.first { $0.name == "X-Amz-Target" }?.value.exposedText() ?? ""
    sent.append(
      Sent(
        operation: String(target.drop { $0 != "." }.dropFirst()),
        body: try JSONValue.parse(http.body.bytes),
        text: http.body.exposedText() ?? ""))
    guard !answers.isEmpty else { return .failed(.transport(.connect, from: .backend("staff"))) }
    switch answers.removeFirst() {
    case .lost(let failure): return .failed(.transport(failure, from: .backend("staff")))
    case .failure(let failure): return .failed(failure)
    case .reply(let reply):
      do throws(UpstreamFailure) {
        return .replied(try client.reply(reply, to: request))
      } catch {
        return .failed(error)
      }
    }
  }
}

extension PoolConversation.Action {
  var challenge: SignInChallenge? {
    if case .ask(let challenge, _) = self { challenge } else { nil }
  }
  var result: PoolSignInResult? { if case .finish(let result) = self { result } else { nil } }
  var signIn: AcceptedSignIn? { result?.signIn }
  var refusal: ProtocolError? { if case .refuse(let error) = self { error } else { nil } }
  /// What ended it.
  var failure: UpstreamFailure? { if case .fail(let failure, _) = self { failure } else { nil } }
  /// Why the same question stays.
  var again: UpstreamFailure? {
    if case .askAgain(let failure, _) = self { failure } else { nil }
  }
  /// Whether it counts against whoever guesses.
  var isRefusal: Bool? {
    switch self {
    case .ask(_, let isRefusal), .askAgain(_, let isRefusal), .fail(_, let isRefusal): isRefusal
    default: nil
    }
  }
}
