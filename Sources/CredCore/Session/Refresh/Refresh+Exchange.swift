/// What is asked with the tokens that there are, by what the profile gives.
extension Refresh {
  /// Exchanges a developer token for credentials.
  func exchange(
    _ token: HeldToken, _ identityID: IdentityID, _ facts: RefreshFacts
  ) -> UpstreamCall {
    switch facts.plan.flow {
    case .enhanced:
      .getCredentials(
        identityID: identityID,
        logins: LoginsMap(developerToken: token.token, key: facts.plan.developerLoginKey),
        customRoleARN: facts.held.customRoleARN)
    case .basic, .direct: .assumeRole(identityID: identityID, token: token.token.token)
    }
  }

  /// Exchanges logins, or none, for credentials.
  func exchange(_ logins: LoginsMap, _ facts: RefreshFacts) -> UpstreamCall? {
    switch facts.plan.flow {
    case .enhanced, .basic: callOfPool(logins, facts)
    case .direct: callOfRole(logins)
    }
  }

  /// Without a backend Cognito gives the identity and, in the basic flow, the token.
  private func callOfPool(_ logins: LoginsMap, _ facts: RefreshFacts) -> UpstreamCall {
    guard let identityID = facts.identity else { return .getID(logins: logins) }
    guard facts.plan.flow == .basic else {
      return .getCredentials(
        identityID: identityID, logins: logins, customRoleARN: facts.held.customRoleARN)
    }
    guard let openIDToken else { return .getOpenIDToken(identityID: identityID, logins: logins) }
    return .assumeRole(identityID: identityID, token: openIDToken)
  }

  /// Without a pool STS takes the login itself.
  private func callOfRole(_ logins: LoginsMap) -> UpstreamCall? {
    logins.logins.first.map { .assumeRole(identityID: nil, token: $0.token) }
  }
}
