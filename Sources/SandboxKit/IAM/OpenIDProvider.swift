/// IAM's OpenID Connect providers: whose ID tokens the roles of an account may trust.
struct OpenIDProviders: Sendable {
  private static let most = 64

  /// By account, then by the issuer's host and path.
  private var entries: [String: [String: LoginProvider]] = [:]

  func provider(ofIssuer issuer: String?, in account: String) -> LoginProvider? {
    entries[account]?.values.first { $0.isIssuer(issuer) }
  }

  /// What CreateOpenIDConnectProvider and AddClientIDToOpenIDConnectProvider do: a client that is there
  /// stays.
  mutating func add(_ name: String, clients: [String], to account: String) throws(ServiceError) {
    guard entries[account]?[name] != nil || entries.values.reduce(0, { $0 + $1.count }) < Self.most
    else { throw ServiceError("LimitExceeded", "more than \(Self.most) OpenID Connect providers") }
    for client in clients {
      entries[account, default: [:]].add(LoginProvider(name: name, audience: client))
    }
  }
}

extension OpenIDProviders {
  /// `POST /control/openid-provider`, and in a seed.
  mutating func add(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    let url = try fields.text("Url")
    let clients = try fields.texts("ClientIDList") ?? []
    let account = try fields.optionalText("Account") ?? SandboxSeed.account
    try fields.finish()
    // AWS takes https:// alone. A provider of the sandbox has no TLS.
    let scheme = ["https://", "http://127.0.0.1:", "http://localhost:"].first(where: url.hasPrefix)
    guard scheme != nil, let start = url.firstRange(of: "//")?.upperBound else {
      throw fields.fault("Url", "must begin with https://")
    }
    guard !clients.isEmpty else { throw fields.fault("ClientIDList", "must name a client") }
    let name = String(url[start...].hasSuffix("/") ? url[start...].dropLast() : url[start...])
    try add(name, clients: clients, to: account)
    return ["OpenIDConnectProviderArn": .string(Role.providerARN(name, in: account))]
  }
}

extension Role {
  /// A statement of a trust policy for the users of an OpenID Connect provider: the conditions on the
  /// claims `aud` and `sub`.
  struct OpenIDTrust: Sendable, Equatable {
    /// The issuer's host and path.
    let provider: String
    let audiences: Set<String>
    /// With `*` and `?`, as of StringLike.
    let subjects: [PolicyPattern]

    func names(_ token: ProviderIdentity) -> Bool {
      provider == token.provider && audiences.contains(token.audience)
        && subjects.contains { $0.matches(token.subject) }
    }
  }

  static func providerARN(_ name: String, in account: String) -> String {
    "arn:aws:iam::\(account):oidc-provider/\(name)"
  }
}

extension Role.OpenIDTrust {
  static func everybody(of provider: String, clients: [String]) -> Role.OpenIDTrust {
    Role.OpenIDTrust(provider: provider, audiences: Set(clients), subjects: [.anyText])
  }

  init(_ reader: FieldReader) throws(ServiceError) {
    var fields = reader
    provider = try fields.text("Provider")
    audiences = Set(try fields.texts("Audiences") ?? [])
    var subjects: [PolicyPattern] = []
    for subject in try fields.texts("Subjects") ?? ["*"] {
      subjects.append(try PolicyPattern(subject))
    }
    self.subjects = subjects
    try fields.finish()
    guard !audiences.isEmpty else {
      throw fields.fault("Audiences", "must name a client: a role without it trusts all of them")
    }
  }
}

/// Whom a checked ID token of a provider names.
struct ProviderIdentity: Sendable, Equatable {
  /// The issuer's host and path.
  let provider: String
  let audience: String
  let subject: String
}
