package import CredCore

/// A configuration with the ids of its groups.
package struct ResolvedConfiguration: Sendable {
  package let configuration: Configuration
  package let profiles: [String: Profile]
  /// Their names, sorted.
  let profileNames: [String]
  /// The profiles from which others are derived.
  private let sources: Set<String>
  /// The names, to look for a misspelt one.
  let nameIndex: NameIndex
  /// The rules of the profiles that are not open to every user, each once.
  let restrictions: Set<AccessRule>
  /// What to look up about a caller before access to all profiles is decided: for the caller's own
  /// sessions, and for others'.
  let needs: (own: CallerNeeds, others: CallerNeeds)
  /// The sockets with a cap.
  let caps: [UnixSocketPath: SocketCap]
  /// The paths of programs that some profile names with a digest: their files are hashed.
  let digestPaths: [GlobPattern]
  /// The shortest `forget_after` of all profiles.
  let shortestForgetAfter: Duration
  /// The group that may see all sessions; nil if only root may.
  let adminGroup: UInt32?
  /// The user database's answer for each group that the configuration names.
  private let groups: [String: GroupAnswer]
  /// Groups for which the user database did not answer. They admit the same members as before.
  let unansweredGroups: Set<String>

  /// - Parameter group: looks up a group by its name; may block.
  package init(_ configuration: Configuration, group: (String) -> GroupAnswer) {
    self.init(configuration, former: [:], group: group)
  }

  /// - Parameter former: earlier answers, for groups about which the database gives no answer now.
  private init(
    _ configuration: Configuration, former: [String: GroupAnswer], group: (String) -> GroupAnswer
  ) {
    var groups: [String: GroupAnswer] = [:]
    var unanswered: Set<String> = []
    for name in configuration.groupNames {
      let answer = group(name)
      if answer == .unavailable { unanswered.insert(name) }
      groups[name] = answer == .unavailable ? former[name] ?? .unavailable : answer
    }
    self.groups = groups
    unansweredGroups = unanswered
    let groupID = { (name: String) in groups[name]?.id }
    self.configuration = configuration
    profiles = configuration.profiles.mapValues { settings in
      do {
        return try Profile(settings, in: configuration, groupID: groupID)
      } catch {
        preconditionFailure("the configuration reader let '\(error)' pass")
      }
    }
    profileNames = profiles.keys.sorted()
    sources = Set(profiles.values.compactMap { $0.source?.settings.name })
    nameIndex = NameIndex(profileNames)
    restrictions = Set(profiles.values.map(\.access).filter { !$0.isOpen })
    needs = (
      CallerNeeds(profiles.values, forOthers: false), CallerNeeds(profiles.values, forOthers: true)
    )
    caps = configuration.sockets.mapValues { [profiles] in SocketCap($0, profiles) }
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
    adminGroup = configuration.daemon.adminGroup.flatMap { GroupName.id($0) ?? groupID($0) }
  }

  /// This configuration with later answers of the user database.
  func with(_ answers: [String: GroupAnswer]) -> ResolvedConfiguration {
    ResolvedConfiguration(configuration, former: groups) { name in
      answers[name]
        ?? (unansweredGroups.contains(name) ? .unavailable : groups[name] ?? .noSuchGroup)
    }
  }

  /// This configuration, with values of `former` for groups with a failed look-up. So a database
  /// that restarts during a reload ends no right.
  func keepingGroups(of former: ResolvedConfiguration) -> ResolvedConfiguration {
    guard !unansweredGroups.isDisjoint(with: former.groups.keys) else { return self }
    return ResolvedConfiguration(configuration, former: former.groups) { name in
      unansweredGroups.contains(name) ? .unavailable : groups[name] ?? .noSuchGroup
    }
  }

  /// Whether another profile is derived from `profile`.
  func isSource(_ profile: String) -> Bool { sources.contains(profile) }

  package var daemon: DaemonSettings { configuration.daemon }
}

extension GroupAnswer {
  fileprivate var id: UInt32? { if case .group(let id) = self { id } else { nil } }
}

/// A group as the configuration names it.
private enum GroupName {
  /// Digits are an id, even if some group has these digits as its name.
  static func id(_ name: String) -> UInt32? {
    name.utf8.allSatisfy(\.isDigit) ? UInt32(name) : nil
  }
}

extension Configuration {
  /// The groups that only the user database can resolve.
  fileprivate var groupNames: Set<String> {
    let names = profiles.values.flatMap(\.allowGroups) + [daemon.adminGroup].compactMap(\.self)
    return Set(names.filter { GroupName.id($0) == nil })
  }
}

/// The facts to look up about a caller, beside its name, before access to a profile is decided.
struct CallerNeeds: Sendable {
  /// Groups with members that may be admitted: their membership must be current.
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
