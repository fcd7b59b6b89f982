import FoundationEssentials
import SeededRandom

/// The control path of user pools: actions of an administrator, and the mails and SMS that users
/// get.
enum UserPoolControl {
  /// - Parameter name: the path after `/control/user-pool`.
  static func output(
    _ request: HTTPRequest, _ name: String, in state: inout SandboxState, at now: Date
  ) throws(ServiceError) -> JSON {
    switch (request.method, name) {
    case ("POST", ""): return try state.setUserPool(FieldReader(bodyOf: request))
    case ("POST", "/client"): return try state.setPoolClient(FieldReader(bodyOf: request))
    case ("POST", "/user"): return try state.setPoolUser(FieldReader(bodyOf: request), at: now)
    case ("GET", "/user"): return try state.showPoolUser(FormParameters(request.query))
    case ("DELETE", "/user"): return try state.removePoolUser(FormParameters(request.query))
    case ("GET", "/messages"): return try state.showMessages(FormParameters(request.query))
    case ("POST", "/hosted"):
      let reader = try FieldReader(bodyOf: request)
      var fields = reader
      return try state.setHosted(reader, in: state.userPoolID(fields.optionalText("UserPool")))
    case ("GET", "/totp"): return try totp(FormParameters(request.query), at: now)
    default: throw ServiceError(status: 404, "NotFound", "\(request.method) \(request.path)")
    }
  }

  /// The present code of an authenticator app, for tests without an app.
  private static func totp(_ query: FormParameters, at now: Date) throws(ServiceError) -> JSON {
    guard let secret = query["Secret"].flatMap(Base32.bytes), !secret.isEmpty else {
      throw ServiceError("InvalidRequest", "Secret must be base32")
    }
    let code = TimeBasedCode.code(secret: secret, step: TimeBasedCode.step(at: now))
    return ["Code": .string(code)]
  }
}

extension SandboxState {
  /// The pool that a control call names, or the only one.
  fileprivate func userPoolID(_ name: String?) throws(ServiceError) -> String {
    if let name {
      guard userPools[name] != nil else {
        throw ServiceError("InvalidRequest", "UserPool is not a user pool of this sandbox")
      }
      return name
    }
    guard userPools.count == 1, let only = userPools.keys.first else {
      throw ServiceError("InvalidRequest", "UserPool is required: there is not exactly one")
    }
    return only
  }

  /// `POST /control/user-pool`: makes a pool, or changes its settings.
  fileprivate mutating func setUserPool(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    let named = try fields.optionalText("UserPool")
    let id = if let named { named } else { try userPoolID(nil) }
    guard UserPoolName(id: id).isValid else {
      throw fields.fault("UserPool", "must be REGION_NAME")
    }
    guard userPools[id] != nil || userPools.count < SandboxState.maximumUserPools else {
      throw ServiceError("LimitExceeded", "too many user pools")
    }
    var settings = userPools[id]?.settings ?? PoolSettings()
    try settings.apply(&fields)
    try fields.finish()
    if userPools[id] == nil {
      userPools[id] = UserPool(id: id, random: SeededGenerator(seed: random.next()))
    }
    userPools[id]?.settings = settings
    let name = UserPoolName(id: id)
    return [
      "UserPool": .string(id), "Issuer": .string(name.issuer(settings.issuerType)),
      "Provider": .string(name.provider),
    ]
  }

  /// `POST /control/user-pool/client`: makes or changes an app client.
  fileprivate mutating func setPoolClient(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    let id = try userPoolID(fields.optionalText("UserPool"))
    let name = try fields.text("ClientId")
    guard InputRule.clientID.violation(of: name, at: "") == nil else {
      throw fields.fault("ClientId", "must have up to 128 letters, digits, _ or +")
    }
    guard !userPools.values.contains(where: { $0.id != id && $0.clients[name] != nil }) else {
      throw fields.fault("ClientId", "is a client of another user pool")
    }
    var client = userPools[id]?.clients[name] ?? AppClient(id: name)
    try client.apply(&fields)
    try fields.finish()
    let count = userPools[id]?.clients.count ?? 0
    guard userPools[id]?.clients[name] != nil || count < UserPool.maximumClients else {
      throw ServiceError("LimitExceeded", "too many clients")
    }
    userPools[id]?.clients[name] = client
    return client.json
  }

  /// `POST /control/user-pool/user`: makes or changes a user, as an administrator does.
  fileprivate mutating func setPoolUser(
    _ reader: FieldReader, at now: Date
  ) throws(ServiceError) -> JSON {
    var fields = reader
    let id = try userPoolID(fields.optionalText("UserPool"))
    var seed = PoolUserSeed(username: try fields.text("Username"))
    try seed.apply(&fields)
    try fields.finish()
    return try withUserPool(id, at: now) { pool throws(ServiceError) in
      // Like AdminCreateUser: a password that somebody else chose is temporary.
      if pool.find(seed.username) == nil, seed.status == nil { seed.status = .mustChangePassword }
      try pool.set(seed, at: now)
      return pool.shown(seed.username)
    }
  }

  fileprivate func showPoolUser(_ query: FormParameters) throws(ServiceError) -> JSON {
    let pool = try userPoolID(query["UserPool"])
    guard let name = query["Username"], userPools[pool]?.find(name) != nil else {
      throw ServiceError(status: 404, "NotFound", "no such user")
    }
    return userPools[pool]?.shown(name) ?? [:]
  }

  fileprivate mutating func removePoolUser(_ query: FormParameters) throws(ServiceError) -> JSON {
    let pool = try userPoolID(query["UserPool"])
    guard let name = query["Username"], let user = userPools[pool]?.find(name) else {
      throw ServiceError(status: 404, "NotFound", "no such user")
    }
    userPools[pool]?.remove(user.username)
    return [:]
  }

  fileprivate func showMessages(_ query: FormParameters) throws(ServiceError) -> JSON {
    let pool = userPools[try userPoolID(query["UserPool"])]
    let name = query["Username"].map { pool?.find($0)?.username ?? $0 }
    return ["Messages": .array(pool?.messages.sent(to: name).map(\.json) ?? [])]
  }
}

extension UserPool {
  /// The data of a user that the control path shows; never a secret.
  fileprivate func shown(_ name: String) -> JSON {
    guard let user = find(name) else { return [:] }
    return [
      "Username": .string(user.username), "Sub": .string(user.sub),
      "Status": .string(user.status.rawValue), "Disabled": .bool(user.isDisabled),
      "Attributes": .object(user.attributes.mapValues { .string($0) }),
      "Mfa": .array(user.factorList.map { .string($0.rawValue) }),
      "Devices": .array(user.devices.keys.sorted().map { .string($0) }),
    ]
  }
}
