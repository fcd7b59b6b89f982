internal import CredCore

/// The users and groups that a configuration names.
extension ConfigurationInspection {
  mutating func checkNames(_ configuration: Configuration) {
    let daemon = Place(section: "daemon")
    check(.group, [configuration.daemon.adminGroup].compactMap(\.self), daemon, "admin_group")
    check(.user, configuration.daemon.metricsUsers, daemon, "metrics_users")
    for (name, profile) in configuration.profiles.sorted(by: { $0.key < $1.key }) {
      let place = Place(section: "profile \(name)")
      check(.group, profile.allowGroups, place, "allow_groups")
      check(
        .user, profile.allowUsers.filter { $0 != AccessRule.everybody }, place, "allow_users")
      check(.user, profile.impersonate, place, "impersonate")
      check(.user, profile.keepWarm.users, place, "keep_warm")
    }
  }

  private mutating func check(
    _ kind: NameDatabase.Kind, _ names: [String], _ place: Place, _ key: String
  ) {
    var place = place
    place.key = key
    for name in names {
      switch nameCheck.check(kind, name) {
      case .fault(let fault): warn(place, fault)
      case .unmade(let reason): unchecked.append("\(place.section): \(key): \(reason)")
      case nil: break
      }
    }
  }
}
