import ArgumentParser
import AuthCore
import AuthStore

struct HostGroupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "group", abstract: "Groups of hosts, whose rights hold for each of their hosts.",
    discussion: """
      'host enrol --group NAME' and 'host set --group NAME' put a host in a group. What the group may \
      and what the host itself may count each by themselves.
      """,
    subcommands: [Add.self, Set.self, List.self, Remove.self])

  static func find(_ name: String, _ store: AuthStore) async throws -> HostGroup {
    let groups = try await store.groups()
    guard let group = groups.first(where: { $0.name == name }) else {
      throw Self.unknown(name, groups)
    }
    return group
  }

  private static func unknown(_ name: String, _ groups: [HostGroup]) -> Failed {
    .unknown(
      "group of hosts", name, among: groups.map(\.name), hint: ": 'host group add' makes one")
  }

  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Make a group.")
    @OptionGroup var common: Common
    @Argument(help: "The group's name.") var name: String
    @OptionGroup var rights: RightsOptions

    func run() async throws {
      try await common.withStore { store, settings in
        try RightsOptions.checkName(name)
        let group = HostGroup(
          name: name, rights: try rights.given(settings), created: .now)
        try HostGroupCommand.check(group)
        let members = HostNotes.members(group.rights).merging(["group": name]) { $1 }
        do {
          try await store.add(group, trail: common.trail("hostGroupAdded", members))
        } catch StoreError.conflict {
          throw Failed("there is a group \(name) already: 'host group set' changes it")
        }
        try common.say(
          "'host set HOST --group \(name)' puts a host in it", HostGroupCommand.cells(group, []))
      }
    }
  }

  struct Set: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Change what the hosts of a group may do.",
      discussion: """
        What is not given stays as it is. A list takes the place of the earlier one, and an empty \
        one, as --vouches '', takes it away.
        """)
    @OptionGroup var common: Common
    @Argument(help: "The group's name.") var name: String
    @OptionGroup var rights: RightsOptions

    func validate() throws {
      guard rights.isEmpty else { return }
      throw ValidationError("nothing to change: give --pool, --vouches, --signs-in …")
    }

    func run() async throws {
      try await common.withStore { store, settings in
        let given = try rights.given(settings)
        let rights = rights
        let hosts = try await store.hosts().filter { $0.revoked == nil && $0.group?.name == name }
        let changed = try await store.change(
          group: name, avoidsAccounts: settings.sharedNames,
          trail: { change in
            let members = HostNotes.changes(
              HostNotes.members(change.before.rights), HostNotes.members(change.after.rights))
            return members.isEmpty
              ? nil : common.trail("hostGroupChanged", members.merging(["group": name]) { $1 })
          },
          { group in
            group.rights = rights.merged(given, into: group.rights)
            try HostGroupCommand.check(group)
          })
        guard let changed else {
          throw HostGroupCommand.unknown(name, try await store.groups())
        }
        try common.say(
          HostNotes.text(
            HostNotes.members(changed.before.rights), HostNotes.members(changed.after.rights), name),
          HostGroupCommand.cells(changed.after, hosts.map(\.name)))
      }
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show the groups and their hosts.")
    @OptionGroup var common: Common

    func run() async throws {
      try await common.withStore(.read) { store, _ in
        let hosts = Dictionary(
          grouping: try await store.hosts().filter { $0.revoked == nil && $0.group != nil },
          by: { $0.group?.name ?? "" })
        let rows = try await store.groups().map { group -> [Cell] in
          [.text(group.name)] + HostNotes.cells(group.rights) + [
            .words((hosts[group.name] ?? []).map(\.name))
          ]
        }
        try common.show(["name"] + HostNotes.columns + ["hosts"], rows)
      }
    }
  }

  struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Remove a group that has no hosts.")
    @OptionGroup var common: Common
    @Argument(help: "The group's name.") var name: String

    func run() async throws {
      try await common.withStore { store, _ in
        let trail = common.trail("hostGroupRemoved", ["group": name])
        switch try await store.remove(group: name, trail: trail) {
        case .done: try common.say("the group \(name) is removed", ["group": name])
        case .unknown: throw HostGroupCommand.unknown(name, try await store.groups())
        case .hasHosts(let hosts):
          let names = hosts.prefix(5).joined(separator: ", ") + (hosts.count > 5 ? " …" : "")
          throw Failed(
            "the group \(name) has hosts, \(names): 'host set HOST --group GROUP' puts each in another "
              + "one, and --group '' in none")
        }
      }
    }
  }

  private static func check(_ group: HostGroup) throws {
    let isEmpty = group.rights == .none
    guard let fault = isEmpty ? HostRights.nobody : group.rights.fault else { return }
    throw Failed("\(group.name): \(fault)", .usage)
  }

  private static func cells(_ group: HostGroup, _ hosts: [String]) -> [String: Cell] {
    let names = ["name"] + HostNotes.columns + ["hosts"]
    let cells: [Cell] = [.text(group.name)] + HostNotes.cells(group.rights) + [.words(hosts)]
    return Dictionary(uniqueKeysWithValues: zip(names, cells))
  }
}
