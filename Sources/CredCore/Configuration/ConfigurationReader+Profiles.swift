/// Profiles, once the types of all backends are known.
extension ConfigurationReader {
  /// Chooses the way of a profile and checks its keys.
  ///
  /// - Returns: what it wants of its backend; nil where it has none.
  mutating func finish(_ draft: ProfileDraft, _ section: INISection) -> BackendReference? {
    var draft = draft
    let way = WayCatalog.way(of: draft, section, self)
    checkDuration(&draft.session.duration, way.durations(section), section)
    check(draft, section, way)
    let reference = way.reference(draft, section, &self)
    var settings = draft.common
    settings.way = way.settings(of: draft, section)
    profileSections.append((settings, section, way))
    if settings.way.readsPolicyFirst { readPolicy(of: settings, section) }
    if !settings.name.isEmpty { configuration.profiles[settings.name] = settings }
    return reference
  }

  /// What does not fit the type of its backend.
  mutating func checkBackend(
    of profile: ProfileSettings, _ section: INISection, _ way: any ConfiguredWay.Type
  ) {
    let type = profile.backend.flatMap { backendTypes[$0] }
    // A backend that is not there, or of no known type, has its own error.
    if profile.backend != nil, type == nil { return }
    way.check(profile, section, at: type, &self)
  }

  /// A duration that is out of its range is taken out of the settings.
  private mutating func checkDuration(
    _ duration: inout Duration?, _ limits: (range: ClosedRange<Int>, reason: String),
    _ section: INISection
  ) {
    // A text that is no duration has its own error.
    guard let entry = section["duration"], duration != nil else { return }
    do throws(InvalidValue) {
      _ = try ValueSyntax<Duration>.seconds(limits.range).read(value(of: entry))
    } catch {
      duration = nil
      diagnostics.error(at: entry.position, "duration: \(error.message)\(limits.reason)")
    }
  }

  mutating func warnOfShort(_ duration: Duration?, _ section: INISection) {
    guard let duration, duration < .seconds(30 * 60) else { return }
    diagnostics.warning(
      at: section.position(of: "duration"),
      "duration: under 30m, clients that refresh 15m before expiration ask all the time")
  }

  private mutating func readPolicy(of profile: ProfileSettings, _ section: INISection) {
    guard let path = profile.way.session?.policyFile, configuration.policies[path] == nil else {
      return
    }
    let position = section.position(of: "policy_file")
    do throws(InvalidValue) {
      let policy = try SessionPolicy(policyFile(path).get())
      configuration.policies[path] = policy
      for warning in policy.warnings {
        diagnostics.warning(at: position, "policy_file: '\(path)': \(warning)")
      }
    } catch {
      diagnostics.error(at: position, "policy_file: '\(path)' \(error.message)")
    }
  }
}
