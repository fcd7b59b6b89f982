import CredCore
import CredService

/// The seams to the upstreams: what is checked of each request, and the faults of the network that
/// are injected.
extension HistoryUpstreams: HTTPSending, CommandRunning, CryptoLoading {
  func send(
    _ request: HTTPRequest, _ settings: HTTPSettings,
    completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void
  ) {
    if world.fault == .poison, isPoisoned, concernsFirstUser(request) {
      return world.inProcess(after: 0.1) { completion(.failure(.connect)) }
    }
    if world.fault == .repeatedRequests, world.random.happens(0.1) {
      carry(request, settings) { _ in }
    }
    carry(request, settings) { [self] in pass($0, of: request, settings, completion) }
  }

  func run(_ command: Command, completion: @escaping (ExecOutcome) -> Void) {
    carry(command, completion: completion)
  }

  func load(completion: @escaping ((any Crypto)?) -> Void) { completion(ToyCrypto()) }

  // MARK: Checks

  func begin(_ request: HTTPRequest) -> HistoryNetwork.Flight {
    // Sign-outs and user pools may have a token on several ways at once.
    let isOfSession = request.isToAWS || request.url.contains("/token")
    let texts = [request.body.exposedText(), request.header("Authorization")].compactMap(\.self)
    let numbers = texts.flatMap { HistorySecret.numbers(in: $0.utf8) }.compactMap(\.self)
    // A replica has a rate of its own.
    let server = request.isToAWS || request.isAtReplica ? nil : request.server
    return begin(server, tokens: isOfSession ? numbers : [])
  }

  func begin(_ command: Command) -> HistoryNetwork.Flight {
    begin(command.server, tokens: [])
  }

  private func begin(_ server: String?, tokens: [Int]) -> HistoryNetwork.Flight {
    world.report.calls += 1
    let (flight, broken) = network.begin(server, tokens: tokens, at: world.now, givenUp: givenUp())
    switch broken {
    case .withinRate?:
      world.violate(.withinRate, "\(server ?? "") gets more than its rate, or too much at once")
    case let other?: world.violate(other, "a token of \(tokens) is on its way twice")
    case nil: break
    }
    return flight
  }

  // MARK: Faults

  private func pass(
    _ result: Result<HTTPReply, TransportFailure>, of request: HTTPRequest,
    _ settings: HTTPSettings,
    _ completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void
  ) {
    let reply = try? result.get()
    let isGood = reply.map { $0.status == 200 } ?? false
    switch world.fault {
    case .mixedReplies where isGood:
      let kind = "\(request.url) \(request.header("X-Amz-Target") ?? "")"
      defer { lastReplies[kind] = reply }
      if let last = lastReplies[kind], world.random.happens(0.2) {
        return completion(.success(last))
      }
    case .dropOnFailure where !isGood: users(of: request).forEach { clear?($0) }
    case .poison where !isGood && concernsFirstUser(request): isPoisoned = true
    case .eagerRetries where !isGood && request.isToAWS:
      return world.inProcess(after: 1) { [self] in
        carry(request, settings) { [self] in pass($0, of: request, settings, completion) }
      }
    default: break
    }
    completion(result)
  }

  private func concernsFirstUser(_ request: HTTPRequest) -> Bool {
    users(of: request).contains(0)
  }

  /// The users whom a request names, by a token or by name.
  private func users(of request: HTTPRequest) -> Set<Int> {
    let texts = [request.body.exposedText(), request.header("Authorization")].compactMap(\.self)
    let tokens = texts.flatMap { HistorySecret.numbers(in: $0.utf8) }.compactMap(\.self)
    let body = try? JSONValue.parse(request.body.bytes)
    let named = (body?["DeveloperUserIdentifier"]?.text).flatMap(persons) ?? []
    let persons = named.union(tokens.flatMap { self.tokens[$0]?.persons ?? [] })
    return Set(persons.compactMap { people.user(of: $0) })
  }
}

extension HTTPRequest {
  /// Whether it goes to Cognito's identity pools or to STS.
  var isToAWS: Bool { isToSTS || header("X-Amz-Target")?.contains("AWSCognitoIdentityS") == true }
  var isToSTS: Bool { url.contains("//sts.") }
  var isAtReplica: Bool { url.contains(".replica.") }
}
