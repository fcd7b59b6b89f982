/// The initial content of a sandbox.
public struct SandboxSeed: Sendable {
  /// One identity pool.
  public struct Pool: Sendable {
    public var id: String
    public var developerProvider: String?
    public var allowsGuests = false
    public var allowsClassicFlow = true
    public var authenticatedRole: String?
    public var guestRole: String?
    /// Public providers, and the client id for which each issues tokens.
    public var providers: [String: String] = [:]
    /// User pools, each with a client.
    var userPoolProviders: [LoginProvider] = []

    public init(id: String, developerProvider: String?) {
      self.id = id
      self.developerProvider = developerProvider
    }
  }

  /// One user of the organisation.
  public struct User: Sendable {
    public var name: String
    /// nil: the name followed by `-password`.
    public var password: String?
    public var isDisabled = false
    public var requiresSession = false

    public init(name: String) {
      self.name = name
    }
  }

  public var pools: [Pool]
  public var userPools: [UserPool]
  public var users: [User]
  var roles: [Role]
  var openIDProviders = OpenIDProviders()
  public var allowsAnyUser = false
  public var requiresSession = false
  public var developerKeys = ["AKIASANDBOXDEVELOPER": "sandbox-developer-secret"]
  /// Seconds.
  public var credentialLifetime = 3600
  /// Seconds.
  public var tokenLifetime = 900
  /// Characters.
  public var sessionTokenLength = 896
  public var backendToken: String?

  public static let defaultPool = "us-east-1:11111111-2222-3333-4444-555555555555"
  public static let defaultProvider = "login.example.app"
  static let account = "123456789012"
  /// Of the role `credd-partner`.
  static let partnerAccount = "210987654321"

  /// One pool with every kind of provider, and the users alice, bob and root.
  public init(pool id: String = defaultPool, provider: String = defaultProvider) {
    var pool = Pool(id: id, developerProvider: provider)
    let region = id.prefix { $0 != ":" }
    pool.providers = [
      "accounts.google.com": "sandbox-client", "appleid.apple.com": "sandbox-client",
      "graph.facebook.com": "sandbox-client", "www.amazon.com": "sandbox-client",
      "arn:aws:iam::\(SandboxSeed.account):saml-provider/sandbox": "sandbox-client",
    ]
    pool.authenticatedRole = SandboxSeed.arn("credd-authenticated")
    pool.guestRole = SandboxSeed.arn("credd-guest")
    let directory = SandboxSeed.defaultUserPool(in: region)
    let provider = UserPoolName(id: directory.id).provider
    pool.userPoolProviders = directory.clients.map {
      LoginProvider(name: provider, audience: $0.id)
    }
    userPools = [directory]
    pools = [pool]
    users = ["alice", "bob", "root"].map(User.init)
    let clients = directory.clients.map(\.id)
    // The table is empty, so there is room.
    try? openIDProviders.add(provider, clients: clients, to: SandboxSeed.account)
    roles = SandboxSeed.defaultRoles(of: id)
    var direct = Role(arn: SandboxSeed.arn("credd-direct"))
    direct.maximumSessionDuration = 43_200
    direct.trust.openID = [.everybody(of: provider, clients: clients)]
    roles.append(direct)
  }

  /// Three for the identity pool, and two that its users may assume from there: one of the same account,
  /// and one of a partner's, which wants an external id.
  private static func defaultRoles(of pool: String) -> [Role] {
    var authenticated = Role(arn: arn("credd-authenticated"), pool: pool)
    authenticated.maximumSessionDuration = 43_200
    var custom = Role(arn: arn("credd-custom"), pool: pool)
    custom.isCustom = true
    var guest = Role(arn: arn("credd-guest"), pool: pool)
    guest.trustsAuthenticated = false
    var reports = Role(arn: arn("credd-reports"))
    reports.trust.principals = [authenticated.arn]
    reports.trust.allowsTags = true
    reports.trust.allowsSourceIdentity = true
    var partner = Role(arn: "arn:aws:iam::\(partnerAccount):role/credd-partner")
    partner.trust.principals = ["arn:aws:iam::\(account):root"]
    partner.trust.externalID = "sandbox-external-id"
    return [authenticated, custom, guest, reports, partner]
  }

