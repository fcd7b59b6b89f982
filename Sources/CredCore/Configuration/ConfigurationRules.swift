/// Rules between the keys of a profile. The rules of each type of backend are in its folder. A key
/// with a wrong value counts as present, because it has its own error already.
extension ConfigurationReader {
  mutating func check(_ draft: ProfileDraft, _ section: INISection, _ way: any ConfiguredWay.Type) {
    // Where programs get tokens alone, the keys of these rules are errors themselves.
    if way.givesCredentials, draft.common.impersonateSignedIn {
      require("impersonate", with: "impersonate_signed_in", section)
    }
    checkEverybody(draft.common, section)
    if way.givesCredentials { checkEndpoints(draft, section) }
    checkRegions(of: draft, section)
    way.check(draft, section, &self)
  }

  private mutating func checkEndpoints(_ draft: ProfileDraft, _ section: INISection) {
    let profile = draft.common
    for key in ["cognito_endpoint", "sts_endpoint"] {
      if profile.fips { exclude(key, with: "fips", section) }
      if profile.dualstack { exclude(key, with: "dualstack", section) }
    }
    refusePlainHTTP(
      "cognito_endpoint", draft.pool.cognitoEndpoint, section, isAllowed: profile.allowPlainHTTP)
    refusePlainHTTP("sts_endpoint", profile.stsEndpoint, section, isAllowed: profile.allowPlainHTTP)
  }

  /// - Parameters:
  ///   - place: whose the region is, for the message.
  ///   - advice: the message's end.
  mutating func checkPartition(
    of session: RoleSessionSettings, _ region: String, of place: String, _ section: INISection,
    advice: String = ""
  ) {
    let arns = [("role_arn", session.roleARN)] + session.policyARNs.map { ("policy_arns", $0) }
    for case (let key, let arn?) in arns {
      let named = arn.split(separator: ":").dropFirst().first.map(String.init) ?? ""
      refuse(arn, named, region, of: place, at: key, section, advice)
    }
  }

  /// - Parameter named: the partition of the value.
  mutating func refuse(
    _ value: String, _ named: String, _ region: String, of place: String, at key: String,
    _ section: INISection, _ advice: String = ""
  ) {
    let partition = AWSPartition(region: region).rawValue
    guard named != partition else { return }
    diagnostics.error(
      at: section.position(of: key),
      "\(key): \(value.singleQuoted) is of partition '\(named)', and \(place) '\(region)' of "
        + "'\(partition)'\(advice)")
  }

  /// An operator relies on a list of tokens, so a list without effect is an error.
  ///
  /// - Parameters:
  ///   - giver: who gives credentials for a provider's tokens; nil for nobody.
  ///   - takesBackend: whether a `backend` may be added.
  mutating func checkTokens(
    _ profile: ProfileSettings, _ section: INISection, giver: String?, takesBackend: Bool = true
  ) {
    let words = profile.vendTokens
    guard !words.isEmpty else { return }
    if section["backend"] == nil, !takesBackend {
      diagnostics.error(
        at: section.position(of: "vend_tokens"),
        "vend_tokens: the tokens are those of a 'backend', which takes the place of "
          + "'web_identity_token_file'")
    } else if words != [.developer] {
      // A client may bring the developer token itself.
      require("backend", with: "vend_tokens", section)
    }
    if profile.vendCredentials {
      // With a backend it goes by the backend's type.
      if section["backend"] == nil, takesBackend, words.contains(.developer) {
        refuseDeveloper(at: section.position(of: "vend_tokens"))
      }
    } else if let giver {
      warnOfVended(words, by: giver, section)
    }
    if words.contains(.account), !words.contains(.access) {
      diagnostics.error(
        at: section.position(of: "vend_tokens"),
        "vend_tokens: 'account' is about access tokens, and has no effect without 'access'")
    }
  }

  /// `vend_tokens = developer` beside `vend_credentials = yes`.
  mutating func refuseDeveloper(at position: SourcePosition?) {
    diagnostics.error(
      at: position,
      "vend_tokens: 'developer' has an effect only beside 'vend_credentials = no'; else the "
        + "developer token is given anyway")
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
  mutating func checkCapacity() {
    for (name, profile) in configuration.profiles.sorted(by: { $0.key < $1.key }) {
      guard let (key, rate, lifetime) = profile.way.exchange else { continue }
      check(name, (key, configuration.daemon[keyPath: rate]), lifetime, "")
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
