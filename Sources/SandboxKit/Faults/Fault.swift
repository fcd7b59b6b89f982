/// The services that faults and counters distinguish.
enum Service: String, Sendable, CaseIterable {
  case backend, cognito, sts, s3, sample, oidc
  case userPool = "cognito-idp"
  /// The user pools in another region.
  case replica = "cognito-idp-replica"
}

/// One call: the unit of counting and of faults.
struct ServiceCall: Hashable, Sendable {
  var service: Service
  /// The service's name for the operation: `GetId`, `AssumeRoleWithWebIdentity`, `token`,
  /// `gettoken`.
  var operation: String

  /// `cognito.GetId`.
  var name: String { service.rawValue + "." + operation }
}

/// A deliberate failure.
struct Fault: Sendable, Equatable {
  enum Kind: String, Sendable, CaseIterable {
    /// The reply comes `Seconds` late.
    case delay
    /// No reply ever comes; the connection stays open.
    case hang
    /// `Status` with `Body`, or the service's own form of `Error` and `Message`.
    case status
    /// The service's way to say "slow down".
    case throttle
    /// The connection is reset instead of a reply.
    case reset
    /// Half of the body, then the connection is closed.
    case truncate
    /// A body of 8 MiB.
    case oversize
    /// 200 with broken JSON or XML.
    case malformed
    /// 200 with a web page, as a captive portal answers.
    case html
    /// `Location`, with `Status` or 302.
    case redirect
    /// The clock of the service is `Seconds` off.
    case dateSkew
    /// An expired token: a backend gives one, or AWS reports one.
    case expiredToken
    /// Another identity than before.
    case changedIdentity
    /// A reply for another pool than the requested one.
    case wrongPool
    /// STS lies in the answer to a signed call: the caller's own credentials.
    case sameKey
    /// A policy that was not applied.
    case unscoped
    /// Another session.
    case otherSession
    /// An end two hours too late, or a minute ago.
    case endsLate, endsPast

    /// Whether it is a lie of STS.
    var isOfSTS: Bool {
      switch self {
      case .sameKey, .unscoped, .otherSession, .endsLate, .endsPast: true
      default: false
      }
    }
  }

  var service: Service
  /// nil: any operation.
  var operation: String?
  var kind: Kind
  /// How many calls the fault hits; nil: all, until the fault is cleared.
  var count: Int? = 1
  var seconds = 0.0
  var status: Int?
  var body: String?
  var error: String?
  var message: String?
  var retryAfter: String?
  var location: String?

  func hits(_ call: ServiceCall) -> Bool {
    service == call.service && (operation == nil || operation == call.operation)
  }
}

extension Fault {
  /// Bytes of an oversized body: more than any limit of credd.
  static let oversizedBody = 8 << 20

  /// The reply that replaces the service's own; nil for kinds of faults in which the service
  /// answers.
  func reply(to call: ServiceCall) -> HTTPReply? {
    var reply: HTTPReply
    switch kind {
    case .status:
      reply = statusReply(for: call)
    case .throttle:
      reply = errorReply(
        for: call, Fault.throttling(call.service, status: status, code: error, message: message))
    case .oversize:
      reply = HTTPReply(
        headers: [HTTPField("Content-Type", "application/json")],
        body: Array("{\"Padding\":\"".utf8)
          + [UInt8](repeating: UInt8(ascii: "x"), count: Fault.oversizedBody) + Array("\"}".utf8))
    case .malformed:
      reply = HTTPReply(
        headers: [HTTPField("Content-Type", "application/json")],
        body: Array((body ?? "{\"IdentityId\": <").utf8))
    case .html:
      let page = "<!DOCTYPE html><html><body><h1>Welcome to the network</h1></body></html>"
      reply = HTTPReply(
        status: status ?? 200, headers: [HTTPField("Content-Type", "text/html")],
        body: Array((body ?? page).utf8))
    case .redirect:
      reply = HTTPReply(
        status: status ?? 302, headers: [HTTPField("Location", location ?? "http://127.0.0.1:1/")])
    case .delay, .hang, .reset, .truncate, .dateSkew, .expiredToken, .changedIdentity, .wrongPool,
      .sameKey, .unscoped, .otherSession, .endsLate, .endsPast:
      return nil
    }
    if let retryAfter { reply.headers.append(HTTPField("Retry-After", retryAfter)) }
    return reply
  }

