/// What Cognito and STS are asked for an identity of the pool.
extension PoolPlan {
  /// Exchanges a developer token for credentials.
  ///
  /// - Parameter role: the custom role that a `login` chose.
  func exchange(_ token: HeldToken, of identityID: IdentityID, role: String?) -> UpstreamCall {
    switch flow {
    case .enhanced:
      .getCredentials(
        identityID: identityID,
        logins: LoginsMap(developerToken: token.token, key: developerLoginKey),
        customRoleARN: role)
    case .basic: .assumeRole(identityID: identityID, token: token.token.token)
    }
  }

  /// Without a backend Cognito gives the identity and, in the basic flow, the token.
  ///
  /// - Parameter identityID: with which the logins are used; nil if none is known.
  func exchange(
    _ logins: LoginsMap, of identityID: IdentityID?, openIDToken: Secret?, role: String?
  ) -> UpstreamCall {
    guard let identityID else { return .getID(logins: logins) }
    switch flow {
    case .enhanced:
      return .getCredentials(identityID: identityID, logins: logins, customRoleARN: role)
    case .basic:
      guard let openIDToken else { return .getOpenIDToken(identityID: identityID, logins: logins) }
      return .assumeRole(identityID: identityID, token: openIDToken)
    }
  }

  /// The call that shows whether a login is one of the identity.
  func call(
    proving login: LoginsMap.Login, of identityID: IdentityID, role: String?
  ) -> UpstreamCall {
    var logins = LoginsMap()
    try? logins.set(login.provider, token: login.token)
    return switch flow {
    case .enhanced:
      // Only an assertion of SAML can have the role that the login names. Cognito would refuse every
      // other token for it.
      .getCredentials(
        identityID: identityID, logins: logins, customRoleARN: login.isOfSAML ? role : nil)
    case .basic: .getOpenIDToken(identityID: identityID, logins: logins)
    }
  }
}

extension LoginsMap.Login {
  /// Whether it is an assertion: the key is the ARN of a SAML provider (GetId, Logins).
  fileprivate var isOfSAML: Bool { provider.contains(bytesOf: ":saml-provider/") }
}
