/// The keys of a profile that takes its credentials from another one. The rules that need the other
/// profile are in ConfigurationReader+Sources.swift.
extension ConfigurationReader {
  /// What may stand beside `source_profile`.
  private static let keysOfDerived: Set = [
    "source_profile", "policy_file", "duration", "session_description", "role_arn", "policy_arns",
    "role_session_name", "external_id", "transitive_tags", "source_identity", "region",
    "sts_endpoint", "allow_plain_http", "fips", "dualstack", "ca_file", "allow_users",
    "allow_groups", "allow_units", "allow_executables", "impersonate", "impersonate_signed_in",
    "vend_credentials",
  ]
  /// What only AssumeRole takes, beside the tags.
  private static let keysOfRoles = [
    "policy_arns", "role_session_name", "external_id", "transitive_tags", "source_identity",
  ]
  /// What only a derived profile has, beside the tags.
  private static let keysOfDerivedAlone = [
    "session_description", "external_id", "transitive_tags", "source_identity",
  ]

  mutating func checkDerived(_ profile: ProfileSettings, _ section: INISection) {
    refuseKeysOfIdentities(profile, section)
    if section["role_arn"] == nil {
      for key in Self.keysOfRoles + Self.tags(of: section) {
        require("role_arn", with: key, section)
      }
    }
    exclude("session_description", with: "role_arn", section)
    if !["policy_file", "duration", "role_arn"].contains(where: { section[$0] != nil }) {
      diagnostics.error(
        at: section.position(of: "source_profile"),
        "source_profile: requires 'policy_file', 'duration' or 'role_arn': without one of them "
          + "\(section.title.singleQuoted) would give what its source gives")
    }
    warnOfShort(profile.duration, section)
    refuseClaims(profile, section)
    checkTransitiveTags(of: profile, section)
  }

  /// With one of these keys it does not reach STS as its source does, whatever their values are.
  func notePlace(of profile: inout ProfileSettings, _ section: INISection) {
    let keys = ["sts_endpoint", "allow_plain_http", "fips", "dualstack", "ca_file"]
    profile.derived.namesPlace = profile.isDerived && keys.contains { section[$0] != nil }
  }

  /// The identity and the sign-in are the source's.
  private mutating func refuseKeysOfIdentities(_ profile: ProfileSettings, _ section: INISection) {
    let known = ConfigurationSchema.references(of: .profile)
    let source = profile.derived.source.map { "[profile \($0)]" } ?? "the source"
    for entry in section.entries where !Self.keysOfDerived.contains(entry.key) {
      // An unknown key has its own error.
      guard !DerivedSettings.isTag(entry.key), known.contains(where: { $0.matches(entry.key) })
      else { continue }
      diagnostics.error(
        at: entry.position,
        "\(entry.key): cannot be combined with 'source_profile': the identity and the sign-in are "
          + "those of \(source); set it there, or remove it")
    }
  }

  /// Profiles with an identity of their own.
  mutating func refuseKeysOfDerived(_ profile: ProfileSettings, _ section: INISection) {
    for key in Self.keysOfDerivedAlone + Self.tags(of: section) where section[key] != nil {
      diagnostics.error(
        at: section.position(of: key),
        "\(key): is for profiles with 'source_profile' alone: remove it")
    }
    if profile.flow != .direct, let entry = section["region"] {
      diagnostics.error(
        at: entry.position,
        "region: is for profiles with 'source_profile' or 'flow = direct' alone: remove it")
    }
  }

  private static func tags(of section: INISection) -> [String] {
    section.entries.map(\.key).filter(DerivedSettings.isTag)
  }

  private mutating func checkTransitiveTags(of profile: ProfileSettings, _ section: INISection) {
    let known = Self.tags(of: section).map { String($0.dropFirst(DerivedSettings.tag.count)) }
    for name in profile.derived.transitiveTags where !known.contains(name) {
      diagnostics.error(
        at: section.position(of: "transitive_tags"),
        "transitive_tags: there is no '\(DerivedSettings.tag)\(name)'"
          + NearestName.suggestion(name, in: known))
    }
  }
}

/// `duration`, whose limits depend on whose it is.
extension ConfigurationReader {
  /// A duration that is out of its range is taken out of the settings.
  mutating func checkDuration(_ profile: inout ProfileSettings, _ section: INISection) {
    // A text that is no duration has its own error.
    guard let entry = section["duration"], profile.duration != nil else { return }
    let isDerived = section["source_profile"] != nil
    let isChained = isDerived && section["role_arn"] != nil
    let range =
      isChained
      ? Limits.Upstream.chainedRoleSeconds
      : isDerived ? Limits.Upstream.narrowedSeconds : Limits.Upstream.roleSeconds
    do throws(InvalidValue) {
      _ = try ValueSyntax<Duration>.seconds(range).read(value(of: entry))
    } catch {
      profile.duration = nil
      let reason = isChained ? ", AWS's limits for a role that another role assumes" : ""
      diagnostics.error(at: entry.position, "duration: \(error.message)\(reason)")
    }
  }

  mutating func warnOfShort(_ duration: Duration?, _ section: INISection) {
    guard let duration, duration < .seconds(30 * 60) else { return }
    diagnostics.warning(
      at: section.position(of: "duration"),
      "duration: under 30m, clients that refresh 15m before expiration ask all the time")
  }
}
