/// The rules of a derived profile that need the profiles above it.
extension ConfigurationReader {
  /// A derived profile with the profiles above it.
  struct DerivedProfile {
    let settings: ProfileSettings
    let derived: DerivedSettings
    let section: INISection
    /// The nearest first.
    let sources: [ProfileSettings]
    /// The last source, which has the identity.
    let root: ProfileSettings

    /// The profile that says how STS is reached.
    var place: ProfileSettings {
      ([settings] + sources).first { $0.way.derived?.hasOwnPlace ?? false } ?? root
    }

    var position: SourcePosition { section.position(of: "source_profile") }
  }

  mutating func checkSources() {
    var places: Set<String> = []
    for (settings, section, _) in profileSections {
      guard let derived = settings.way.derived, let sources = sources(of: settings, section),
        let root = sources.last
      else { continue }
      let profile = DerivedProfile(
        settings: settings, derived: derived, section: section, sources: sources, root: root)
      places.insert(profile.place.name)
      checkRoot(of: profile)
      checkRole(of: profile)
      checkLife(of: profile)
      checkPartition(of: profile)
      checkHost(of: profile)
      warnOfWaysRound(profile)
    }
    warnOfUnusedEndpoints(but: places)
  }

  /// The profiles above one, the nearest first. Nil if they lead to no identity, which is reported at the
  /// profile that is at fault.
  private mutating func sources(
    of profile: ProfileSettings, _ section: INISection
  ) -> [ProfileSettings]? {
    let position = section.position(of: "source_profile")
    let most = Limits.Upstream.derivedProfiles
    var (names, sources) = ([profile.name], [ProfileSettings]())
    var next = profile.way.derived?.namedSource
    while let name = next {
      guard let source = configuration.profiles[name] else {
        let lack = lack(of: name, for: profile)
        if sources.isEmpty { diagnostics.error(at: position, lack) }
        return nil
      }
      let way = (names + [name]).map(\.singleQuoted).joined(separator: " ← ")
      guard !names.contains(name) else {
        if name == profile.name {
          diagnostics.error(
            at: position, "source_profile: \(way) is a circle; one of them needs another source")
        }
        return nil
      }
      guard sources.count < most else {
        diagnostics.error(
          at: position,
          "source_profile: \(way) has more than \(most) derived profiles in a row; name a source that "
            + "is nearer to the identity")
        return nil
      }
      names.append(name)
      sources.append(source)
      next = source.way.derived?.namedSource
    }
    return sources.isEmpty ? nil : sources
  }

  private func lack(of name: String, for profile: ProfileSettings) -> String {
    let known = configuration.profiles.keys.filter { $0 != profile.name }.sorted()
    return "source_profile: there is no [profile \(name)]"
      + NearestName.suggestion(name, in: known)
  }

  private mutating func checkRoot(of profile: DerivedProfile) {
    let root = profile.root
    guard case .tokens = root.way, !root.vendTokens.isEmpty else { return }
    diagnostics.error(
      at: profile.position,
      "source_profile: [profile \(root.name)] gives tokens alone, and no credentials; name a profile "
        + "with an 'identity_pool_id'")
  }

  /// A policy belongs to one session, and another role's session has none of it.
  private mutating func checkRole(of profile: DerivedProfile) {
    guard profile.section["role_arn"] != nil else { return }
    for source in profile.sources where source.way.appliesPolicies {
      guard let session = source.way.session,
        session.policyFile != nil || !session.policyARNs.isEmpty
      else { continue }
      let key = session.policyFile == nil ? "policy_arns" : "policy_file"
      diagnostics.error(
        at: profile.section.position(of: "role_arn"),
        "role_arn: the role would leave '\(key)' of [profile \(source.name)] behind; assume it from a "
          + "profile without a policy")
    }
  }

  /// Narrowed credentials get what is left of the source, less a minute.
  private mutating func checkLife(of profile: DerivedProfile) {
    let section = profile.section
    guard section["duration"] != nil, section["role_arn"] == nil,
      let source = profile.sources.first, let session = source.way.derived?.session,
      session.roleARN == nil, let duration = session.duration,
      duration < Derivation.leastDurationOfSource
    else { return }
    diagnostics.error(
      at: section.position(of: "duration"),
      "duration: [profile \(source.name)] lives for \(duration.written), and what is derived from it would "
        + "live for seconds: set \(Derivation.leastDurationOfSource.written) or more there")
  }

  /// Credentials are of no use in another partition than their own.
  private mutating func checkPartition(of profile: DerivedProfile) {
    let section = profile.section
    let region = profile.root.way.region
    guard !region.isEmpty else { return }
    let place = "the source's region"
    if let own = profile.derived.region {
      refuse(
        own, AWSPartition(region: own).rawValue, region, of: place, at: "region", section)
    }
    checkPartition(of: profile.derived.session, region, of: place, section)
  }

  /// GetScopedCredentials is "not available on the STS Global endpoint" (botocore's model of 2026-11-19),
  /// and tokens of the global endpoint do not hold in every region.
  private mutating func checkHost(of profile: DerivedProfile) {
    let place = profile.place
    guard let host = place.stsEndpoint?.host, Self.globalHosts.contains(host) else { return }
    let isOwn = profile.section["sts_endpoint"] != nil
    let key = isOwn ? "sts_endpoint" : "source_profile"
    let name = isOwn ? "" : "'sts_endpoint' of [profile \(place.name)] names "
    diagnostics.error(
      at: profile.section.position(of: key),
      "\(key): \(name)the global STS, which narrows no credentials; name a region's here, such as "
        + "https://sts.eu-west-1.amazonaws.com")
  }

  private static let globalHosts = ["sts.amazonaws.com", "sts.amazonaws.com."]

  /// In the enhanced flow only derived profiles call STS.
  private mutating func warnOfUnusedEndpoints(but used: Set<String>) {
    for (name, position) in endpointsOfEnhanced where !used.contains(name) {
      diagnostics.warning(at: position, "sts_endpoint: has no effect in the enhanced flow")
    }
  }
}

extension WaySettings {
  fileprivate var derived: DerivedSettings? {
    if case .derived(let derived) = self { derived } else { nil }
  }
}

extension DerivedSettings {
  fileprivate var namedSource: String? { source.isEmpty ? nil : source }
}
