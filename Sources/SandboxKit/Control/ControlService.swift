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
    case ("POST", "issued"): return try issued(FieldReader(bodyOf: request), in: sandbox.state.mint)
    case ("POST", "user"): return try sandbox.state.setUser(FieldReader(bodyOf: request))
    case ("POST", "role"): return try sandbox.state.setRole(FieldReader(bodyOf: request))
    case ("POST", "openid-provider"):
      return try sandbox.state.openIDProviders.add(FieldReader(bodyOf: request))
    case ("POST", "bucket"): return try sandbox.state.setBucket(FieldReader(bodyOf: request))
    case ("POST", "sts"): return try sandbox.state.setSTS(FieldReader(bodyOf: request))
    case ("POST", "may"): return try sandbox.state.answerMay(FieldReader(bodyOf: request))
    case ("POST", "lifetimes"): return try sandbox.state.setLifetimes(FieldReader(bodyOf: request))
    case ("POST", "pool"): return try sandbox.state.setPool(FieldReader(bodyOf: request))
    case ("POST", "provider-keys"):
      return try sandbox.state.publishedKeys.set(FieldReader(bodyOf: request))
    case ("POST", "revoke"): return try sandbox.state.revoke(FieldReader(bodyOf: request))
    case ("POST", "social-token"):
      return try sandbox.state.makeProviderToken(FieldReader(bodyOf: request), at: now)
    case ("DELETE", "identity"):
      return try deleteIdentity(request, in: &sandbox.state)
    case (_, let name) where name == "user-pool" || name.hasPrefix("user-pool/"):
      return try UserPoolControl.output(
        request, String(name.dropFirst("user-pool".count)), in: &sandbox.state, at: now)
    case (_, let name) where name == "oidc" || name.hasPrefix("oidc/"):
      return try OIDCControl.output(
        request, String(name.dropFirst("oidc".count)), in: &sandbox.state, at: now)
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

  /// The user or identity to whom credentials or a developer token were given.
  private static func issued(
    _ request: HTTPRequest, in sandbox: Sandbox
  ) throws(ServiceError) -> JSON {
    let query = FormParameters(request.query)
    if let token = query["Token"] { return try issued(token, in: sandbox.state) }
    guard let key = query["AccessKeyId"] else {
      throw ServiceError("InvalidRequest", "AccessKeyId or Token is required")
    }
    return try issued(key, in: sandbox.state.mint)
  }

  /// The user or identity of complete credentials, whose parts must have been given together.
  private static func issued(
    _ reader: FieldReader, in mint: CredentialMint
  ) throws(ServiceError) -> JSON {
    var fields = reader
    let key = try fields.text("AccessKeyId")
    let secrets = try [fields.text("SecretAccessKey"), fields.text("SessionToken")]
    try fields.finish()
    let output = try issued(key, in: mint)
    guard mint.secrets(of: key) == secrets else {
      throw ServiceError(status: 409, "Mixed", "these were not given together")
    }
    return output
  }

  private static func issued(
    _ key: String, in mint: CredentialMint
  ) throws(ServiceError) -> JSON {
    guard let grant = mint.grant(of: key) else {
      throw ServiceError(status: 404, "NotFound", "no such access key")
    }
    var output: [String: JSON] = [
      "Pool": .string(grant.pool), "IdentityId": .string(grant.identity),
      "Logins": subjects(of: grant.logins), "RoleArn": .string(grant.session.role),
      "Expiration": .string(grant.expiration.iso8601Text),
    ]
    if grant.isOfSTS { output["RoleSessionName"] = .string(grant.session.name) }
    if let source = grant.source {
      output["SourceAccessKeyId"] = .string(source)
      output["ScopedPoliciesCount"] = .number(Double(grant.session.scopes.count))
      output["Tags"] = .object(grant.session.tags.mapValues { .string($0) })
      output["SourceIdentity"] = grant.session.sourceIdentity.map { .string($0) } ?? .null
    }
    return .object(output)
  }

  /// Provider → its names of the user.
  private static func subjects(of logins: Set<Login>) -> JSON {
    .object(
      Dictionary(grouping: logins, by: \.provider).mapValues { logins in
        .array(logins.map(\.subject).sorted().map { .string($0) })
      })
  }

  /// The identity and the login of a developer token, according to its claims.
  private static func issued(_ token: String, in state: SandboxState) throws(ServiceError) -> JSON {
    guard let claims = try? state.issuer.verifiedClaims(in: token),
      let identity = claims["sub"]?.text, let pool = claims["aud"]?.text,
      let expiration = claims["exp"]?.integer
    else { throw ServiceError(status: 404, "NotFound", "no such token") }
    var logins: Set<Login> = []
    // `amr` ends in PROVIDER:POOL:SUBJECT.
    let methods = claims["amr"]?.elements?.compactMap(\.text) ?? []
    if methods.count == 3 {
      let opening = "\(methods[1]):\(pool):"
      let subject = String(methods[2].dropFirst(opening.count))
      logins.insert(Login(provider: methods[1], subject: subject))
    }
    return [
      "Pool": .string(pool), "IdentityId": .string(identity), "Logins": subjects(of: logins),
      "Expiration": .string(Date(timeIntervalSince1970: Double(expiration)).iso8601Text),
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

/// The operations of the control path.
extension SandboxState {
  /// `POST /control/user`: makes or changes a user.
  mutating func setUser(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    let name = try fields.text("Name")
    let isDisabled = try fields.bool("Disabled")
    let password = try fields.optionalText("Password")
    let requiresSession = try fields.bool("RequireSession")
    try fields.finish()
    var user =
      users.existing(name)
      ?? User(name: name, password: UserDirectory.defaultPassword(of: name))
    user.isDisabled = isDisabled ?? user.isDisabled
    user.requiresSession = requiresSession ?? user.requiresSession
    if let password {
      user.password = password
      user.saltedPassword = nil
    }
    guard users.store(user) else { throw ServiceError("LimitExceeded", "too many users") }
    return [
      "Name": .string(name), "Disabled": .bool(user.isDisabled),
      "RequireSession": .bool(user.requiresSession),
    ]
  }

  /// `POST /control/lifetimes`: lifetimes in seconds, for everything that is made from now on.
  mutating func setLifetimes(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    let credentials = try fields.integer("Credentials", in: 0...43_200)
    let tokens = try fields.integer("Tokens", in: 0...86_400)
    try fields.finish()
    lifetimes.credentials = credentials ?? lifetimes.credentials
    lifetimes.tokens = tokens ?? lifetimes.tokens
    return [
      "Credentials": .number(Double(lifetimes.credentials)),
      "Tokens": .number(Double(lifetimes.tokens)),
    ]
  }

  /// `POST /control/pool`: the settings of a pool.
  mutating func setPool(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    guard let id = try fields.optionalText("Pool") ?? defaultPool, pools[id] != nil else {
      throw fields.fault("Pool", "is not a pool of this sandbox")
    }
    let allowsGuests = try fields.bool("Unauthenticated")
    let allowsClassicFlow = try fields.bool("ClassicFlow")
    let userPoolKeys: IdentityPool.UserPoolKeys? = try fields.choice("UserPoolKeys")
    let provider = try fields.optionalText("DeveloperProvider")
    let authenticatedRole = try fields.optionalText("AuthenticatedRole")
    let guestRole = try fields.optionalText("UnauthenticatedRole")
    let removesRoles = try fields.bool("RemoveRoles") ?? false
    let added = try fields.userPoolProviders()
    try fields.finish()
    return try withPool(id) { (pool, _) throws(ServiceError) in
      if removesRoles { (pool.authenticatedRole, pool.guestRole) = (nil, nil) }
      pool.allowsGuests = allowsGuests ?? pool.allowsGuests
      pool.allowsClassicFlow = allowsClassicFlow ?? pool.allowsClassicFlow
      pool.userPoolKeys = userPoolKeys ?? pool.userPoolKeys
      pool.developerProvider = provider ?? pool.developerProvider
      pool.authenticatedRole = authenticatedRole ?? pool.authenticatedRole
      pool.guestRole = guestRole ?? pool.guestRole
      for provider in added ?? [] { pool.providers[provider.name] = nil }
      for provider in added ?? [] { pool.providers.add(provider) }
      return [
        "Pool": .string(id), "Unauthenticated": .bool(pool.allowsGuests),
        "ClassicFlow": .bool(pool.allowsClassicFlow),
        "AuthenticatedRole": pool.authenticatedRole.map { .string($0) } ?? .null,
        "UnauthenticatedRole": pool.guestRole.map { .string($0) } ?? .null,
        "Identities": .number(Double(pool.identityCount)),
      ]
    }
  }

  /// `POST /control/revoke`: exactly one of IdentityId, User, Session, Token, All.
  mutating func revoke(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    let identity = try fields.optionalText("IdentityId")
    let user = try fields.optionalText("User")
    let session = try fields.optionalText("Session")
    let token = try fields.optionalText("Token")
    let all = try fields.bool("All")
    try fields.finish()
    switch (identity, user, session, token, all) {
    case (let identity?, nil, nil, nil, nil): revocations.revoke(identity: identity)
    case (nil, let user?, nil, nil, nil): return revoke(user: user)
    case (nil, nil, let session?, nil, nil):
      guard users.closeSession(session) else { throw fields.fault("Session", "is not known") }
    case (nil, nil, nil, let token?, nil): try revoke(token: token, fields)
    case (nil, nil, nil, nil, true?):
      revocations.revokeAll()
      return ["Sessions": .number(Double(users.closeAllSessions()))]
    default:
      throw fields.fault("body", "must name one of IdentityId, User, Session, Token, All")
    }
    return [:]
  }

  /// Voids a user's tokens and closes the user's sessions.
  private mutating func revoke(user name: String) -> JSON {
    for pool in pools.values {
      let login = Login(provider: pool.developerProvider ?? "", subject: name)
      if let identity = pool.owner(of: login) { revocations.revoke(identity: identity) }
    }
    let sessions = users.closeSessions(of: name)
    let devices = devices.revoke(user: name)
    return ["Sessions": .number(Double(sessions)), "Devices": .number(Double(devices))]
  }

  private mutating func revoke(token: String, _ fields: FieldReader) throws(ServiceError) {
    if providerTokens.revoke(token) { return }
    guard let claims = try? issuer.verifiedClaims(in: token), let subject = claims["sub"]?.text
    else { throw fields.fault("Token", "is not a token of this sandbox") }
    revocations.revoke(identity: subject)
  }
}

/// Counts calls: how many, and how many at once.
struct CallCounters: Sendable {
  private(set) var calls: [ServiceCall: Int] = [:]
  private(set) var last: [ServiceCall: HTTPRequest] = [:]
  private(set) var inFlight = 0
  private(set) var maximumInFlight = 0
  private(set) var connectionsAccepted = 0
  private(set) var connectionsOpen = 0

  mutating func began(_ call: ServiceCall, _ request: HTTPRequest) {
    calls[call, default: 0] += 1
    last[call] = request
    inFlight += 1
    maximumInFlight = max(maximumInFlight, inFlight)
  }

  mutating func ended() { inFlight -= 1 }

  mutating func connectionOpened() {
    connectionsAccepted += 1
    connectionsOpen += 1
  }

  mutating func connectionClosed() { connectionsOpen -= 1 }

  /// Starts counting again; calls under way stay counted as such.
  mutating func reset() {
    calls = [:]
    last = [:]
    maximumInFlight = inFlight
    connectionsAccepted = 0
  }

  /// The latest request of an operation, named as `GetId` or `cognito.GetId`.
  func lastRequest(of name: String) -> HTTPRequest? {
    last.first { $0.key.name == name || $0.key.operation == name }?.value
  }

  var json: JSON {
    [
      "Calls": .object(
        Dictionary(
          calls.map { ($0.key.name, JSON.number(Double($0.value))) }, uniquingKeysWith: { $1 })),
      "InFlight": .number(Double(inFlight)), "MaximumInFlight": .number(Double(maximumInFlight)),
      "ConnectionsAccepted": .number(Double(connectionsAccepted)),
      "ConnectionsOpen": .number(Double(connectionsOpen)),
    ]
  }
}
