import FoundationEssentials

/// The control path of the provider.
enum OIDCControl {
  /// - Parameter name: the path after `/control/oidc`.
  static func output(
    _ request: HTTPRequest, _ name: String, in state: inout SandboxState, at now: Date
  ) throws(ServiceError) -> JSON {
    switch (request.method, name) {
    case ("GET", ""): return state.oidc.shown
    case ("POST", ""):
      try state.oidc.settings.apply(FieldReader(bodyOf: request))
      return state.oidc.shown
    case ("POST", "/client"): return try state.oidc.setClient(FieldReader(bodyOf: request))
    case ("POST", "/device"): return try state.oidc.decide(FieldReader(bodyOf: request), at: now)
    case ("POST", "/revoke"): return try state.oidc.revoke(FieldReader(bodyOf: request))
    default: throw ServiceError(status: 404, "NotFound", "\(request.method) \(request.path)")
    }
  }
}

extension OIDCProvider {
  /// The state for tests; never a token.
  fileprivate var shown: JSON {
    [
      "SignedInAs": settings.signedInAs.map { .string($0) } ?? .null,
      "Clients": .array(clients.keys.sorted().map { .string($0) }),
      "Sessions": .number(Double(families.values.count { !$0.isRevoked })),
      "Devices": .array(
        devices.values.filter { $0.state == .pending }.map(\.userCode).sorted().map { .string($0) }
      ),
      "Misuses": .object(misuses.mapValues { .number(Double($0)) }),
    ]
  }

  fileprivate mutating func setClient(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    let id = try fields.text("ClientId")
    var client = clients[id] ?? OIDCClient(id: id)
    client.secret = try fields.optionalText("ClientSecret") ?? client.secret
    client.keyPEM = try fields.optionalText("Key") ?? client.keyPEM
    client.authentication =
      try fields.word("Authentication", OIDCClient.Authentication.self) ?? client.authentication
    client.redirectURIs = try fields.texts("RedirectUris") ?? client.redirectURIs
    client.logoutURIs = try fields.texts("LogoutUris") ?? client.logoutURIs
    client.audiences = try fields.texts("Audiences") ?? client.audiences
    client.rotation = try fields.word("Rotation", OIDCClient.Rotation.self) ?? client.rotation
    client.grace = try fields.integer("Grace", in: 0...3600) ?? client.grace
    if let names = try fields.texts("Grants") {
      let grants = names.compactMap(OIDCClient.Grant.init(rawValue:))
      guard grants.count == names.count else {
        throw fields.fault("Grants", "has an unknown grant")
      }
      client.grants = Set(grants)
    }
    try fields.finish()
    guard clients[id] != nil || clients.count < 256 else {
      throw ServiceError("LimitExceeded", "too many clients")
    }
    clients[id] = client
    return ["ClientId": .string(id), "Authentication": .string(client.authentication.rawValue)]
  }

  /// Takes the answer of a user on another device.
  fileprivate mutating func decide(
    _ reader: FieldReader, at now: Date
  ) throws(ServiceError) -> JSON {
    var fields = reader
    let code = try fields.text("UserCode")
    let user = try fields.optionalText("As")
    try fields.finish()
    do throws(OAuthFault) {
      try decide(code, user.map { .approved(user: $0) } ?? .denied, at: now)
    } catch {
      throw ServiceError("InvalidRequest", error.description)
    }
    return [:]
  }

  /// Ends the sessions of a user, or all.
  fileprivate mutating func revoke(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    let user = try fields.optionalText("User")
    try fields.finish()
    var count = 0
    for (id, family) in families where !family.isRevoked && (user ?? family.user) == family.user {
      families[id]?.isRevoked = true
      count += 1
    }
    return ["Sessions": .number(Double(count))]
  }
}

extension OIDCSettings {
  fileprivate mutating func apply(_ reader: FieldReader) throws(ServiceError) {
    var fields = reader
    let day = 86_400
    if let user = try fields.optionalText("SignedInAs") { signedInAs = user }
    if try fields.bool("SignedOut") ?? false { signedInAs = nil }
    redirectRule = try fields.word("RedirectRule", RedirectRule.self) ?? redirectRule
    hasSlash = try fields.bool("Slash") ?? hasSlash
    namesIssuer = try fields.bool("NamesIssuer") ?? namesIssuer
    givesIDTokenAtRenewal =
      try fields.bool("IdTokenAtRenewal") ?? givesIDTokenAtRenewal
    givesNonceAtRenewal = try fields.bool("NonceAtRenewal") ?? givesNonceAtRenewal
    namesParty = try fields.bool("NamesParty") ?? namesParty
    wantsOfflineAccess = try fields.bool("WantsOfflineAccess") ?? wantsOfflineAccess
    codeLifetime = try fields.integer("CodeLifetime", in: 1...day) ?? codeLifetime
    tokenLifetime = try fields.integer("TokenLifetime", in: 1...day) ?? tokenLifetime
    refreshLifetime = try fields.integer("RefreshLifetime", in: 1...365 * day) ?? refreshLifetime
    deviceLifetime = try fields.integer("DeviceLifetime", in: 1...day) ?? deviceLifetime
    deviceInterval = try fields.integer("DeviceInterval", in: 0...300) ?? deviceInterval
    deviceLifetimeForm =
      try fields.word("DeviceLifetimeForm", LifetimeForm.self) ?? deviceLifetimeForm
    for lie in Lie.allCases {
      if let count = try fields.integer(lie.rawValue, in: 0...1000) { lies[lie] = count }
    }
    try fields.finish()
  }
}

extension FieldReader {
  /// One word of a fixed list.
  fileprivate mutating func word<Word: RawRepresentable & CaseIterable>(
    _ name: String, _ type: Word.Type
  ) throws(ServiceError) -> Word? where Word.RawValue == String {
    guard let text = try optionalText(name) else { return nil }
    guard let word = Word(rawValue: text) else {
      throw fault(
        name, "must be one of " + Word.allCases.map(\.rawValue).joined(separator: ", "))
    }
    return word
  }
}