  private func statusReply(for call: ServiceCall) -> HTTPReply {
    if let error {
      let status = status ?? (error == "InternalErrorException" ? 500 : 400)
      return errorReply(
        for: call, ServiceError(status: status, error, message ?? "made by the sandbox"))
    }
    return HTTPReply(
      status: status ?? 500, headers: [HTTPField("Content-Type", "text/plain")],
      body: Array((body ?? "").utf8))
  }

  private func errorReply(for call: ServiceCall, _ error: ServiceError) -> HTTPReply {
    switch call.service {
    case .cognito: CognitoService.reply(with: error)
    case .userPool, .replica: UserPoolService.reply(with: error)
    case .sts:
      STSService.reply(with: error, requestID: "00000000-0000-4000-8000-000000000000")
    case .s3: S3Service.reply(with: error)
    case .backend: TokenBackend.reply(with: error)
    case .sample: SampleServer.reply(with: error)
    case .oidc: OIDCService.reply(with: error)
    }
  }

  private static func throttling(
    _ service: Service, status: Int?, code: String?, message: String?
  ) -> ServiceError {
    let text = message ?? "Rate exceeded"
    return switch service {
    case .cognito, .userPool, .replica:
      ServiceError(status: status ?? 400, code ?? "TooManyRequestsException", text)
    case .sts: ServiceError(status: status ?? 400, code ?? "Throttling", text)
    case .s3: ServiceError(status: status ?? 503, code ?? "SlowDown", text)
    case .backend, .sample: ServiceError(status: status ?? 429, code ?? "TooManyRequests", text)
    case .oidc: ServiceError(status: status ?? 429, code ?? "slow_down", text)
    }
  }
}

/// The planned faults, in the order in which they were requested.
struct FaultPlan: Sendable {
  static let maximumFaults = 256

  private(set) var faults: [Fault] = []

  mutating func add(_ fault: Fault) throws(ServiceError) {
    guard faults.count < FaultPlan.maximumFaults else {
      throw ServiceError("LimitExceeded", "more than \(FaultPlan.maximumFaults) faults planned")
    }
    faults.append(fault)
  }

  mutating func clear() { faults = [] }

  /// The first fault that applies to this call; one of the fault's calls is used up.
  mutating func take(for call: ServiceCall) -> Fault? {
    guard let index = faults.firstIndex(where: { $0.hits(call) }) else { return nil }
    let fault = faults[index]
    if let count = fault.count {
      if count > 1 { faults[index].count = count - 1 } else { faults.remove(at: index) }
    }
    return fault
  }
}

extension Fault {
  /// Reads the body of `POST /control/fault`.
  init(_ reader: FieldReader) throws(ServiceError) {
    var fields = reader
    let serviceName = try fields.text("Service")
    guard let service = Service(rawValue: serviceName) else {
      throw fields.fault(
        "Service", "must be one of " + Service.allCases.map(\.rawValue).joined(separator: ", "))
    }
    let kindName = try fields.text("Kind")
    guard let kind = Kind(rawValue: kindName) else {
      throw fields.fault(
        "Kind", "must be one of " + Kind.allCases.map(\.rawValue).joined(separator: ", "))
    }
    self.init(service: service, kind: kind)
    guard kind != .changedIdentity || ![.userPool, .oidc, .s3].contains(service) else {
      throw fields.fault("Kind", "is not for \(serviceName), which has no identities")
    }
    guard !kind.isOfSTS || service == .sts else {
      throw fields.fault("Kind", "is for sts alone")
    }
    operation = try fields.optionalText("Operation")
    let count = try fields.integer("Count", in: -1...1_000_000) ?? 1
    guard count != 0 else { throw fields.fault("Count", "must not be 0") }
    self.count = count < 0 ? nil : count
    let day = 86_400.0
    seconds = try fields.number("Seconds", in: -10 * day...10 * day) ?? 0
    guard kind == .dateSkew || seconds >= 0 else {
      throw fields.fault("Seconds", "must not be negative")
    }
    status = try fields.integer("Status", in: 200...599)
    body = try fields.optionalText("Body")
    error = try fields.optionalText("Error")
    message = try fields.optionalText("Message")
    retryAfter = try fields.textOrInteger("RetryAfter")
    location = try fields.optionalText("Location")
    try fields.finish()
  }
}
