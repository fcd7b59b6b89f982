/// The keys of a profile that takes its credentials from another one. The rules that need the other
/// profile are in ConfigurationReader+Sources.swift.
extension DerivedWay: ConfiguredWay {
  static let rows: [ConfigurationKey<ProfileDraft>] = [
    .init("source_profile", \.source, .sectionName),
    .init(
      "session_description", \.derived.description,
      .text("2 to 256 characters of ASCII", where: \.isSessionDescription)),
    .init(
      "external_id", \.derived.externalID,
      .text("2 to 1224 letters, digits or any of _+=,.@:/-", where: \.isExternalID)),
    .init(
      family: DerivedSettings.tag, syntax: "a text (with {user}, {uid}, {host})"
    ) { value, name, draft throws(InvalidValue) in
      try draft.derived.addTag(name, value)
    },
    .init(
      "transitive_tags", \.derived.transitiveTags,
      .list(of: "a tag's name", most: Limits.Upstream.sessionTags, where: \.isSessionTagName)),
    .init(
      "source_identity", \.derived.sourceIdentity,
      .template(
        length: Limits.Upstream.sourceIdentityLength.upperBound, where: \.isRoleSessionText)),
  ]
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
  private static let keysOfPlace = [
    "sts_endpoint", "allow_plain_http", "fips", "dualstack", "ca_file",
  ]

  /// A wrong name of a source counts as present.
  static func isWay(
    of draft: ProfileDraft, _ section: INISection, _ reader: ConfigurationReader
  ) -> Bool { section["source_profile"] != nil }

  static func settings(of draft: ProfileDraft, _ section: INISection) -> WaySettings {
    var derived = draft.derived
    derived.source = draft.source ?? ""
    derived.session = draft.session
    derived.region = draft.region
    // With one of these keys it does not reach STS as its source does, whatever their values are.
    derived.hasOwnPlace = keysOfPlace.contains { section[$0] != nil }
    return .derived(derived)
  }

  static func durations(_ section: INISection) -> (range: ClosedRange<Int>, reason: String) {
    guard section["role_arn"] != nil else { return (Limits.Upstream.narrowedSeconds, "") }
    return (
      Limits.Upstream.chainedRoleSeconds,
      ", AWS's limits for a role that another role assumes"
    )
  }

  static func check(
    _ draft: ProfileDraft, _ section: INISection, _ reader: inout ConfigurationReader
  ) {
    refuseKeysOfIdentities(draft, section, &reader)
    if section["role_arn"] == nil {
      for key in keysOfRoles + section.tags { reader.require("role_arn", with: key, section) }
    }
    reader.exclude("session_description", with: "role_arn", section)
    if !["policy_file", "duration", "role_arn"].contains(where: { section[$0] != nil }) {
      reader.diagnostics.error(
        at: section.position(of: "source_profile"),
        "source_profile: requires 'policy_file', 'duration' or 'role_arn': without one of them "
          + "\(section.title.singleQuoted) would give what its source gives")
    }
    reader.warnOfShort(draft.session.duration, section)
    reader.refuseClaims(draft.session, section)
    checkTransitiveTags(of: draft.derived, section, &reader)
  }

  /// The backend is the source's.
  static func reference(
    _ draft: ProfileDraft, _ section: INISection, _ reader: inout ConfigurationReader
  ) -> BackendReference? { nil }

  static func check(
    _ profile: ProfileSettings, _ section: INISection, at type: BackendType?,
    _ reader: inout ConfigurationReader
  ) {}

  /// The identity and the sign-in are the source's.
  private static func refuseKeysOfIdentities(
    _ draft: ProfileDraft, _ section: INISection, _ reader: inout ConfigurationReader
  ) {
    let known = ConfigurationSchema.references(of: .profile)
    let source = draft.source.map { "[profile \($0)]" } ?? "the source"
    for entry in section.entries where !keysOfDerived.contains(entry.key) {
      // An unknown key has its own error.
      guard !DerivedSettings.isTag(entry.key), known.contains(where: { $0.matches(entry.key) })
      else { continue }
      reader.diagnostics.error(
        at: entry.position,
        "\(entry.key): cannot be combined with 'source_profile': the identity and the sign-in are "
          + "those of \(source); set it there, or remove it")
    }
  }

  private static func checkTransitiveTags(
    of derived: DerivedSettings, _ section: INISection, _ reader: inout ConfigurationReader
  ) {
    let known = section.tags.map { String($0.dropFirst(DerivedSettings.tag.count)) }
    for name in derived.transitiveTags where !known.contains(name) {
      reader.diagnostics.error(
        at: section.position(of: "transitive_tags"),
        "transitive_tags: there is no '\(DerivedSettings.tag)\(name)'"
          + NearestName.suggestion(name, in: known))
    }
  }
}

extension ConfigurationReader {
  /// What only a derived profile has, beside the tags.
  private static let keysOfDerivedAlone = [
    "session_description", "external_id", "transitive_tags", "source_identity",
  ]

  /// Profiles with an identity of their own.
  mutating func refuseKeysOfDerived(_ section: INISection, butRegion mayHaveRegion: Bool = false) {
    for key in Self.keysOfDerivedAlone + section.tags where section[key] != nil {
      diagnostics.error(
        at: section.position(of: key),
        "\(key): is for profiles with 'source_profile' alone: remove it")
    }
    if !mayHaveRegion, let entry = section["region"] {
      diagnostics.error(
        at: entry.position,
        "region: is for profiles with 'source_profile' or 'flow = direct' alone: remove it")
    }
  }
}

extension INISection {
  fileprivate var tags: [String] { entries.map(\.key).filter(DerivedSettings.isTag) }
}
