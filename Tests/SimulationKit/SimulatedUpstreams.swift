import CredCore
import CredService

/// The network, with backends, Cognito and STS at its other end.
///
/// Reads real requests and gives real replies. `UpstreamAnswers.swift` has the answers,
/// `Conditions.swift` the failures. To add a kind of upstream, add an endpoint here.
final class SimulatedUpstreams: HTTPSending, CommandRunning, CryptoLoading {
  let world: World
  let oracle: Oracle
  let configuration: SimulatedConfiguration
  var endpoints: [Endpoint] = []
  /// How long the credentials of each guest's identity last.
  var guests: [Double] = [3600]
  /// The identity that a client claimed last, by session.
  var claims: [Int: Owner] = [:]
  /// Clears a session, for the fault ``InjectedFault/dropOnFailure``.
  var clear: ((Int) -> Void)?

  /// By URL.
  private(set) var addresses: [String: (endpoint: Int, isLogin: Bool, isLogout: Bool)] = [:]
  private var lastCall = 0
  /// The last success of each endpoint, for ``InjectedFault/mixedReplies``.
  private var lastReplies: [Int: HTTPReply] = [:]
  private var isPoisoned = false

  private static let awsOperations = ["GetId", "GetOpenIdToken", "GetCredentialsForIdentity"]

  init(_ world: World, _ oracle: Oracle, _ configuration: SimulatedConfiguration) {
    self.world = world
    self.oracle = oracle
    self.configuration = configuration
    for backend in configuration.backends {
      endpoints.append(
        Endpoint(
          backend.name, .backend(backend.name), isCommand: backend.type == "exec",
          rate: backend.rate, width: backend.width))
    }
    for (index, backend) in configuration.backends.enumerated() {
      for path in ["token", "login", "logout"] {
        addresses["\(backend.url)/\(path)"] = (index, path == "login", path == "logout")
      }
    }
    for (name, rate) in zip(Self.awsOperations, [25, 200, 200]) {
      endpoints.append(Endpoint(name, .cognitoIdentity, rate: rate, width: 32))
    }
    endpoints.append(Endpoint("AssumeRoleWithWebIdentity", .sts, rate: 100, width: 32))
  }

  /// The process that waited for the replies has ended.
  func forgetCalls() {
    for index in endpoints.indices { endpoints[index].restart() }
  }

  func beginCalm() {
    for index in endpoints.indices { endpoints[index].condition = .fair }
  }

  func changeCondition(of index: Int) {
    endpoints[index].change(&world.random)
    world.trace("\(endpoints[index].name) is \(endpoints[index].condition.words)")
  }

  // MARK: The seams

  func send(
    _ request: HTTPRequest, _ settings: HTTPSettings,
    completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void
  ) {
    let timeout = settings.timeout.inSeconds
    guard let question = read(request) else {
      return world.inProcess(after: 0.1) { completion(.failure(.nameResolution)) }
    }
    if world.fault == .repeatedRequests, world.random.happens(0.01) {
      perform(question, timeout) { _ in }
    }
    perform(question, timeout) { [self] result in
      pass(result, question, timeout) { result in
        switch result {
        case .reply(let reply): completion(.success(reply))
        case .transport(let failure): completion(.failure(failure))
        case .command: completion(.failure(.malformed))
        }
      }
    }
  }

  func run(_ command: Command, completion: @escaping (ExecOutcome) -> Void) {
    guard let question = read(command) else {
      return world.inProcess(after: 0.1) {
        completion(ExecOutcome(ending: .notStarted(StartFailure(reason: "simulated"))))
      }
    }
    perform(question, command.timeout.inSeconds) { result in
      switch result {
      case .reply(let reply):
        completion(
          ExecOutcome(
            ending: .exited(reply.status == 200 ? 0 : 77), standardOutput: reply.body))
      case .command(let ending): completion(ExecOutcome(ending: ending))
      case .transport: completion(ExecOutcome(ending: .timedOut))
      }
    }
  }

  func load(completion: @escaping ((any Crypto)?) -> Void) { completion(NoCrypto()) }

  // MARK: Calls

