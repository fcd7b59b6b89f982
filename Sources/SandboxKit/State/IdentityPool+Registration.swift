extension IdentityPool {
  /// Finds or makes the identity of a developer's user (GetOpenIdTokenForDeveloperIdentity).
  ///
  /// - Parameters:
  ///   - others: public logins to link besides.
  ///   - asked: the IdentityId that the developer passed, if any.
  mutating func register(
    _ login: Login, others: Set<Login>, as asked: String?, random: inout SplitMix64
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
