internal import CredCore

/// What has to be known of a caller before it is decided what a profile is to them.
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
