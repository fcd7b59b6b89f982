/// What is asked with the tokens that there are: of a way with calls of its own, in the way's folder.
extension Refresh {
  /// Exchanges a developer token for credentials. Only identity pools know such tokens.
  func exchange(
    _ token: HeldToken, _ identityID: IdentityID, _ facts: RefreshFacts
  ) -> UpstreamCall? {
    guard case .pool(let plan) = facts.plan.way else { return nil }
    return plan.exchange(token, of: identityID, role: facts.held.customRoleARN)
  }

  /// Exchanges logins, or none, for what the profile gives; nil where they are that.
  func exchange(_ logins: LoginsMap, _ facts: RefreshFacts) -> UpstreamCall? {
    switch facts.plan.way {
    case .pool(let plan):
      plan.exchange(
        logins, of: facts.identity, openIDToken: openIDToken, role: facts.held.customRoleARN)
    // STS takes the login itself.
    case .role: logins.logins.first.map { .assumeRole(identityID: nil, token: $0.token) }
    case .tokens, .derived: nil
    }
  }

  /// The call that shows whether a login is one of an identity; nil where there are no identities.
  func call(
    proving login: LoginsMap.Login, of identityID: IdentityID, _ facts: RefreshFacts
  ) -> UpstreamCall? {
    guard case .pool(let plan) = facts.plan.way else { return nil }
    return plan.call(proving: login, of: identityID, role: facts.held.customRoleARN)
  }
}
