import FoundationEssentials

/// The organisation's own server. It signs users in, and calls Cognito with developer credentials
/// to vouch for them.
enum TokenBackend {
  /// `token`, `login`, `logout` or `register`; nil if the path does not belong to the backend.
  static func operation(of request: HTTPRequest) -> String? {
    switch request.path {
    case "/token", "/login", "/logout", "/register": String(request.path.dropFirst())
    case let path where path.hasPrefix("/token/"): "token"
    default: nil
    }
  }

  /// - Parameter fault: a kind of fault that the backend itself makes.
  static func reply(
    to request: HTTPRequest, in state: inout SandboxState, fault: Fault.Kind?, at now: Date
  ) -> HTTPReply {
    do throws(ServiceError) {
      switch (request.method, request.path) {
      case ("POST", "/login"): return try login(request, in: &state)
      case ("POST", "/register"): return try register(request, in: &state)
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
    guard state.backendToken == nil || request.bearerToken == state.backendToken else {
      throw hostNotAuthorized
    }
    var fields = try FieldReader(bodyOf: request)
    let name = try fields.text("Username")
    let password = try fields.text("Password")
    let provider = try fields.optionalText("DeveloperProviderName")
    try fields.finish()
    if let provider, !state.pools.values.contains(where: { $0.developerProvider == provider }) {
      throw fields.fault("DeveloperProviderName", "is not a provider of any pool")
    }
    // An unknown name and a wrong password get the same answer.
    guard let user = state.users.user(name), user.password == password else {
      throw ServiceError(status: 401, "Unauthorized", "wrong user name or password")
    }
    guard !user.isDisabled else { throw disabled(name) }
    let session = state.random.text(43, of: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8))
    state.users.openSession(for: name, token: session)
    return HTTPReply(
      json: ["SessionToken": .string(session), "DeveloperUserIdentifier": .string(name)])
  }

  /// Registration is open to everybody, so no host token is needed.
  private static func register(
    _ request: HTTPRequest, in state: inout SandboxState
  ) throws(ServiceError) -> HTTPReply {
    var fields = try FieldReader(bodyOf: request)
    let name = try fields.text("Username")
    let password = try fields.text("Password")
    let invitation = try fields.optionalText("Invitation")
    try fields.finish()
    guard invitation == nil || invitation == "welcome" else {
      throw ServiceError(status: 403, "InvitationUnknown", "there is no such invitation")
    }
    guard password.unicodeScalars.count >= 8 else {
      throw ServiceError(
        status: 400, "InvalidPassword", "the password has less than 8 characters")
    }
    guard state.users.existing(name) == nil else {
      throw ServiceError(status: 409, "UsernameExists", "there is an account of that name")
    }
    guard state.users.store(User(name: name, password: password)) else {
      throw ServiceError(status: 500, "LimitExceeded", "too many users")
    }
    return HTTPReply(status: 201, json: ["Username": .string(name)])
  }

  private static func logout(
    _ request: HTTPRequest, in state: inout SandboxState
  ) throws(ServiceError) -> HTTPReply {
    guard state.accepts(hostOf: request) else { throw hostNotAuthorized }
    guard let session = request.bearerToken, state.users.closeSession(session) else {
      throw ServiceError(status: 401, "SessionUnknown", "no such session")
    }
    return HTTPReply(json: [:])
  }

  static let hostNotAuthorized = ServiceError(
    status: 401, "HostNotAuthorized", "the host's token is missing or wrong")

  static func disabled(_ name: String) -> ServiceError {
    ServiceError(status: 403, "Forbidden", "user '\(name)' is disabled")
  }
}

/// One token callback: the user and the pool.
struct TokenCallback {
  var pool: String
  var user: String
  var identity: String?
  /// Public logins to link to the user.
  var logins: [String: String] = [:]

  init(pool: String, user: String, identity: String?, logins: [String: String]) {
    self.pool = pool
    self.user = user
    self.identity = identity
    self.logins = logins
  }

