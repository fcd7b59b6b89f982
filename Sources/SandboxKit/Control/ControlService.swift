import FoundationEssentials

/// The control path: how a test or a person changes the sandbox while it runs.
enum ControlService {
  static let prefix = "/control/"

  static func reply(
    to request: HTTPRequest, in sandbox: inout Sandbox, at now: Date
  ) -> HTTPReply {
    do throws(ServiceError) {
      let name = String(request.path.dropFirst(prefix.count))
      return HTTPReply(json: try output(request, name, in: &sandbox, at: now))
    } catch {
      return HTTPReply(
        status: error.status,
        json: ["Code": .string(error.code), "Message": .string(error.message)])
    }
  }

  private static func output(
    _ request: HTTPRequest, _ name: String, in sandbox: inout Sandbox, at now: Date
  ) throws(ServiceError) -> JSON {
    switch (request.method, name) {
    case ("POST", "fault"):
      try sandbox.faults.add(Fault(FieldReader(bodyOf: request)))
      return ["Planned": .number(Double(sandbox.faults.faults.count))]
    case ("DELETE", "fault"):
      sandbox.faults.clear()
      return [:]
    case ("GET", "stats"): return sandbox.counters.json
    case ("POST", "reset-stats"):
      sandbox.counters.reset()
      return [:]
    case ("GET", "last"): return try last(request, in: sandbox)
    case ("GET", "issued"): return try issued(request, in: sandbox)
    case ("POST", "user"): return try sandbox.state.setUser(FieldReader(bodyOf: request))
    case ("POST", "lifetimes"): return try sandbox.state.setLifetimes(FieldReader(bodyOf: request))
    case ("POST", "pool"): return try sandbox.state.setPool(FieldReader(bodyOf: request))
    case ("POST", "revoke"): return try sandbox.state.revoke(FieldReader(bodyOf: request))
    case ("POST", "social-token"):
      return try sandbox.state.makeProviderToken(FieldReader(bodyOf: request), at: now)
    case ("DELETE", "identity"):
      return try deleteIdentity(request, in: &sandbox.state)
    default: throw ServiceError(status: 404, "NotFound", "\(request.method) \(request.path)")
    }
  }

  private static func last(
    _ request: HTTPRequest, in sandbox: Sandbox
  ) throws(ServiceError) -> JSON {
    guard let name = FormParameters(request.query)["Operation"] else {
      throw ServiceError("InvalidRequest", "Operation is required")
    }
    guard let last = sandbox.counters.lastRequest(of: name) else {
      throw ServiceError(status: 404, "NotFound", "no call of \(name) yet")
    }
    let fields = last.headers.map { ($0.name, JSON.string($0.value)) }
    return [
      "Method": .string(last.method), "Path": .string(last.path), "Query": .string(last.query),
      "Headers": .object(Dictionary(fields) { .string(($0.text ?? "") + ", " + ($1.text ?? "")) }),
      "Body": .string(String(decoding: last.body, as: UTF8.self)),
    ]
  }

  /// Whose credentials these are, and of which role.
  private static func issued(
    _ request: HTTPRequest, in sandbox: Sandbox
  ) throws(ServiceError) -> JSON {
    guard let key = FormParameters(request.query)["AccessKeyId"] else {
      throw ServiceError("InvalidRequest", "AccessKeyId is required")
    }
    guard let grant = sandbox.state.mint.grant(of: key) else {
      throw ServiceError(status: 404, "NotFound", "no such access key")
    }
    return [
      "IdentityId": .string(grant.identity), "RoleArn": .string(grant.role),
      "Expiration": .string(grant.expiration.iso8601Text),
    ]
  }

  private static func deleteIdentity(
    _ request: HTTPRequest, in state: inout SandboxState
  ) throws(ServiceError) -> JSON {
    guard let id = FormParameters(request.query)["IdentityId"] else {
      throw ServiceError("InvalidRequest", "IdentityId is required")
    }
    let pool = try state.pool(holding: id)
    state.pools[pool]?.remove(id)
    return [:]
  }
}
