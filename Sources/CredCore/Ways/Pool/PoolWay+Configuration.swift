/// The keys of a profile with an identity pool.
extension PoolWay: ConfiguredWay {
  static let rows: [ConfigurationKey<ProfileDraft>] = [
    .init("identity_pool_id", \.pool.id, .identityPoolID),
    .init("developer_provider", \.pool.developerProvider, .developerProvider),
    .init("link_backend", \.pool.linkBackend, .sectionName),
    .init(
      "user_identifier", \.pool.userIdentifier,
      .template(length: Limits.Upstream.userIdentifierLength), standard: "{user}"),
    .init("guest", \.pool.guest, .yesNo, standard: "no"),
    .init("account_id", \.pool.accountID, .accountID),
    .init("web_identity_token_file", \.tokenFile, .path),
    .init("web_identity_provider", \.pool.tokenFileProvider, .loginsKey),
    .init("cognito_endpoint", \.pool.cognitoEndpoint, .endpoint),
    .init("logins_key", \.pool.loginsKey, .loginsKey),
  ]

  static func isWay(
    of draft: ProfileDraft, _ section: INISection, _ reader: ConfigurationReader
  ) -> Bool { true }

  static func settings(of draft: ProfileDraft, _ section: INISection) -> WaySettings {
    var pool = draft.pool
    pool.flow = draft.flow == .basic ? .basic : .enhanced
    pool.session = draft.session
    pool.tokenFile = draft.tokenFile
    return .pool(pool)
  }

  static func check(
    _ draft: ProfileDraft, _ section: INISection, _ reader: inout ConfigurationReader
  ) {
    reader.refuseKeysOfDerived(section)
    checkWebIdentity(draft, section, &reader)
    checkFlow(draft, section, &reader)
    // AWS always refuses a role or policy of another partition than the pool's.
    if let pool = try? IdentityPoolID(draft.pool.id) {
      reader.checkPartition(of: draft.session, pool.region, of: "the pool's region", section)
    }
    reader.refuseClaims(draft.session, section)
    reader.checkTokens(
      draft.common, section, giver: section["identity_pool_id"].map { _ in "Cognito" })
  }

  static func reference(
    _ draft: ProfileDraft, _ section: INISection, _ reader: inout ConfigurationReader
  ) -> BackendReference? {
    reader.require("backend", with: "link_backend", section)
    guard let backend = draft.common.backend else {
      // A wrong name counts as present.
      reader.require("developer_provider", with: "backend", section)
      return nil
    }
    return BackendReference(
      name: backend, position: section.position(of: "backend"),
      developerProvider: section["developer_provider"]?.position,
      link: draft.pool.linkBackend.map { ($0, section.position(of: "link_backend")) },
      ofProvider: BackendReference.OfProvider(draft.common, section))
  }

  static func check(
    _ profile: ProfileSettings, _ section: INISection, at type: BackendType?,
    _ reader: inout ConfigurationReader
  ) {
    guard section["identity_pool_id"] == nil else { return }
    let others =
      type?.provider == nil
      ? "" : "; or 'vend_tokens', for a provider's tokens alone; or 'flow = direct'"
    reader.diagnostics.error(at: section.position, lackOfPool(section) + others)
  }

  static func lackOfPool(_ section: INISection) -> String {
    let syntax = ValueSyntax<String>.identityPoolID.name
    return "\(section.title.singleQuoted) lacks 'identity_pool_id', \(syntax)"
  }

  private static func checkWebIdentity(
    _ draft: ProfileDraft, _ section: INISection, _ reader: inout ConfigurationReader
  ) {
    reader.require("web_identity_provider", with: "web_identity_token_file", section)
    reader.require("web_identity_token_file", with: "web_identity_provider", section)
    guard let provider = draft.pool.tokenFileProvider else { return }
    let position = section.position(of: "web_identity_provider")
    // GetId refuses these: "Invalid login token. Can't pass in a Cognito token."
    if provider.hasPrefix("cognito-identity") {
      reader.diagnostics.error(
        at: position, "web_identity_provider: Cognito refuses its own tokens as a login")
    }
    if provider == draft.pool.developerProvider {
      reader.diagnostics.error(
        at: position,
        "web_identity_provider: only the backend vouches for users of the developer_provider")
    }
  }

  private static func checkFlow(
    _ draft: ProfileDraft, _ section: INISection, _ reader: inout ConfigurationReader
  ) {
    guard draft.flow != .basic else {
      if section["role_arn"] == nil {
        reader.diagnostics.error(
          at: section.position(of: "flow"), "flow: basic requires 'role_arn'")
      }
      return reader.warnOfShort(draft.session.duration, section)
    }
    // An operator relies on a policy, so a policy without effect is an error. Other keys without
    // effect are a warning.
    for key in ["policy_file", "policy_arns"] where section[key] != nil {
      reader.diagnostics.error(
        at: section.position(of: key),
        "\(key): only 'flow = basic' or 'direct' can apply a policy, or a profile with "
          + "'source_profile'")
    }
    for key in ["role_session_name", "duration"] where section[key] != nil {
      reader.diagnostics.warning(
        at: section.position(of: key), "\(key): has no effect in the enhanced flow")
    }
    if let entry = section["sts_endpoint"] {
      reader.endpointsOfEnhanced.append((draft.common.name, entry.position))
    }
  }
}
