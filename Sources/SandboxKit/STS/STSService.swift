import FoundationEssentials

/// AWS STS (2011-06-15): AssumeRoleWithWebIdentity without a signature, and with one AssumeRole,
/// GetScopedCredentials and GetCallerIdentity.
enum STSService {
  static let version = "2011-06-15"
  static let namespace = "https://sts.amazonaws.com/doc/2011-06-15/"

  enum Operation: String {
    case assumeRoleWithWebIdentity = "AssumeRoleWithWebIdentity"
    case assumeRole = "AssumeRole"
    case getScopedCredentials = "GetScopedCredentials"
    case getCallerIdentity = "GetCallerIdentity"
  }

  /// Stands for every other operation, so that made-up names fill no table.
  private static let unknown = "Unknown"

  static func operation(of request: HTTPRequest) -> String {
    Operation(rawValue: FormParameters(of: request)["Action"] ?? "")?.rawValue ?? unknown
  }

  /// - Parameter fault: a kind of fault that the service itself makes.
  static func reply(
    to request: HTTPRequest, in state: inout SandboxState, fault: Fault.Kind?, at now: Date
  ) -> HTTPReply {
    let requestID = state.random.uuid()
    do throws(ServiceError) {
      let form = FormParameters(of: request)
      guard let operation = Operation(rawValue: form["Action"] ?? ""), form["Version"] == version
      else {
        throw ServiceError(
          "InvalidAction",
          "Could not find operation \(form["Action"] ?? "") for version \(form["Version"] ?? "")")
      }
      if let error = refusal(of: operation, fault, at: now) { throw error }
      let result = try state.result(of: operation, form, request, fault: fault, at: now)
      let reply = XMLElement(
        operation.rawValue + "Response", namespace: namespace,
        [
          XMLElement(operation.rawValue + "Result", result),
          XMLElement("ResponseMetadata", [XMLElement("RequestId", requestID)]),
        ])
      return xml(reply, status: 200, requestID: requestID)
    } catch {
      return self.reply(with: error, requestID: requestID)
    }
  }

  private static func refusal(
    of operation: Operation, _ fault: Fault.Kind?, at now: Date
  ) -> ServiceError? {
    switch (fault, operation) {
    case (.expiredToken, .assumeRoleWithWebIdentity):
      SandboxState.expired(now: now.epochSeconds, expiry: now.epochSeconds - 60)
    case (.expiredToken, _): SignedCaller.expired(for: .sts)
    case (.wrongPool, _), (.changedIdentity, _):
      ServiceError(
        status: 403, "AccessDenied", "Not authorized to perform sts:\(operation.rawValue)")
    default: nil
    }
  }

  static func reply(with error: ServiceError, requestID: String) -> HTTPReply {
    let reply = XMLElement(
      "ErrorResponse", namespace: namespace,
      [
        XMLElement(
          "Error",
          [
            XMLElement("Type", error.status < 500 ? "Sender" : "Receiver"),
            XMLElement("Code", error.code), XMLElement("Message", error.message),
          ]), XMLElement("RequestId", requestID),
      ])
    return xml(reply, status: error.status, requestID: requestID)
  }

  private static func xml(_ element: XMLElement, status: Int, requestID: String) -> HTTPReply {
    HTTPReply(
      status: status,
      headers: [
        HTTPField("Content-Type", "text/xml"), HTTPField("x-amzn-RequestId", requestID),
      ], body: Array(element.text().utf8))
  }
}

extension SandboxState {
  /// The members of an operation's result.
  fileprivate mutating func result(
    of operation: STSService.Operation, _ form: FormParameters, _ request: HTTPRequest,
    fault: Fault.Kind?, at now: Date
  ) throws(ServiceError) -> [XMLElement] {
    if operation == .assumeRoleWithWebIdentity {
      let call = try WebIdentityCall(form)
      let isCognitos = SandboxState.isOfCognito(call.token)
      return try isCognitos ? assumeRole(call, at: now) : assumeDirectRole(call, at: now)
    }
    let caller = try caller(of: request, for: .sts, at: now)
    switch operation {
    case .getCallerIdentity:
      var input = STSInput(form)
      try input.finish()
      return caller.identity
    case .assumeRole:
      return try assumeRole(RoleHop(form), by: caller, lying: STSLie(fault), at: now)
    case .getScopedCredentials, .assumeRoleWithWebIdentity:
      return try scopedCredentials(ScopedCall(form), of: caller, lying: STSLie(fault), at: now)
    }
  }
}
