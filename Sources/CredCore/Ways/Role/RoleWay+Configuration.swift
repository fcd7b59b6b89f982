/// The keys of a profile with `flow = direct`, and `{claim.NAME}`.
extension RoleWay: ConfiguredWay {
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

  static func isWay(
    of draft: ProfileDraft, _ section: INISection, _ reader: ConfigurationReader
  ) -> Bool { draft.flow == .direct }

  static func settings(of draft: ProfileDraft, _ section: INISection) -> WaySettings {
    .role(RoleSettings(session: draft.session, region: draft.region, tokenFile: draft.tokenFile))
  }

  static func check(
    _ draft: ProfileDraft, _ section: INISection, _ reader: inout ConfigurationReader
  ) {
    reader.refuseKeysOfDerived(section, butRegion: true)
    for key in keysOfPoolsAlone where section[key] != nil {
      reader.diagnostics.error(
        at: section.position(of: key),
        "\(key): cannot be combined with 'flow = direct', which has no identity pool: remove one of the "
          + "two")
    }
    checkNeeds(of: section, &reader)
    checkRegion(of: draft, section, &reader)
    checkClaims(of: draft.session, section, &reader)
    reader.warnOfShort(draft.session.duration, section)
    reader.checkTokens(
      draft.common, section, giver: "STS", takesBackend: section["web_identity_token_file"] == nil)
  }

  static func reference(
    _ draft: ProfileDraft, _ section: INISection, _ reader: inout ConfigurationReader
  ) -> BackendReference? {
    draft.common.backend.map {
      BackendReference(
        name: $0, position: section.position(of: "backend"), needsProvider: true,
        ofProvider: BackendReference.OfProvider(draft.common, section))
    }
  }

  static func check(
    _ profile: ProfileSettings, _ section: INISection, at type: BackendType?,
    _ reader: inout ConfigurationReader
  ) {
    // That key has its own error.
    guard section["identity_pool_id"] == nil else { return }
    warnOfUnaskedEmail(profile, section, &reader)
    guard let type, type.provider == nil, let backend = profile.backend else { return }
    let providers = BackendType.providers.map(\.rawValue).joined(separator: " or ")
    reader.diagnostics.error(
      at: section.position(of: "backend"),
      "backend: [backend \(backend)] is of type \(type.rawValue), and 'flow = direct' takes the ID tokens "
        + "of a provider: name a backend of type \(providers)")
  }

  private static func checkNeeds(of section: INISection, _ reader: inout ConfigurationReader) {
    let flow = section.position(of: "flow")
    if section["role_arn"] == nil {
      reader.diagnostics.error(at: flow, "flow: direct requires 'role_arn'")
    }
    if section["region"] == nil {
      reader.diagnostics.error(
        at: flow,
        "flow: direct requires 'region', that of the STS to ask, such as eu-west-1: there is no pool's id "
          + "to name one")
    }
    reader.exclude("web_identity_token_file", with: "backend", section)
    if section["backend"] == nil, section["web_identity_token_file"] == nil {
      reader.diagnostics.error(
        at: flow, "flow: direct requires 'backend', a provider, or 'web_identity_token_file'")
    }
  }

  private static func checkRegion(
    of draft: ProfileDraft, _ section: INISection, _ reader: inout ConfigurationReader
  ) {
    guard let region = draft.region else { return }
    guard AWSPartition.knows(region: region) else {
      return reader.diagnostics.error(
        at: section.position(of: "region"),
        "region: \(region.singleQuoted) is no region of AWS that credd knows of"
          + AWSPartition.suggestion(region: region))
    }
    reader.checkPartition(
      of: draft.session, region, of: "the profile's region", section,
      advice: ": name one of that partition, or another region")
  }

  private static func checkClaims(
    of session: RoleSessionSettings, _ section: INISection, _ reader: inout ConfigurationReader
  ) {
    let claims = session.name.claims
    guard !claims.isEmpty else { return }
    let position = section.position(of: "role_session_name")
    guard section["web_identity_token_file"] == nil else {
      return reader.diagnostics.error(
        at: position,
        "role_session_name: {claim.\(claims[0])} is for an ID token that a 'backend' gave, and not for "
          + "'web_identity_token_file': write {user}, {uid} or {host}")
    }
    for claim in claims where claimsOfUsers.contains(claim) || claim.hasPrefix("custom:") {
      reader.diagnostics.warning(
        at: position,
        "role_session_name: at most providers users write their claim '\(claim)' themselves, and may "
          + "write another person's: take {claim.sub}, or {claim.email}, which counts only if verified"
      )
    }
  }

  /// The scope `email` asks for the address (OpenID Connect Core, 5.4). A user pool gives it without that
  /// scope to who signs in by name and password.
  private static func warnOfUnaskedEmail(
    _ profile: ProfileSettings, _ section: INISection, _ reader: inout ConfigurationReader
  ) {
    guard profile.way.session?.name.claims.contains("email") ?? false,
      let backend = profile.backend,
      let oidc = reader.configuration.backends[backend]?.kind as? OIDCSettings,
      !oidc.browser.scopes.contains("email")
    else { return }
    reader.diagnostics.warning(
      at: section.position(of: "role_session_name"),
      "role_session_name: most providers give the claim 'email' only with the scope email, and no user gets "
        + "credentials without it: add email to 'scopes' of [backend \(backend)]")
  }
}

extension ConfigurationReader {
  /// Refuses claims in the names of other profiles' sessions: these profiles send no ID token to STS.
  mutating func refuseClaims(_ session: RoleSessionSettings, _ section: INISection) {
    guard let claim = session.name.claims.first else { return }
    diagnostics.error(
      at: section.position(of: "role_session_name"),
      "role_session_name: {claim.\(claim)} is for 'flow = direct' alone: write {user}, {uid} or {host}"
    )
  }
}
