/// The keys of a profile with `flow = direct`, and `{claim.NAME}`.
extension ConfigurationReader {
  /// Keys that are about identity pools, or about a logins map.
  private static let keysOfPoolsAlone = [
    "identity_pool_id", "account_id", "developer_provider", "link_backend", "guest", "logins_key",
    "user_identifier", "web_identity_provider", "cognito_endpoint",
  ]
  /// Claims that users of most providers write themselves.
  private static let claimsOfUsers = [
    "name", "preferred_username", "nickname", "given_name", "family_name", "middle_name", "profile",
    "website",
  ]

  mutating func checkDirect(_ profile: ProfileSettings, _ section: INISection) {
    for key in Self.keysOfPoolsAlone where section[key] != nil {
      diagnostics.error(
        at: section.position(of: key),
        "\(key): cannot be combined with 'flow = direct', which has no identity pool: remove one of the "
          + "two")
    }
    let flow = section.position(of: "flow")
    if section["role_arn"] == nil {
      diagnostics.error(at: flow, "flow: direct requires 'role_arn'")
    }
    if section["region"] == nil {
      diagnostics.error(
        at: flow,
        "flow: direct requires 'region', that of the STS to ask, such as eu-west-1: there is no pool's id "
          + "to name one")
    }
    exclude("web_identity_token_file", with: "backend", section)
    if section["backend"] == nil, section["web_identity_token_file"] == nil {
      diagnostics.error(
        at: flow, "flow: direct requires 'backend', a provider, or 'web_identity_token_file'")
    }
    checkRegion(of: profile, section)
    checkClaims(of: profile, section)
    warnOfShort(profile.duration, section)
  }

  private mutating func checkRegion(of profile: ProfileSettings, _ section: INISection) {
    guard let region = profile.regionOfSTS else { return }
    guard AWSPartition.knows(region: region) else {
      return diagnostics.error(
        at: section.position(of: "region"),
        "region: \(region.singleQuoted) is no region of AWS that credd knows of"
          + AWSPartition.suggestion(region: region))
    }
    checkPartition(
      of: profile, region, of: "the profile's region", section,
      advice: ": name one of that partition, or another region")
  }

  private mutating func checkClaims(of profile: ProfileSettings, _ section: INISection) {
    let claims = profile.roleSessionName.claims
    guard !claims.isEmpty else { return }
    let position = section.position(of: "role_session_name")
    guard section["web_identity_token_file"] == nil else {
      return diagnostics.error(
        at: position,
        "role_session_name: {claim.\(claims[0])} is for an ID token that a 'backend' gave, and not for "
          + "'web_identity_token_file': write {user}, {uid} or {host}")
    }
    for claim in claims
    where Self.claimsOfUsers.contains(claim) || claim.hasPrefix("custom:") {
      diagnostics.warning(
        at: position,
        "role_session_name: at most providers users write their claim '\(claim)' themselves, and may "
          + "write another person's: take {claim.sub}, or {claim.email}, which counts only if verified"
      )
    }
  }

  /// The scope `email` asks for the address (OpenID Connect Core, 5.4). A user pool gives it without that
  /// scope to who signs in by name and password.
  private mutating func warnOfUnaskedEmail(_ profile: ProfileSettings, _ section: INISection) {
    guard profile.roleSessionName.claims.contains("email"), let backend = profile.backend,
      let oidc = configuration.backends[backend]?.kind as? OIDCSettings,
      !oidc.browser.scopes.contains("email")
    else { return }
    diagnostics.warning(
      at: section.position(of: "role_session_name"),
      "role_session_name: most providers give the claim 'email' only with the scope email, and no user gets "
        + "credentials without it: add email to 'scopes' of [backend \(backend)]")
  }

  /// Refuses claims in the names of other profiles' sessions: these profiles send no ID token to STS.
  mutating func refuseClaims(_ profile: ProfileSettings, _ section: INISection) {
    guard let claim = profile.roleSessionName.claims.first else { return }
    diagnostics.error(
      at: section.position(of: "role_session_name"),
      "role_session_name: {claim.\(claim)} is for 'flow = direct' alone: write {user}, {uid} or {host}"
    )
  }

  /// - Parameter type: of the profile's backend; nil without one.
  mutating func checkDirect(
    _ profile: ProfileSettings, _ section: INISection, at type: BackendType?
  ) {
    warnOfUnaskedEmail(profile, section)
    guard let type, type.provider == nil, let backend = profile.backend else { return }
    let providers = BackendType.providers.map(\.rawValue).joined(separator: " or ")
    diagnostics.error(
      at: section.position(of: "backend"),
      "backend: [backend \(backend)] is of type \(type.rawValue), and 'flow = direct' takes the ID tokens "
        + "of a provider: name a backend of type \(providers)")
  }
}

extension ProfileSettings {
  /// Whether it gives credentials, and not those of another profile.
  var hasCredentialsOfItsOwn: Bool {
    !isDerived && (!identityPoolID.isEmpty || flow == .direct)
  }
}