  private static func arn(_ role: String) -> String { "arn:aws:iam::\(account):role/\(role)" }
}

extension SandboxSeed {
  /// Reads a seed file. Missing fields have the values of the default seed.
  ///
  /// - Throws: an error whose message names the field.
  public init(json bytes: [UInt8]) throws(ServiceError) {
    self.init()
    guard let json = JSON(parsing: bytes) else {
      throw ServiceError("InvalidRequest", "the seed is not JSON")
    }
    var fields = try FieldReader(json)
    if let pools = try fields.objects("Pools") {
      self.pools = []
      for pool in pools { self.pools.append(try Pool(pool)) }
    }
    if let pools = try fields.objects("UserPools") {
      userPools = []
      for pool in pools { userPools.append(try UserPool(pool)) }
    }
    if let roles = try fields.objects("Roles") {
      self.roles = []
      for role in roles { self.roles.append(try Role(role)) }
    }
    if let providers = try fields.objects("OpenIDConnectProviders") {
      openIDProviders = OpenIDProviders()
      for provider in providers { _ = try openIDProviders.add(provider) }
    }
    if let users = try fields.objects("Users") {
      self.users = []
      for user in users { self.users.append(try User(user)) }
    }
    developerKeys = try fields.map("DeveloperKeys") ?? developerKeys
    allowsAnyUser = try fields.bool("AnyUser") ?? allowsAnyUser
    requiresSession = try fields.bool("RequireSession") ?? requiresSession
    credentialLifetime =
      try fields.integer("CredentialLifetime", in: 0...43_200) ?? credentialLifetime
    tokenLifetime = try fields.integer("TokenLifetime", in: 0...86_400) ?? tokenLifetime
    sessionTokenLength =
      try fields.integer("SessionTokenLength", in: 32...100_000) ?? sessionTokenLength
    backendToken = try fields.optionalText("BackendToken") ?? backendToken
    try fields.finish()
  }
}

extension SandboxSeed.Pool {
  init(_ reader: FieldReader) throws(ServiceError) {
    var fields = reader
    let id = try fields.text("Id")
    guard InputRule.id.violation(of: id, at: "Id") == nil else {
      throw fields.fault("Id", "must be REGION:UUID")
    }
    self.init(id: id, developerProvider: try fields.optionalText("DeveloperProvider"))
    allowsGuests = try fields.bool("Unauthenticated") ?? allowsGuests
    allowsClassicFlow = try fields.bool("ClassicFlow") ?? allowsClassicFlow
    authenticatedRole = try fields.optionalText("AuthenticatedRole")
    guestRole = try fields.optionalText("UnauthenticatedRole")
    providers = try fields.map("Providers") ?? providers
    userPoolProviders = try fields.userPoolProviders() ?? []
    try fields.finish()
  }
}

extension FieldReader {
  /// `CognitoIdentityProviders`, as in CreateIdentityPool.
  mutating func userPoolProviders() throws(ServiceError) -> [LoginProvider]? {
    guard let readers = try objects("CognitoIdentityProviders") else { return nil }
    var providers: [LoginProvider] = []
    for reader in readers {
      var fields = reader
      providers.append(
        LoginProvider(
          name: try fields.text("ProviderName"), audience: try fields.text("ClientId"),
          checksTokens: try fields.bool("ServerSideTokenCheck") ?? false))
      try fields.finish()
    }
    return providers
  }
}

extension SandboxSeed.User {
  init(_ reader: FieldReader) throws(ServiceError) {
    var fields = reader
    self.init(name: try fields.text("Name"))
    password = try fields.optionalText("Password")
    isDisabled = try fields.bool("Disabled") ?? isDisabled
    requiresSession = try fields.bool("RequireSession") ?? requiresSession
    try fields.finish()
  }
}
