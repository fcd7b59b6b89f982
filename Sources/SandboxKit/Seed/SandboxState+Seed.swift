extension SandboxState {
  /// The state in which a sandbox starts.
  init(_ seed: SandboxSeed, issuer: TokenIssuer, randomSeed: UInt64) {
    self.init(issuer: issuer, seed: randomSeed)
    for pool in seed.pools { pools[pool.id] = IdentityPool(pool) }
    for role in seed.roles { roles[role.arn] = role }
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
  }
}
