import FoundationEssentials
import SeededRandom

/// The whole state of the sandbox, as a value. It gets the time as a parameter and does no I/O.
struct SandboxState: Sendable {
  /// In seconds.
  struct Lifetimes: Sendable {
    var credentials = 3600
    /// The lifetime of developer tokens without a TokenDuration.
    var tokens = 900
  }

  static let maximumUserPools = 32

  var pools: [String: IdentityPool] = [:]
  var userPools: [String: UserPool] = [:]
  var roles: [String: Role] = [:]
  var openIDProviders = OpenIDProviders()
  var users = UserDirectory()
  /// Developer access keys: id → secret.
  var developerKeys: [String: String] = [:]
  var lifetimes = Lifetimes()
  /// The bearer token that the token callback requires, if any.
  var backendToken: String?
  var providerTokens = ProviderTokens()
  var devices = DeviceDirectory()
  var oidc = OIDCProvider()
  var publishedKeys = PublishedKeys()
  var revocations = Revocations()
  var mint = CredentialMint()
  var objects = ObjectStore()
  /// Whether the policies of a session must allow `sts:GetScopedCredentials`.
  var scopingWantsPermission = true
  /// The User-Agent of the call under way.
  var agent = "unknown"
  var random: SeededGenerator
  let issuer: TokenIssuer

  init(issuer: TokenIssuer, seed: UInt64) {
    self.issuer = issuer
    self.random = SeededGenerator(seed: seed)
  }

  func pool(_ id: String) throws(ServiceError) -> IdentityPool {
    guard let pool = pools[id] else { throw SandboxState.poolNotFound(id) }
    return pool
  }

  static func poolNotFound(_ id: String) -> ServiceError {
    ServiceError("ResourceNotFoundException", "IdentityPool '\(id)' not found.")
  }

  /// Changes a pool in place. Meanwhile the pool is taken out of the state, so that its many
  /// identities are not copied.
  mutating func withPool<Result>(
    _ id: String,
    _ body: (inout IdentityPool, inout SeededGenerator) throws(ServiceError) -> Result
  ) throws(ServiceError) -> Result {
    guard var pool = pools.removeValue(forKey: id) else { throw SandboxState.poolNotFound(id) }
    defer { pools[id] = pool }
    return try body(&pool, &random)
  }

  /// The pool with this identity, merged or not.
  func pool(holding identity: String) throws(ServiceError) -> String {
    // There are few pools, so a scan is cheaper than keeping an index.
    for pool in pools.values where pool.identity(identity) != nil { return pool.id }
    throw IdentityPool.notFound(identity)
  }

  /// The only pool, or the first one by id, for callers that name none.
  var defaultPool: String? { pools.keys.min() }
}

extension SandboxState {
  /// The initial state of a sandbox.
  init(_ seed: SandboxSeed, issuer: TokenIssuer, randomSeed: UInt64) {
    self.init(issuer: issuer, seed: randomSeed)
    for pool in seed.pools { pools[pool.id] = IdentityPool(pool) }
    for pool in seed.userPools { userPools[pool.id] = UserPool(pool, random: &random) }
    for role in seed.roles { roles[role.arn] = role }
    openIDProviders = seed.openIDProviders
    for user in seed.users {
      users.store(
        User(
          name: user.name, password: user.password ?? UserDirectory.defaultPassword(of: user.name),
          isDisabled: user.isDisabled, requiresSession: user.requiresSession))
    }
    users.allowsAnyUser = seed.allowsAnyUser
    users.requiresSession = seed.requiresSession
    developerKeys = seed.developerKeys
    lifetimes = Lifetimes(credentials: seed.credentialLifetime, tokens: seed.tokenLifetime)
    mint.sessionTokenLength = seed.sessionTokenLength
    backendToken = seed.backendToken
  }
}

extension IdentityPool {
  init(_ seed: SandboxSeed.Pool) {
    self.init(id: seed.id)
    developerProvider = seed.developerProvider
    allowsGuests = seed.allowsGuests
    allowsClassicFlow = seed.allowsClassicFlow
    authenticatedRole = seed.authenticatedRole
    guestRole = seed.guestRole
    for (name, audience) in seed.providers {
      providers[name] = LoginProvider(name: name, audience: audience)
    }
    for provider in seed.userPoolProviders { providers.add(provider) }
  }
}