  private func perform(
    _ question: UpstreamQuestion, _ timeout: Double,
    completion: @escaping (UpstreamResult) -> Void
  ) {
    lastCall += 1
    let call = lastCall
    let index = question.endpoint
    world.report.calls += 1
    world.trace(session: question.owner?.session, "call \(call), \(question.words), begins")
    if !endpoints[index].take(world.now) {
      let endpoint = endpoints[index]
      world.violate(
        .withinRate, session: nil,
        "\(endpoint.name) is called more often than \(endpoint.perSecond)/s, \(endpoint.width) at once"
      )
    }
    if question.isOfSession { oracle.callBegins(call, for: question.owner) }
    oracle.checkProvenance(of: question)
    let transit = transit(index)
    world.inProcess(after: min(transit, timeout)) { [self] in
      endpoints[index].underWay -= 1
      let result = transit < timeout ? result(of: question) : timedOut(index)
      if !result.isSuccess { world.report.failedCalls += 1 }
      world.trace(
        session: question.owner?.session,
        "call \(call) ends\(result.isSuccess ? "" : ": \(result.words)")")
      oracle.callEnds(call, for: question.owner)
      completion(result)
    }
  }

  private func timedOut(_ index: Int) -> UpstreamResult {
    endpoints[index].isCommand ? .command(.timedOut) : .transport(.timeout)
  }

  /// How long the answer takes.
  private func transit(_ index: Int) -> Double {
    let usual = 0.02 + 0.2 * world.random.fraction()
    switch endpoints[index].condition {
    case .slow(let seconds): return usual + world.random.seconds(around: seconds)
    case .failing(let result):
      if case .reply(let reply) = result, reply.status == 429 { return usual }
      return world.random.happens(0.2) ? 60 : usual
    default: return usual
    }
  }

  private func result(of question: UpstreamQuestion) -> UpstreamResult {
    let index = question.endpoint
    if world.fault == .poison, question.owner?.session == 0, isPoisoned {
      return .transport(.connect)
    }
    switch endpoints[index].condition {
    case .failing(let result): return result
    case .unsteady(let results, let probability):
      if world.random.happens(probability) { return world.random.pick(results) }
    case .slow where world.random.happens(0.1): return timedOut(index)
    case .fair, .slow, .shortLived: break
    }
    return answer(to: question)
  }

  /// Delivers a result over the network, with the network's faults.
  private func pass(
    _ result: UpstreamResult, _ question: UpstreamQuestion, _ timeout: Double,
    _ completion: @escaping (UpstreamResult) -> Void
  ) {
    let index = question.endpoint
    switch world.fault {
    case .mixedReplies:
      guard case .reply(let reply) = result, result.isSuccess else { break }
      defer { lastReplies[index] = reply }
      if let last = lastReplies[index], world.random.happens(0.2) {
        return completion(.reply(last))
      }
    case .dropOnFailure where !result.isSuccess:
      if let session = question.owner?.session { clear?(session) }
    case .poison where !result.isSuccess && question.owner?.session == 0: isPoisoned = true
    case .eagerRetries where !result.isSuccess && endpoints[index].width == 32:
      return world.inProcess(after: 1) { [self] in
        perform(question, timeout) { [self] in pass($0, question, timeout, completion) }
      }
    default: break
    }
    completion(result)
  }
}

/// The simulation's signatures are not checked.
struct NoCrypto: AssertionSigning, BlockCipher, Digests, SRPArithmetic {
  func algorithm(ofKey pem: Secret) -> SigningAlgorithm? { .rs256 }

  func signature(of message: [UInt8], key pem: Secret, by algorithm: SigningAlgorithm) -> [UInt8]? {
    Array(repeating: 1, count: 256)
  }

  func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(repeating: 1, count: 32) }

  func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] { Array(repeating: 1, count: 32) }

  func power(_ exponent: Secret) -> Secret { Secret(Array(repeating: 1, count: 384)) }

  func sharedSecret(_ terms: SRPTerms) -> Secret? { power(terms.privateValue) }

  func decryptAES128CBC(_ ciphertext: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? { nil }
}
