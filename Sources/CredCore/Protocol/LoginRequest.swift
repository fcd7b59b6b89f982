/// `login`.
public struct LoginRequest: Sendable, Equatable {
  public var profile: String
  public var signIn: SignIn
  /// Which of the roles a SAML assertion carries (Cognito API reference, CustomRoleArn).
  public var customRoleARN: String?

  public init(
    profile: String = ProfileName.default, signIn: SignIn, customRoleARN: String? = nil
  ) {
    self.profile = profile
    self.signIn = signIn
    self.customRoleARN = customRoleARN
  }
}

/// What a user signs in with.
public enum SignIn: Sendable, Equatable {
  /// Nothing: the backend trusts this host. What brings a user back after a `logout`.
  case host
  /// Goes to the backend's `login_url`.
  case password(username: String, password: Secret)
  /// A developer token that the caller has already, with the IdentityId it is for.
  case developerToken(identityID: IdentityID, token: DeveloperToken)
  /// Tokens of social, OpenID Connect or SAML providers; never a developer token.
  case logins(LoginsMap)
}
