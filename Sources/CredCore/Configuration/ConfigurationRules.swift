/// Rules between the keys of a profile. The rules of each type of backend are in its folder. A key
/// with a wrong value counts as present, because it has its own error already.
extension ConfigurationReader {
  mutating func check(_ profile: ProfileSettings, _ section: INISection) {
    if profile.impersonateSignedIn {
      require("impersonate", with: "impersonate_signed_in", section)
    }
    require("web_identity_provider", with: "web_identity_token_file", section)
    require("web_identity_token_file", with: "web_identity_provider", section)
    // A wrong name counts as present.
    if section["source_profile"] != nil {
      checkDerived(profile, section)
    } else {
      checkFlow(profile, section)
    }
    checkPartition(profile, section)
    checkEverybody(profile, section)
    checkTokens(profile, section)
    for key in ["cognito_endpoint", "sts_endpoint"] {
      if profile.fips { exclude(key, with: "fips", section) }
      if profile.dualstack { exclude(key, with: "dualstack", section) }
    }
    refusePlainHTTP(
      "cognito_endpoint", profile.cognitoEndpoint, section, isAllowed: profile.allowPlainHTTP)
    refusePlainHTTP("sts_endpoint", profile.stsEndpoint, section, isAllowed: profile.allowPlainHTTP)
    // GetId refuses these: "Invalid login token. Can't pass in a Cognito token."
    if let provider = profile.webIdentityProvider, provider.hasPrefix("cognito-identity") {
      diagnostics.error(
        at: section.position(of: "web_identity_provider"),
        "web_identity_provider: Cognito refuses its own tokens as a login")
    }
    if let provider = profile.webIdentityProvider, provider == profile.developerProvider {
      diagnostics.error(
        at: section.position(of: "web_identity_provider"),
        "web_identity_provider: only the backend vouches for users of the developer_provider")
    }
  }

  private mutating func checkFlow(_ profile: ProfileSettings, _ section: INISection) {
    if profile.flow == .basic {
      if section["role_arn"] == nil {
        diagnostics.error(at: section.position(of: "flow"), "flow: basic requires 'role_arn'")
      }
      if profile.roleDuration < .seconds(30 * 60) {
        diagnostics.warning(
          at: section.position(of: "duration"),
          "duration: under 30m, clients that refresh 15m before expiration ask all the time")
      }
      return
    }
    // An operator relies on a policy, so a policy without effect is an error. Other keys without
    // effect are a warning.
    for key in ["policy_file", "policy_arns"] where section[key] != nil {
      diagnostics.error(
        at: section.position(of: key), "\(key): only 'flow = basic' can apply a policy")
    }
    for key in ["role_session_name", "duration", "sts_endpoint"] where section[key] != nil {
      diagnostics.warning(
        at: section.position(of: key), "\(key): has no effect in the enhanced flow")
    }
  }

  /// AWS always refuses a role or policy of another partition than the pool's.
  private mutating func checkPartition(_ profile: ProfileSettings, _ section: INISection) {
    guard let pool = try? IdentityPoolID(profile.identityPoolID) else { return }
    let partition = AWSPartition(region: pool.region)
    let arns = [("role_arn", profile.roleARN)] + profile.policyARNs.map { ("policy_arns", $0) }
    for case (let key, let arn?) in arns {
      let named = arn.split(separator: ":").dropFirst().first.map(String.init) ?? ""
      guard named != partition.rawValue else { continue }
      diagnostics.error(
        at: section.position(of: key),
        "\(key): \(arn.singleQuoted) is of partition '\(named)', and the pool's region "
          + "'\(pool.region)' of '\(partition.rawValue)'")
    }
  }

  /// An operator relies on a list of tokens, so a list without effect is an error.
  private mutating func checkTokens(_ profile: ProfileSettings, _ section: INISection) {
    let words = profile.vendTokens
    guard !words.isEmpty else { return }
    require("backend", with: "vend_tokens", section)
    if words.contains(.account), !words.contains(.access) {
      diagnostics.error(
        at: section.position(of: "vend_tokens"),
        "vend_tokens: 'account' is about access tokens, and has no effect without 'access'")
    }
  }

  private mutating func checkEverybody(_ profile: ProfileSettings, _ section: INISection) {
    guard profile.allowUsers.contains(AccessRule.everybody) else { return }
    let others = ["allow_groups", "allow_units"].filter { section[$0] != nil }
    // The endpoint serves root only if the list names root.
    let names = profile.allowUsers.filter { ![AccessRule.everybody, "root", "0"].contains($0) }
    guard !names.isEmpty || !others.isEmpty else { return }
    diagnostics.warning(
      at: section.position(of: "allow_users"),
      "allow_users: '*' admits every user, so the other names"
        + (others.isEmpty ? "" : " and \(others.joined(separator: ", "))") + " have no effect")
  }

  mutating func require(_ needed: String, with key: String, _ section: INISection) {
    guard let entry = section[key], section[needed] == nil else { return }
    diagnostics.error(at: entry.position, "\(key): requires '\(needed)'")
  }

  mutating func exclude(_ key: String, with other: String, _ section: INISection) {
    guard let entry = section[key], section[other] != nil else { return }
    diagnostics.error(at: entry.position, "\(key): cannot be combined with '\(other)'")
  }

  mutating func refusePlainHTTP(
    _ key: String, _ url: HTTPURL?, _ section: INISection, isAllowed: Bool
  ) {
    guard let url, !isAllowed, !url.isEncrypted, !url.isLoopback else { return }
    diagnostics.error(
      at: section.position(of: key),
      "\(key): http:// to \(url.host.singleQuoted) would send secrets in clear; use https://, or "
        + "set 'allow_plain_http = yes'")
  }
}

/// Whether the rate limits can renew as many sessions as `max_sessions` allows.
extension ConfigurationReader {
  /// Credentials of the enhanced flow last an hour (Cognito API reference,
  /// GetCredentialsForIdentity).
  private static let enhancedLifetime: Duration = .seconds(3600)

  mutating func checkCapacity() {
    for (name, profile) in configuration.profiles.sorted(by: { $0.key < $1.key })
    where !profile.identityPoolID.isEmpty {
      let lifetime = profile.flow == .basic ? profile.roleDuration : Self.enhancedLifetime
      let exchange =
        profile.flow == .basic
        ? ("assume_role_rate_limit", configuration.daemon.assumeRoleRate)
        : ("get_credentials_rate_limit", configuration.daemon.getCredentialsRate)
      check(name, exchange, lifetime, "")
      if let backend = configuration.backend(of: profile) {
        check(name, ("rate_limit", backend.rateLimit), lifetime, " of [backend \(backend.name)]")
      }
    }
  }

  /// Warns if the rate is too low to renew all sessions in the time from one refresh to the next.
  private mutating func check(
    _ profile: String, _ limit: (key: String, rate: Rate), _ lifetime: Duration, _ place: String
  ) {
    let renewed = Int(limit.rate.calls(in: lifetime * RefreshPolicy.share))
    guard renewed < configuration.daemon.maxSessions else { return }
    diagnostics.warning(
      at: profileHeaders[profile],
      "\(limit.key)\(place): \(limit.rate.written) renews \(renewed) sessions of "
        + "\(lifetime.written), and max_sessions allows \(configuration.daemon.maxSessions)")
  }
}
