/// The tokens of the provider at which users sign in. There is no identity pool, and there are no
/// credentials.
public struct TokensWay: Sendable, Equatable {}

extension TokensWay: WayKind {
  var plan: PlannedWay { .tokens }

  func identity(_ sides: FingerprintedSides) -> Fingerprint {
    Fingerprint(identityBySignIn: sides)
  }

  func credentials(_ sides: FingerprintedSides, of identity: Fingerprint) -> Fingerprint {
    var fingerprint = identity
    fingerprint.addCredentials("enhanced", sides)
    return fingerprint
  }

  func refusal(of login: LoginRequest, in profile: Profile) -> ProtocolError? {
    profile.refusal(of: login, whichGives: "its provider's tokens alone")
  }

  func refusalOfCredentials(in profile: Profile) -> ProtocolError? {
    let name = profile.settings.name
    return .invalid(
      "profile '\(name)' has no identity_pool_id, and so no credentials: ask for a token, as "
        + "'credctl token --profile \(name)' does (operation \"token\")")
  }
}

extension Profile {
  /// What a `login` can only have for an identity pool; nil where it has nothing of that.
  ///
  /// - Parameter gift: what the profile gives in place of a pool's credentials.
  func refusal(of login: LoginRequest, whichGives gift: String) -> ProtocolError? {
    func needsPool(_ key: String) -> ProtocolError {
      .invalid(
        "\(key.quoted) is for an identity pool, and profile '\(settings.name)' has none: it gives \(gift)"
      )
    }
    if login.customRoleARN != nil { return needsPool("custom_role_arn") }
    switch login.signIn {
    case .logins: return needsPool("logins")
    case .developerToken: return needsPool("identity_id")
    case .host, .username, .password, .browser, .device, .providerTokens: return nil
    }
  }
}
