internal import CredCore

/// The users and groups that a configuration names.
extension ConfigurationInspection {
  mutating func checkNames(_ configuration: Configuration) {
    let daemon = Setting(section: "daemon")
    check(.group, [configuration.daemon.adminGroup].compactMap(\.self), daemon, "admin_group")
    check(.user, configuration.daemon.metricsUsers, daemon, "metrics_users")
    for (name, profile) in configuration.profiles.sorted(by: { $0.key < $1.key }) {
      let setting = Setting(section: "profile \(name)")
      check(.group, profile.allowGroups, setting, "allow_groups")
      check(
        .user, profile.allowUsers.filter { $0 != AccessRule.everybody }, setting, "allow_users")
      check(.user, profile.impersonate, setting, "impersonate")
      check(.user, profile.keepWarm.users, setting, "keep_warm")
    }
  }

  private mutating func check(
    _ kind: NameDatabase.Kind, _ names: [String], _ setting: Setting, _ key: String
  ) {
    var setting = setting
    setting.key = key
    for name in names {
      switch nameCheck.check(kind, name) {
      case .fault(let fault): warn(setting, fault)
      case .unmade(let reason): unchecked.append("\(setting.section): \(key): \(reason)")
      case nil: break
      }
    }
  }
}
