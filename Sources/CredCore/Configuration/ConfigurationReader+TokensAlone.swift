/// Profiles without an identity pool: a provider's users sign in, and programs get its tokens alone.
extension ConfigurationReader {
  /// Keys without effect there: they are about identities, their credentials, and the hosts that give
  /// them.
  private static let keysOfPools = [
    "user_identifier", "flow", "role_arn", "role_session_name", "duration", "policy_file",
    "policy_arns", "guest", "account_id", "web_identity_token_file", "web_identity_provider",
    "impersonate", "impersonate_signed_in", "cognito_endpoint", "sts_endpoint", "allow_plain_http",
    "ca_file", "logins_key", "vend_credentials",
  ]

  /// Whether the section asks for tokens alone. The backend's type is not known yet.
  func givesTokensAlone(_ profile: ProfileSettings, _ section: INISection) -> Bool {
    section["identity_pool_id"] == nil && section["source_profile"] == nil
      && profile.flow != .direct && vendsTokens(section)
  }

  /// - Parameter provider: of the profile's backend; nil for another backend, or none.
  mutating func checkWithoutPool(
    _ profile: ProfileSettings, _ section: INISection, _ provider: ProviderTraits?
  ) {
    let syntax = ValueSyntax<String>.identityPoolID.name
    let lack = "\(section.title.singleQuoted) lacks 'identity_pool_id', \(syntax)"
    guard provider != nil else { return diagnostics.error(at: section.position, lack) }
    guard !profile.vendTokens.isEmpty || vendsTokens(section) else {
      return diagnostics.error(
        at: section.position,
        "\(lack); or 'vend_tokens', for a provider's tokens alone; or 'flow = direct'")
    }
    for key in Self.keysOfPools where section[key] != nil {
      diagnostics.error(
        at: section.position(of: key),
        "\(key): has no effect without 'identity_pool_id': \(section.title.singleQuoted) gives tokens "
          + "alone")
    }
  }

  /// Whether the key is there: a wrong value has its own error.
  private func vendsTokens(_ section: INISection) -> Bool {
    guard let entry = section["vend_tokens"] else { return false }
    return (try? value(of: entry).words(separatedByCommas: true)) != ["none"]
  }
}
