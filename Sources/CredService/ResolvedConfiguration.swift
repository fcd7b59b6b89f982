package import CredCore

/// A configuration with the ids of its groups.
package struct ResolvedConfiguration: Sendable {
  package let configuration: Configuration
  package let profiles: [String: Profile]
  /// Their names, sorted.
  let profileNames: [String]
  /// The profiles that are not open to every user.
  let restricted: [Profile]
  /// What to look up about a caller before access to all profiles is decided: for the caller's own
  /// sessions, and for others'.
  let needs: (own: CallerNeeds, others: CallerNeeds)
  /// The paths of programs whose files are hashed: those that some profile names with a digest.
  let digestPaths: [GlobPattern]
  /// The shortest `forget_after` of all profiles.
  let shortestForgetAfter: Duration
  /// Nil if only root may see all sessions.
  let adminGroup: UInt32?

  /// - Parameter groupID: the id of a group by its name; may block.
  package init(_ configuration: Configuration, groupID: (String) -> UInt32?) {
    self.configuration = configuration
    profiles = configuration.profiles.mapValues { settings in
      do {
        return try Profile(settings, in: configuration, groupID: groupID)
      } catch {
        preconditionFailure("the configuration reader let '\(error)' pass")
      }
    }
    profileNames = profiles.keys.sorted()
    restricted = profiles.values.filter { !$0.access.isOpen }
    needs = (
      CallerNeeds(profiles.values, forOthers: false), CallerNeeds(profiles.values, forOthers: true)
    )
    var named: Set<GlobPattern> = []
    var paths: [GlobPattern] = []
    for name in profileNames {
      for path in profiles[name]?.access.digestPaths ?? [] where named.insert(path).inserted {
        paths.append(path)
      }
    }
    digestPaths = paths
    shortestForgetAfter =
      profiles.values.map(\.settings.forgetAfter).min() ?? ProfileSettings.standardForgetAfter
    adminGroup = configuration.daemon.adminGroup.flatMap(groupID)
  }

  package var daemon: DaemonSettings { configuration.daemon }
}

/// What to look up about a caller, beside its name, before access to a profile is decided.
struct CallerNeeds: Sendable {
  /// Groups whose members may be admitted: their membership must be current.
  var groups: Set<UInt32> = []
  var unit = false
  var executable = false
  var digest = false

  init() {}

  /// - Parameter forOthers: whether the caller asks for another user.
  init(_ profile: Profile, forOthers: Bool) {
    let access = profile.access
    executable = access.needsExecutable
    digest = !access.digestPaths.isEmpty
    guard !forOthers else { return }
    groups = access.groups
    unit = access.needsUnit
  }

  /// The union of all needs.
  init(_ profiles: some Sequence<Profile>, forOthers: Bool) {
    for profile in profiles {
      let other = CallerNeeds(profile, forOthers: forOthers)
      groups.formUnion(other.groups)
      unit = unit || other.unit
      executable = executable || other.executable
      digest = digest || other.digest
    }
  }
}
