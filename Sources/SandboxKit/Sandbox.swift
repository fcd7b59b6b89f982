public import FoundationEssentials

/// The whole sandbox as a value: requests in, answers out. It does no I/O and reads no clock.
public struct Sandbox: Sendable {
  var state: SandboxState
  var faults = FaultPlan()
  var counters = CallCounters()

  /// - Parameters:
  ///   - issuer: the signer of all tokens.
  ///   - randomSeed: the same seed gives the same identities and keys.
  public init(_ seed: SandboxSeed, issuer: TokenIssuer, randomSeed: UInt64) {
    state = SandboxState(seed, issuer: issuer, randomSeed: randomSeed)
  }

  public mutating func connectionOpened() { counters.connectionOpened() }

  public mutating func connectionClosed() { counters.connectionClosed() }

  /// Call it when the answer was sent, or its client has disconnected.
  public mutating func ended(_ answer: Answer) {
    if answer.isCounted { counters.ended() }
  }

  /// Answers one request. After a counted answer is sent, call ``ended(_:)``.
  public mutating func answer(_ request: HTTPRequest, at now: Date) -> Answer {
    if request.path.hasPrefix(ControlService.prefix), !request.isAtReplica {
      return Answer(reply: ControlService.reply(to: request, in: &self, at: now), date: now)
    }
    guard let call = Sandbox.call(of: request) else {
      let reply = HTTPReply(
        status: 404,
        json: ["Code": "NotFound", "Message": "no service at \(request.method) \(request.path)"])
      return Answer(reply: reply, date: now)
    }
    counters.began(call, request)
    state.agent = request.header("User-Agent") ?? "unknown"
    guard let fault = faults.take(for: call) else {
      let reply = reply(to: request, of: call, fault: nil, at: now)
      return Answer(reply: reply, date: now, isCounted: true)
    }
    return answer(request, of: call, under: fault, at: now)
  }

  private mutating func answer(
    _ request: HTTPRequest, of call: ServiceCall, under fault: Fault, at now: Date
  ) -> Answer {
    var answer = Answer(reply: HTTPReply(), delay: fault.seconds, date: now, isCounted: true)
    switch fault.kind {
    case .hang: answer.delivery = .never
    case .reset: answer.delivery = .reset
    case .truncate: answer.delivery = .truncated
    case .dateSkew:
      answer.delay = 0
      answer.date = now.addingTimeInterval(fault.seconds)
    default: break
    }
    // A call that hangs or is reset has no effect, as if the service never got it.
    guard answer.delivery == .whole || answer.delivery == .truncated else { return answer }
    answer.reply =
      fault.reply(to: call)
      ?? reply(to: request, of: call, fault: fault.kind, at: answer.date)
    return answer
  }

  private mutating func reply(
    to request: HTTPRequest, of call: ServiceCall, fault: Fault.Kind?, at now: Date
  ) -> HTTPReply {
    switch call.service {
    case .backend: TokenBackend.reply(to: request, in: &state, fault: fault, at: now)
    case .sample: SampleServer.reply(to: request, in: &state, fault: fault, at: now)
    case .cognito: CognitoService.reply(to: request, in: &state, fault: fault, at: now)
    case .userPool where HostedUI.operation(of: request) != nil:
      HostedUI.reply(to: request, in: &state, at: now)
    case .replica: ReplicaService.reply(to: request, in: &state, fault: fault, at: now)
    case .userPool: UserPoolService.reply(to: request, in: &state, fault: fault, at: now)
    case .sts: STSService.reply(to: request, in: &state, fault: fault, at: now)
    case .s3: S3Service.reply(to: request, in: &state, fault: fault, at: now)
    case .oidc: OIDCService.reply(to: request, in: &state, at: now)
    }
  }

  /// The service of a request: the services share one port.
  private static func call(of request: HTTPRequest) -> ServiceCall? {
    if request.isAtReplica {
      return UserPoolService.operation(of: request).map {
        ServiceCall(service: .replica, operation: $0)
      }
    }
    // The paths of objects are anything.
    if let operation = S3Service.operation(of: request) {
      return ServiceCall(service: .s3, operation: operation)
    }
    // `/logout` is a page of the Hosted UI, and by POST the token backend's.
    if let operation = HostedUI.operation(of: request) {
      return ServiceCall(service: .userPool, operation: operation)
    }
    if let operation = TokenBackend.operation(of: request) {
      return ServiceCall(service: .backend, operation: operation)
    }
    if let operation = SampleServer.operation(of: request) {
      return ServiceCall(service: .sample, operation: operation)
    }
    if let operation = UserPoolService.operation(of: request) {
      return ServiceCall(service: .userPool, operation: operation)
    }
    if let operation = OIDCService.operation(of: request) {
      return ServiceCall(service: .oidc, operation: operation)
    }
    guard request.path == "/" || request.path == "/sts" else { return nil }
    if let operation = CognitoService.operation(of: request) {
      return ServiceCall(service: .cognito, operation: operation)
    }
    guard request.method == "POST" else { return nil }
    return ServiceCall(service: .sts, operation: STSService.operation(of: request))
  }
}

/// The server's answer to one request.
public struct Answer: Sendable {
  /// How a reply is sent.
  public enum Delivery: Sendable, Equatable {
    case whole
    /// Half of the body under the full Content-Length, then the end of the connection.
    case truncated
    /// The connection is reset.
    case reset
    /// No reply is sent; the connection stays until the client disconnects.
    case never
  }

  public var reply: HTTPReply
  public var delivery = Delivery.whole
  /// Seconds to wait before the reply.
  public var delay = 0.0
  /// The `Date` field.
  public var date: Date
  /// Whether the call counts as under way until ``Sandbox/ended(_:)``.
  public var isCounted = false
}

/// An error of a service, with AWS's code and text.
public struct ServiceError: Error, Equatable {
  /// HTTP status.
  public var status: Int
  /// AWS's error code, such as NotAuthorizedException.
  public var code: String
  public var message: String

  public init(status: Int = 400, _ code: String, _ message: String) {
    self.status = status
    self.code = code
    self.message = message
  }
}
