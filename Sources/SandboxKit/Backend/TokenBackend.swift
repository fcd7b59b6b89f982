import FoundationEssentials

/// The organisation's own server: signs users in, and calls Cognito with developer credentials to
/// vouch for them.
enum TokenBackend {
  /// `token`, `login` or `logout`; nil where the path is none of the backend's.
  static func operation(of request: HTTPRequest) -> String? {
    switch request.path {
    case "/token", "/login", "/logout": String(request.path.dropFirst())
    case let path where path.hasPrefix("/token/"): "token"
    default: nil
    }
  }

  /// - Parameter fault: one of the kinds in which the backend itself does wrong.
  static func reply(
    to request: HTTPRequest, in state: inout SandboxState, fault: Fault.Kind?, at now: Date
  ) -> HTTPReply {
    do throws(ServiceError) {
      switch (request.method, request.path) {
      case ("POST", "/login"): return try login(request, in: &state)
      case ("POST", "/logout"): return try logout(request, in: &state)
      case ("POST", "/token"):
        let call = try TokenCallback(bodyOf: request, in: state)
        return try state.token(call, for: request, fault: fault, at: now)
      case ("GET", let path) where path.hasPrefix("/token/"):
        let call = try TokenCallback(pathOf: request, in: state)
        return try state.token(call, for: request, fault: fault, at: now)
      default:
        throw ServiceError(
          status: 405, "MethodNotAllowed", "\(request.method) is not for this path")
      }
    } catch {
      return reply(with: error)
    }
  }

  static func reply(with error: ServiceError) -> HTTPReply {
    let challenge = error.status == 401 ? [HTTPField("WWW-Authenticate", "Bearer")] : []
    return HTTPReply(
      status: error.status, headers: challenge,
      json: ["Code": .string(error.code), "Message": .string(error.message)])
  }

  private static func login(
    _ request: HTTPRequest, in state: inout SandboxState
  ) throws(ServiceError) -> HTTPReply {
    var fields = try FieldReader(bodyOf: request)
    let name = try fields.text("Username")
    let password = try fields.text("Password")
    let provider = try fields.optionalText("DeveloperProviderName")
    try fields.finish()
    if let provider, !state.pools.values.contains(where: { $0.developerProvider == provider }) {
      throw fields.fault("DeveloperProviderName", "is not a provider of any pool")
    }
    // One answer for an unknown name and a wrong password.
    guard let user = state.users.user(name), user.password == password else {
      throw ServiceError(status: 401, "Unauthorized", "wrong user name or password")
    }
    guard !user.isDisabled else { throw disabled(name) }
    let session = state.random.text(43, of: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8))
    state.users.openSession(for: name, token: session)
    return HTTPReply(
      json: ["SessionToken": .string(session), "DeveloperUserIdentifier": .string(name)])
  }

  private static func logout(
    _ request: HTTPRequest, in state: inout SandboxState
  ) throws(ServiceError) -> HTTPReply {
    guard let session = request.bearerToken, state.users.closeSession(session) else {
      throw ServiceError(status: 401, "Unauthorized", "no such session")
    }
    return HTTPReply(json: [:])
  }

  static func disabled(_ name: String) -> ServiceError {
    ServiceError(status: 403, "Forbidden", "user '\(name)' is disabled")
  }
}
