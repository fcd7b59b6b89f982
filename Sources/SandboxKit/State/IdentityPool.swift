import SeededRandom

/// One identity pool: its settings and its identities.
///
/// The rules of linking are those of the Cognito API reference. A login belongs to at most one
/// identity. A merged identity lives on under the other one's id. An identity that has lost its
/// last login is closed.
struct IdentityPool: Sendable {
  static let maximumIdentities = 200_000
  static let maximumLoginsPerIdentity = 20

  let id: String
  var developerProvider: String?
  var allowsGuests = false
  /// Whether GetOpenIdToken is allowed, the first half of the basic flow.
  var allowsClassicFlow = true
  var authenticatedRole: String?
  var guestRole: String?
  var providers: [String: LoginProvider] = [:]
  var userPoolKeys = UserPoolKeys.documented

  /// The key under which the pool accepts tokens of a user pool with the updated issuer. AWS does
  /// not document it, so a client must handle each of these.
  enum UserPoolKeys: String, Sendable, CaseIterable {
    /// The key of the original issuer, even if the token names the updated one.
    case documented
    /// The key of the token's own issuer; the user is the same.
    case issuer
    /// The key of the token's own issuer; another key is another login, with another identity.
    case separate
  }

  private var identities: [String: Identity] = [:]
  private var owners: [Login: String] = [:]

  init(id: String) {
    self.id = id
  }

  /// The region in the pool's id.
  var region: String { String(id.prefix { $0 != ":" }) }

  var identityCount: Int { identities.count }

  func identity(_ id: String) -> Identity? { identities[id] }

  /// The provider for a key of a logins map.
  func provider(_ key: String) -> LoginProvider? {
    if let provider = providers[key] { return provider }
    guard userPoolKeys != .documented, key.hasPrefix("issuer-cognito-idp.") else { return nil }
    return providers[String(key.dropFirst("issuer-".count))]
  }

  /// The identity to which this login belongs.
  func owner(of login: Login) -> String? { owners[login] }

  func owners(of logins: Set<Login>) -> Set<String> { Set(logins.compactMap { owners[$0] }) }

  /// The identity with this id, or the one into which it was merged.
  func survivor(of id: String) -> Identity? {
    var identity = identities[id]
    while let next = identity?.mergedInto { identity = identities[next] }
    return identity
  }

  mutating func makeIdentity(
    with logins: Set<Login>, random: inout SeededGenerator
  ) throws(ServiceError) -> String {
    guard identities.count < IdentityPool.maximumIdentities else {
      throw ServiceError("LimitExceededException", "Maximum identities of the sandbox reached.")
    }
    let id = region + ":" + random.uuid()
    identities[id] = Identity(id: id)
    try link(logins, to: id)
    return id
  }

  /// The identity to which one of these logins belongs, after linking the others to it; else a new
  /// identity.
  mutating func identity(
    with logins: Set<Login>, random: inout SeededGenerator
  ) throws(ServiceError) -> String {
    let owners = owners(of: logins)
    guard owners.count <= 1 else { throw IdentityPool.conflict }
    guard let owner = owners.first else { return try makeIdentity(with: logins, random: &random) }
    try link(logins, to: owner)
    return owner
  }

  /// Links logins that belong to no other identity.
  mutating func link(_ logins: Set<Login>, to id: String) throws(ServiceError) {
    for login in logins {
      if let owner = owners[login], owner != id { throw IdentityPool.conflict }
    }
    guard var identity = identities[id] else { throw IdentityPool.notFound(id) }
    guard !logins.isSubset(of: identity.logins) else { return }
    identity.logins.formUnion(logins)
    guard identity.logins.count <= IdentityPool.maximumLoginsPerIdentity else {
      throw ServiceError(
        "InvalidParameterException",
        "Maximum linked logins of an identity is \(IdentityPool.maximumLoginsPerIdentity).")
    }
    identities[id] = identity
    for login in logins { owners[login] = id }
  }

  mutating func unlink(_ logins: Set<Login>, from id: String) {
    guard var identity = identities[id] else { return }
    for login in logins where identity.logins.remove(login) != nil { owners[login] = nil }
    if identity.logins.isEmpty { identity.isClosed = true }
    identities[id] = identity
  }

  /// Moves everything of one identity to another. The first one's id lives on as an alias.
  mutating func merge(_ source: String, into destination: String) throws(ServiceError) {
    guard source != destination, var identity = identities[source] else { return }
    let logins = identity.logins
    let publicProviders = Set(logins.map(\.provider)).subtracting([developerProvider ?? ""])
    let taken = Set(identities[destination]?.logins.map(\.provider) ?? [])
    guard publicProviders.isDisjoint(with: taken) else {
      throw ServiceError(
        "ResourceConflictException", "Both identities are linked to the same public provider.")
    }
    for login in logins { owners[login] = nil }
    try link(logins, to: destination)
    identity.logins = []
    identity.mergedInto = destination
    identities[source] = identity
  }

