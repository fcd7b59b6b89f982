/// Profiles that take their credentials from another one.
extension ConfigurationReader {
  /// Keys that a derived profile may have.
  private static let keysOfDerived: Set = [
    "source_profile", "policy_file", "duration", "session_description", "role_arn", "policy_arns",
    "role_session_name", "external_id", "transitive_tags", "source_identity", "region",
    "sts_endpoint", "allow_plain_http", "fips", "dualstack", "ca_file", "allow_users",
    "allow_groups", "allow_units", "allow_executables", "impersonate", "impersonate_signed_in",
    "vend_credentials",
  ]

  /// What no other section can judge.
  mutating func checkDerived(_ profile: ProfileSettings, _ section: INISection) {
    for entry in section.entries
    where !Self.keysOfDerived.contains(entry.key) && !entry.key.hasPrefix("session_tags.") {
      diagnostics.error(
        at: entry.position,
        "\(entry.key): has no meaning beside 'source_profile': the profile's identity is its source's"
      )
    }
  }

  /// What depends on other profiles, and on the files of policies.
  mutating func checkSources(_ sections: [(profile: ProfileSettings, section: INISection)]) {
    for (profile, section) in sections {
      checkSource(of: profile, section)
      readPolicy(of: profile, section)
    }
  }

  private mutating func checkSource(of profile: ProfileSettings, _ section: INISection) {
    let position = section.position(of: "source_profile")
    var names = [profile.name]
    var next = profile.derived.source
    while let name = next {
      guard let source = configuration.profiles[name] else {
        return diagnostics.error(
          at: position,
          "source_profile: there is no [profile \(name)]"
            + NearestName.suggestion(name, in: Array(configuration.profiles.keys)))
      }
      guard !names.contains(name) else {
        return diagnostics.error(
          at: position,
          "source_profile: \((names + [name]).joined(separator: " ← ")) is a circle")
      }
      names.append(name)
      next = source.derived.source
    }
    guard names.count - 1 <= Limits.Upstream.derivedProfiles else {
      return diagnostics.error(
        at: position,
        "source_profile: \(names.joined(separator: " ← ")) are more than "
          + "\(Limits.Upstream.derivedProfiles) derived profiles in a row")
    }
  }

  private mutating func readPolicy(of profile: ProfileSettings, _ section: INISection) {
    guard let path = profile.policyFile, configuration.policies[path] == nil else { return }
    let position = section.position(of: "policy_file")
    do throws(InvalidValue) {
      let policy = try SessionPolicy(policyFile(path).get())
      configuration.policies[path] = policy
      for warning in policy.warnings {
        diagnostics.warning(at: position, "policy_file: \(path): \(warning)")
      }
    } catch {
      diagnostics.error(at: position, "policy_file: \(path) \(error.message)")
    }
  }
}
