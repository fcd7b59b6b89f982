import FoundationEssentials

/// Tokens of public providers that only the provider can check. The sandbox is that provider.
struct ProviderTokens: Sendable {
  struct Entry: Sendable {
    var login: Login
    var expiration: Date
    /// The roles that a SAML assertion carries.
    var roles: [String] = []
  }

  static let maximumTokens = 10_000

  private var entries: [String: Entry] = [:]

  subscript(_ token: String) -> Entry? { entries[token] }

  mutating func store(_ entry: Entry, as token: String, at now: Date) throws(ServiceError) {
    if entries.count >= ProviderTokens.maximumTokens {
      entries = entries.filter { $0.value.expiration > now }
    }
    guard entries.count < ProviderTokens.maximumTokens else {
      throw ServiceError("LimitExceeded", "too many provider tokens are alive")
    }
    entries[token] = entry
  }

  @discardableResult
  mutating func revoke(_ token: String) -> Bool { entries.removeValue(forKey: token) != nil }
}

/// The revoked developer tokens.
///
/// Each token has a serial number (`jti`). Revoking an identity voids all tokens up to the latest
/// number.
struct Revocations: Sendable {
  private(set) var lastSerial = 0
  private var voidUpTo: [String: Int] = [:]
  private var allVoidUpTo = 0

  mutating func nextSerial() -> Int {
    lastSerial += 1
    return lastSerial
  }

  mutating func revoke(identity: String) { voidUpTo[identity] = lastSerial }

  mutating func revokeAll() { allVoidUpTo = lastSerial }

  func isVoid(serial: Int, of identity: String) -> Bool {
    serial <= max(allVoidUpTo, voidUpTo[identity] ?? 0)
  }
}

extension SandboxState {
  /// `POST /control/social-token`: signs a user in at a public provider.
  ///
  /// A negative lifetime makes an expired token.
  mutating func makeProviderToken(
    _ reader: FieldReader, at now: Date
  ) throws(ServiceError) -> JSON {
    var fields = reader
    let name = try fields.text("Provider")
    let subject = try fields.text("Subject")
    let lifetime = try fields.integer("Lifetime", in: -86_400...86_400) ?? 3600
    guard let poolID = try fields.optionalText("Pool") ?? defaultPool, let pool = pools[poolID]
    else { throw fields.fault("Pool", "is not a pool of this sandbox") }
    let audience = try fields.optionalText("Audience")
    let issuer = try fields.optionalText("Issuer")
    let roles = try fields.texts("Roles") ?? []
    try fields.finish()
    guard name.contains(".") || name.hasPrefix("arn:") else {
      throw fields.fault("Provider", "must be a host name or an ARN")
    }
    let provider = pool.providers[name] ?? LoginProvider(name: name, audience: "sandbox-client")
    let entry = ProviderTokens.Entry(
      login: Login(provider: name, subject: subject),
      expiration: Date(timeIntervalSince1970: Double(now.epochSeconds + lifetime)), roles: roles)
    let token =
      switch provider.kind {
      case .openID:
        try openIDToken(
          entry, issuer: issuer ?? provider.issuer, audience: audience ?? provider.audience, at: now
        )
      case .opaque: "EAAS" + random.text(180, of: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8))
      case .saml: base64(Array(assertion(entry).utf8))
      }
    if provider.kind != .openID { try providerTokens.store(entry, as: token, at: now) }
    return ["Token": .string(token), "Expiration": .string(entry.expiration.iso8601Text)]
  }

  private mutating func openIDToken(
    _ entry: ProviderTokens.Entry, issuer name: String, audience: String, at now: Date
  ) throws(ServiceError) -> String {
    let claims: JSON = [
      "iss": .string(name), "sub": .string(entry.login.subject), "aud": .string(audience),
      "iat": .number(Double(now.epochSeconds)),
      "exp": .number(Double(entry.expiration.epochSeconds)),
    ]
    do {
      if let pool = userPools.values.first(where: { $0.provider == entry.login.provider })?.id {
        return try withUserPool(pool, at: now) { pool throws(ServiceError) in
          try pool.idToken(
            subject: entry.login.subject, audience: audience, issuer: name,
            expiration: entry.expiration.epochSeconds)
        }
      }
      return try issuer.token(claims, algorithm: .rs256)
    } catch {
      throw ServiceError(status: 500, "InternalError", "the token cannot be signed")
    }
  }

  /// An assertion in SAML's form. Its identifier makes it unique; it is valid because the sandbox
  /// has stored it.
  private mutating func assertion(_ entry: ProviderTokens.Entry) -> String {
    let namespace = "urn:oasis:names:tc:SAML:2.0:assertion"
    let values = entry.roles.map { XMLElement("AttributeValue", $0 + "," + entry.login.provider) }
    return XMLElement(
      "Assertion", namespace: namespace,
      [
        XMLElement("ID", random.uuid()), XMLElement("Issuer", entry.login.provider),
        XMLElement("Subject", [XMLElement("NameID", entry.login.subject)]),
        XMLElement("Conditions", [XMLElement("NotOnOrAfter", entry.expiration.iso8601Text)]),
        XMLElement("AttributeStatement", [XMLElement("Attribute", values)]),
      ]
    ).text()
  }
}
