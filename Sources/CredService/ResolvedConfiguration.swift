package import CredCore

/// A configuration with what the host says about the names in it.
package struct ResolvedConfiguration: Sendable {
  package let configuration: Configuration
  package let profiles: [String: Profile]
  /// Their names, sorted.
  let profileNames: [String]
  /// Those that are not for everyone.
  let restricted: [Profile]
  /// What has to be known of a caller to decide about all of them, in their own name or in others'.
  let needs: (own: CallerNeeds, others: CallerNeeds)
  /// Nil where root alone may see everyone's sessions.
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
    adminGroup = configuration.daemon.adminGroup.flatMap(groupID)
  }

  package var daemon: DaemonSettings { configuration.daemon }
}

/// What has to be known of a caller before access to a profile is decided.
struct CallerNeeds: Sendable {
  /// The user's name.
  var name = false
  /// Members of these groups may be admitted, so it matters whether they still are members.
  var groups: Set<UInt32> = []
  var unit = false
  var executable = false
  var digest = false

  init() {}

  /// - Parameter forOthers: the caller asks in somebody else's name.
  init(_ profile: Profile, forOthers: Bool) {
    let access = profile.access
    executable = access.needsExecutable
    digest = access.needsDigest
    if forOthers {
      name = access.needsImpersonatorName
    } else {
      name = profile.needsUserName || access.needsUserName
      groups = access.groups
      unit = access.needsUnit
    }
  }

  /// What any of them needs.
  init(_ profiles: some Sequence<Profile>, forOthers: Bool) {
    for profile in profiles {
      let other = CallerNeeds(profile, forOthers: forOthers)
      name = name || other.name
      groups.formUnion(other.groups)
      unit = unit || other.unit
      executable = executable || other.executable
      digest = digest || other.digest
    }
  }
}