  /// Forgets an identity completely, like its deletion in the console.
  mutating func remove(_ id: String) {
    guard let identity = identities.removeValue(forKey: id) else { return }
    for login in identity.logins { owners[login] = nil }
  }

  static let conflict = ServiceError(
    "ResourceConflictException", "Login is already linked to another account.")

  static func notFound(_ id: String) -> ServiceError {
    ServiceError("ResourceNotFoundException", "Identity '\(id)' not found.")
  }
}

extension IdentityPool {
  /// Finds or makes the identity of a developer's user (GetOpenIdTokenForDeveloperIdentity).
  ///
  /// - Parameters:
  ///   - others: further public logins to link.
  ///   - asked: the IdentityId that the developer passed, if any.
  mutating func register(
    _ login: Login, others: Set<Login>, as asked: String?, random: inout SeededGenerator
  ) throws(ServiceError) -> String {
    let all = others.union([login])
    guard let asked else { return try identity(with: all, random: &random) }
    guard let identity = survivor(of: asked) else { throw IdentityPool.notFound(asked) }
    guard !identity.isClosed else { throw LoginCheck.forbidden(asked) }
    if let owner = owner(of: login), owner != identity.id {
      throw ServiceError(
        "DeveloperUserAlreadyRegisteredException",
        "The developer user identifier is already registered with another identity.")
    }
    try link(all, to: identity.id)
    return identity.id
  }
}

extension IdentityPool {
  /// Only for public logins. At least one of them must belong to the identity. If a guest signs in
  /// with a login that already belongs to an identity, the user goes on with that identity
  /// ("Switching identities", Cognito developer guide).
  ///
  /// - Returns: the id under which the user goes on.
  mutating func signIn(
    with logins: Set<Login>, as identity: Identity
  ) throws(ServiceError) -> String {
    let owners = self.owners(of: logins)
    guard owners.count <= 1 else { throw IdentityPool.conflict }
    guard identity.isGuest || owners.contains(identity.id) else { throw LoginCheck.mismatch }
    let owner = owners.first ?? identity.id
    try merge(identity.id, into: owner)
    try link(logins, to: owner)
    return owner
  }
}

/// A public provider that a pool accepts.
struct LoginProvider: Sendable, Equatable {
  enum Kind: Sendable, Equatable {
    /// JSON Web Tokens: Google, Apple, Cognito user pools, OpenID Connect.
    case openID
    /// Access tokens that only the provider understands: Facebook, Amazon.
    case opaque
    /// Assertions, for a provider that is named by its ARN.
    case saml
  }

  let name: String
  /// The client id for which tokens are issued.
  let audience: String
  /// Further clients of a user pool.
  var otherAudiences: Set<String> = []
  /// Whether the sandbox checks that the user pool has not signed out or deleted the user.
  var checksTokens = false

  init(name: String, audience: String, checksTokens: Bool = false) {
    self.name = name
    self.audience = audience
    self.checksTokens = checksTokens
  }

  func accepts(_ audience: String?) -> Bool {
    guard let audience else { return false }
    return audience == self.audience || otherAudiences.contains(audience)
  }

  var kind: Kind {
    if name.hasPrefix("arn:"), name.contains(":saml-provider/") { return .saml }
    switch name {
    case "graph.facebook.com", "www.amazon.com", "api.twitter.com": return .opaque
    default: return .openID
    }
  }

  /// `iss` of the provider's tokens.
  var issuer: String { "https://" + name }

  /// Whether a token's issuer is this provider. IAM omits a slash at the end; the provider's name
  /// must omit it too. A provider on loopback has no TLS.
  func isIssuer(_ text: String?) -> Bool {
    let isLoopback = name.hasPrefix("127.0.0.1:") || name.hasPrefix("localhost:")
    let known = isLoopback ? ["http://" + name] : [issuer]
    return text.map { text in known.contains { text == $0 || text == $0 + "/" } } ?? false
  }
}

extension [String: LoginProvider] {
  /// A user pool may be listed several times, each time with another client.
  mutating func add(_ provider: LoginProvider) {
    guard var known = self[provider.name] else {
      self[provider.name] = provider
      return
    }
    known.otherAudiences.insert(provider.audience)
    known.checksTokens = known.checksTokens || provider.checksTokens
    self[provider.name] = known
  }
}
