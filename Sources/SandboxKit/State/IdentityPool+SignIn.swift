extension IdentityPool {
  /// Public logins alone: at least one must be the identity's. A guest who signs in becomes the
  /// identity that the login belongs to already, if there is one ("Switching identities", Cognito
  /// developer guide).
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
