import FoundationEssentials

/// Amazon Cognito Identity (2014-06-30), with the operations that credd and similar programs use.
enum CognitoService {
  static let targetPrefix = "AWSCognitoIdentityService."
  static let contentType = "application/x-amz-json-1.1"

  /// The operations that require developer credentials.
  private static let developerOperations: Set = [
    "DescribeIdentity", "GetOpenIdTokenForDeveloperIdentity", "LookupDeveloperIdentity",
    "MergeDeveloperIdentities", "UnlinkDeveloperIdentity",
  ]

  private static let operations = developerOperations.union([
    "GetId", "GetCredentialsForIdentity", "GetOpenIdToken", "UnlinkIdentity",
  ])

  /// Stands for every other operation, so that invented names cannot fill a table.
  private static let unknown = "Unknown"

  fileprivate static let unknownOperation = ServiceError(
    "UnknownOperationException", "unknown operation")

  /// The operation of a request; nil if the request is not for this service.
  static func operation(of request: HTTPRequest) -> String? {
    guard let target = request.header("X-Amz-Target"), target.hasPrefix(targetPrefix) else {
      return nil
    }
    let name = String(target.dropFirst(targetPrefix.count))
    return operations.contains(name) ? name : unknown
  }

  /// - Parameter fault: a kind of fault that the service itself makes.
  static func reply(
    to request: HTTPRequest, in state: inout SandboxState, fault: Fault.Kind?, at now: Date
  ) -> HTTPReply {
    var reply = answer(request, in: &state, fault: fault, at: now)
    reply.headers.append(HTTPField("x-amzn-RequestId", state.random.uuid()))
    return reply
  }

  private static func answer(
    _ request: HTTPRequest, in state: inout SandboxState, fault: Fault.Kind?, at now: Date
  ) -> HTTPReply {
    do throws(ServiceError) {
      if let fault { try refuse(fault, at: now) }
      var output = try output(of: request, in: &state, at: now)
      if fault == .changedIdentity { output = try state.moved(output) }
      return HTTPReply(type: contentType, json: output)
    } catch {
      return reply(with: error)
    }
  }

  private static func refuse(_ fault: Fault.Kind, at now: Date) throws(ServiceError) {
    switch fault {
    case .expiredToken: throw LoginCheck.expired(now.epochSeconds, now.epochSeconds - 60)
    case .wrongPool: throw SandboxState.poolNotFound(SandboxState.strangePool)
    default: break
    }
  }

  static func reply(with error: ServiceError) -> HTTPReply {
    HTTPReply(
      status: error.status, type: contentType,
      headers: [HTTPField("x-amzn-ErrorType", error.code + ":")],
      json: ["__type": .string(error.code), "message": .string(error.message)])
  }

  private static func output(
    of request: HTTPRequest, in state: inout SandboxState, at now: Date
  ) throws(ServiceError) -> JSON {
    let type = request.header("Content-Type")?.split(separator: ";").first
    guard request.method == "POST", type?.lowercased() == contentType else {
      throw ServiceError(
        status: 404, "UnknownOperationException", "not a POST of \(contentType)")
    }
    let operation = operation(of: request) ?? ""
    if developerOperations.contains(operation) {
      let keys = state.developerKeys
      let developer = try SignatureV4.verify(request, for: .cognitoIdentity, at: now) { keys[$0] }
      return try state.answer(
        operation, CognitoInput(request.body), signed: developer, at: now)
    }
    let input = try CognitoInput(request.body)
    switch operation {
    case "GetId": return try state.getID(input, at: now)
    case "GetCredentialsForIdentity": return try state.getCredentials(input, at: now)
    case "GetOpenIdToken": return try state.getOpenIDToken(input, at: now)
    case "UnlinkIdentity": return try state.unlinkIdentity(input, at: now)
    default: throw unknownOperation
    }
  }
}

extension SandboxState {
  fileprivate mutating func answer(
    _ operation: String, _ input: CognitoInput, signed developer: SignatureV4.Signer, at now: Date
  ) throws(ServiceError) -> JSON {
    switch operation {
    case "GetOpenIdTokenForDeveloperIdentity":
      return try getDeveloperToken(input, signed: developer, at: now)
    case "DescribeIdentity": return try describeIdentity(input, signed: developer)
    case "LookupDeveloperIdentity": return try lookupDeveloperIdentity(input, signed: developer)
    case "MergeDeveloperIdentities": return try mergeDeveloperIdentities(input, signed: developer)
    case "UnlinkDeveloperIdentity": return try unlinkDeveloperIdentity(input, signed: developer)
    default: throw CognitoService.unknownOperation
    }
  }
}

extension SandboxState {
  /// The same output for the identity into which the first one was merged.
  fileprivate mutating func moved(_ output: JSON) throws(ServiceError) -> JSON {
    guard var members = output.members, let old = members["IdentityId"]?.text else { return output }
    let new = try withPool(pool(holding: old)) { (pool, random) throws(ServiceError) in
      let new = try pool.makeIdentity(with: [], random: &random)
      try pool.merge(old, into: new)
      return new
    }
    members["IdentityId"] = .string(new)
    return .object(members)
  }
}
