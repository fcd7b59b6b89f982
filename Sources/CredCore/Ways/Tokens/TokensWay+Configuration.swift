/// The keys of a profile without an identity pool: a provider's users sign in, and programs get its tokens
/// alone.
extension TokensWay: ConfiguredWay {
  /// Keys without effect there: they are about identities, their credentials, and the hosts that give
  /// them.
  private static let keysOfPools = [
    "user_identifier", "flow", "role_arn", "role_session_name", "duration", "policy_file",
    "policy_arns", "guest", "account_id", "web_identity_token_file", "web_identity_provider",
    "impersonate", "impersonate_signed_in", "cognito_endpoint", "sts_endpoint", "allow_plain_http",
    "ca_file", "logins_key", "vend_credentials",
  ]

  static var givesCredentials: Bool { false }

  /// Whether the section asks for tokens alone, also by a wrong value, which has its own error.
  static func isWay(
    of draft: ProfileDraft, _ section: INISection, _ reader: ConfigurationReader
  ) -> Bool {
    guard section["identity_pool_id"] == nil, let entry = section["vend_tokens"] else {
      return false
    }
    return (try? reader.value(of: entry).words(separatedByCommas: true)) != ["none"]
  }

  static func settings(of draft: ProfileDraft, _ section: INISection) -> WaySettings { .tokens }

  static func check(
    _ draft: ProfileDraft, _ section: INISection, _ reader: inout ConfigurationReader
  ) {
    reader.refuseKeysOfDerived(section)
    reader.refuseClaims(draft.session, section)
    reader.checkTokens(draft.common, section, giver: nil)
  }

  static func reference(
    _ draft: ProfileDraft, _ section: INISection, _ reader: inout ConfigurationReader
  ) -> BackendReference? {
    PoolWay.reference(draft, section, &reader)
  }

  static func check(
    _ profile: ProfileSettings, _ section: INISection, at type: BackendType?,
    _ reader: inout ConfigurationReader
  ) {
    guard type?.provider != nil else {
      return reader.diagnostics.error(at: section.position, PoolWay.lackOfPool(section))
    }
    for key in keysOfPools where section[key] != nil {
      reader.diagnostics.error(
        at: section.position(of: key),
        "\(key): has no effect without 'identity_pool_id': \(section.title.singleQuoted) gives tokens "
          + "alone")
    }
  }
}