  /// `POST /token`.
  init(bodyOf request: HTTPRequest, in state: SandboxState) throws(ServiceError) {
    var fields = try FieldReader(bodyOf: request)
    pool = try fields.text("IdentityPoolId")
    let provider = try fields.text("DeveloperProviderName")
    user = try fields.text("DeveloperUserIdentifier")
    identity = try fields.optionalText("IdentityId")
    logins = try fields.map("Logins") ?? [:]
    if var caller = try fields.object("Caller") {
      _ = try caller.optionalText("User")
      guard try caller.integer("Uid", in: 0...Int(UInt32.max)) != nil else {
        throw caller.fault("Uid", "is required")
      }
      _ = try caller.optionalText("Unit")
      _ = try caller.optionalText("Purpose")
      try caller.finish()
    }
    try fields.finish()
    guard let known = state.pools[pool] else {
      throw fields.fault("IdentityPoolId", "is not a pool of this backend")
    }
    guard provider == known.developerProvider else {
      throw fields.fault("DeveloperProviderName", "is not the provider of the pool")
    }
    guard logins[provider] == nil else {
      throw fields.fault("Logins.\(provider)", "must not name the developer provider")
    }
  }

  /// `GET /token/{user}`, with `?pool=` if there are several pools.
  init(pathOf request: HTTPRequest, in state: SandboxState) throws(ServiceError) {
    guard let user = percentDecoded(request.path.dropFirst("/token/".count)), !user.isEmpty else {
      throw ServiceError("InvalidRequest", "the path must end in a user")
    }
    self.user = user
    guard let pool = FormParameters(request.query)["pool"] ?? state.defaultPool,
      state.pools[pool] != nil
    else { throw ServiceError("InvalidRequest", "pool is not a pool of this backend") }
    self.pool = pool
  }
}

extension SandboxState {
  /// An empty pool, for replies that name the wrong pool.
  static let strangePool = "us-east-1:99999999-9999-4999-8999-999999999999"

  /// Answers a token callback.
  mutating func token(
    _ call: TokenCallback, for request: HTTPRequest, fault: Fault.Kind?, at now: Date
  ) throws(ServiceError) -> HTTPReply {
    try authorize(request, for: call.user)
    var output = try vouch(for: call, fault: fault, at: now)
    output["IdentityPoolId"] = .string(
      fault == .wrongPool ? SandboxState.strangePool : call.pool)
    return HTTPReply(json: .object(output))
  }

  /// IdentityId and Token for a user.
  mutating func vouch(
    for call: TokenCallback, fault: Fault.Kind?, at now: Date
  ) throws(ServiceError) -> [String: JSON] {
    var call = call
    let provider = try pool(call.pool).developerProvider ?? ""
    if fault == .changedIdentity {
      // This simulates that the identity was deleted in the console.
      if let old = pools[call.pool]?.owner(of: Login(provider: provider, subject: call.user)) {
        pools[call.pool]?.remove(old)
      }
      call.identity = nil
    }
    let logins = call.logins.merging([provider: call.user]) { $1 }
    let asked = DeveloperTokenRequest(pool: call.pool, identity: call.identity, logins: logins)
    let aLittle = Double(lifetimes.tokens) + 60
    do {
      let made = try developerToken(
        asked, at: fault == .expiredToken ? now.addingTimeInterval(-aLittle) : now)
      return made.members ?? [:]
    } catch {
      var refusal = error
      if ["ResourceConflictException", "DeveloperUserAlreadyRegisteredException"].contains(
        error.code)
      {
        refusal.status = 409
      }
      throw refusal
    }
  }

  /// Whether the host's own token is right. If the request has a user's session, the host's token
  /// is in a separate header; else it is in `Authorization`.
  func accepts(hostOf request: HTTPRequest) -> Bool {
    guard let backendToken else { return true }
    guard let beside = request.header("Credd-Host-Authorization") else {
      return request.bearerToken == backendToken
    }
    return beside == "Bearer " + backendToken
  }

  private mutating func authorize(
    _ request: HTTPRequest, for name: String
  ) throws(ServiceError) {
    let bearer = request.bearerToken
    let holder = bearer.flatMap { users.holder(ofSession: $0) }
    guard accepts(hostOf: request) else { throw TokenBackend.hostNotAuthorized }
    guard bearer == nil || bearer == backendToken || holder != nil || backendToken == nil else {
      throw ServiceError(status: 401, "SessionUnknown", "no such session")
    }
    guard let user = users.user(name) else {
      throw ServiceError(status: 404, "NotFound", "user '\(name)' is not known")
    }
    guard !user.isDisabled else { throw TokenBackend.disabled(name) }
    guard holder == nil || holder == name else {
      throw ServiceError(status: 403, "Forbidden", "the session is another user's")
    }
    guard holder == name || !users.needsSession(user) else {
      throw ServiceError(status: 401, "SignInRequired", "user '\(name)' must sign in")
    }
  }
}
