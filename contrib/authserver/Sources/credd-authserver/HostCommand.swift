import ArgumentParser
import AuthCore
import AuthStore

struct HostCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "host", abstract: "Enrol hosts, and say for whom they speak.",
    subcommands: [
      Enrol.self, Set.self, List.self, Rotate.self, Revoke.self, HostGroupCommand.self,
    ])

  struct Enrol: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Enrol a host, and print its token once.")
    @OptionGroup var common: Common
    @Argument(help: "The host's name.") var name: String
    @OptionGroup var rights: RightsOptions
    @Option(help: "The group whose users, pools and rights hold for this host too.")
    var group: String?
    @Option(
      help: "When the enrolment ends, as 90d; never where it is 0. (default: 90d)",
      transform: Lifetime.read)
    var expires: Lifetime?
    @Option(
      help:
        "This server's address, as https://auth.example.com:8443, for the lines that are printed.",
      transform: HostHints.readURL)
    var url: String?
    @Option(
      help:
        "The file on the host with the authority of the server's certificate, for the same lines.",
      transform: HostHints.readPath)
    var caFile: String?

    func run() async throws {
      try await common.withStore { store, settings in
        let host = try await enrolment(store, settings, .now)
        var random = SystemRandomNumberGenerator()
        let token = Ticket(.host, random: &random)
        let trail = common.trail("hostEnrolled", HostNotes.members(host))
        let isAnew: Bool
        do {
          isAnew = try await store.enrol(
            host, token: token, avoidsAccounts: settings.sharedNames, trail: trail)
        } catch StoreError.conflict {
          throw Failed(
            "\(name) is enrolled already: 'host set' changes what it may do, and 'host rotate' "
              + "gives it another token")
        }
        let hints = HostHints(
          host: host, token: token.text, settings: settings, isAnew: isAnew, url: url,
          caFile: caFile)
        try common.say(hints.text, hints.members)
      }
    }

    private func enrolment(
      _ store: AuthStore, _ settings: AuthCore.Configuration, _ now: Timestamp
    ) async throws -> Enrolment {
      try RightsOptions.checkName(name)
      var host = Enrolment(
        name: name, rights: try rights.given(settings),
        expires: (expires ?? .standard).end(from: now), created: now)
      if let group { host.group = try await HostGroupCommand.find(group, store) }
      try RightsOptions.check(host)
      return host
    }
  }

  struct Set: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Change what a host may do; its token stays.",
      discussion: """
        What is not given stays as it is. A list takes the place of the earlier one, and an empty \
        one, as --vouches '', takes it away; --group '' takes the host out of its group.
        """)
    @OptionGroup var common: Common
    @Argument(help: "The host's name.") var name: String
    @OptionGroup var rights: RightsOptions
    @Option(help: "The group whose users, pools and rights hold for this host too.")
    var group: String?
    @Option(
      help: "When the enrolment ends from now on, as 90d; never where it is 0.",
      transform: Lifetime.read)
    var expires: Lifetime?

    func validate() throws {
      guard rights.isEmpty, group == nil, expires == nil else { return }
      throw ValidationError("nothing to change: give --pool, --vouches, --signs-in, --group …")
    }

    func run() async throws {
      try await common.withStore { store, settings in
        let change = try await change(store, settings)
        let changed = try await store.change(
          host: name, avoidsAccounts: settings.sharedNames,
          trail: { change in
            let members = HostNotes.changes(
              HostNotes.members(change.before), HostNotes.members(change.after))
            return members.isEmpty
              ? nil : common.trail("hostChanged", members.merging(["host": name]) { $1 })
          }, change)
        guard let changed else { throw try await HostCommand.unknown(name, store) }
        try common.say(
          HostNotes.text(HostNotes.members(changed.before), HostNotes.members(changed.after), name),
          HostNotes.cells(changed.after))
      }
    }

    private func change(
      _ store: AuthStore, _ settings: AuthCore.Configuration
    ) async throws -> @Sendable (inout Enrolment) throws -> Void {
      let own = try rights.given(settings)
      let joined: HostGroup? =
        if let group, !group.isEmpty { try await HostGroupCommand.find(group, store) } else { nil }
      let (rights, group, expires, now) = (rights, group, expires, Timestamp.now)
      return { host in
        host.rights = rights.merged(own, into: host.rights)
        if group != nil { host.group = joined }
        if let expires { host.expires = expires.end(from: now) }
        try RightsOptions.check(host)
      }
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show the hosts.")
    @OptionGroup var common: Common

    func run() async throws {
      try await common.withStore(.read) { store, _ in
        let now = Timestamp.now
        let rows = try await store.hosts().map { host -> [Cell] in
          let state =
            host.revoked != nil ? "revoked" : host.isValid(at: now) ? "enrolled" : "expired"
          return [.text(host.name), .text(state), HostNotes.group(host)]
            + HostNotes.cells(host.rights) + [.end(host.expires)]
        }
        try common.show(
          ["name", "state", "group"] + HostNotes.columns + ["expires"], rows)
      }
    }
  }

  struct Rotate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Give a host a second token; the first lives on for a while.")
    @OptionGroup var common: Common
    @Argument(help: "The host's name.") var name: String
    @Option(help: "How long the first token lives on, as 24h.", transform: Interval.read)
    var overlap = Interval.hours(24)
    @Option(
      help: """
        When the enrolment ends now, as 90d; never where it is 0. (default: 90d, or never where it \
        has no end)
        """, transform: Lifetime.read)
    var expires: Lifetime?

    func run() async throws {
      try await common.withStore { store, _ in
        let now = Timestamp.now
        var random = SystemRandomNumberGenerator()
        let token = Ticket(.host, random: &random)
        let rotation = try await store.rotate(
          host: name, token: token, earlierUntil: now + overlap, expires: expires, now: now
        ) { rotation in
          common.trail(
            "hostRotated",
            [
              "host": name, "expires": HostNotes.end(rotation.expires),
              "expiresBefore": HostNotes.end(rotation.expiredBefore),
              "earlierUntil": rotation.earlierUntil?.iso8601 ?? "none",
            ])
        }
        guard let rotation else { throw try await HostCommand.unknown(name, store) }
        try common.say(
          "The new token of \(name), shown this once:\n\(token.text)\n"
            + Self.sentence(rotation, now),
          [
            "host": .text(name), "token": .text(token.text), "expires": .end(rotation.expires),
            "earlierUntil": rotation.earlierUntil.map { .text($0.iso8601) } ?? .absent("none"),
          ])
      }
    }

    private static func sentence(_ rotation: Rotation, _ now: Timestamp) -> String {
      let end = rotation.expires.map { "The enrolment ends at \($0.iso8601)." }
      let earlier = rotation.earlierUntil.map {
        now < $0
          ? "The earlier one is good until \($0.iso8601)."
          : "The earlier one has ended at \($0.iso8601)."
      }
      return [earlier, end ?? "The enrolment has no end."].compactMap(\.self).joined(
        separator: "\n")
    }
  }

  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Take a host's tokens and its users' sign-ins away.")
    @OptionGroup var common: Common
    @Argument(help: "The host's name.") var name: String

    func run() async throws {
      try await common.withStore { store, _ in
        let trail = common.trail("hostRevoked", ["host": name])
        guard try await store.revoke(host: name, now: .now, trail: trail) else {
          throw try await HostCommand.unknown(name, store)
        }
        try common.say("\(name) is revoked", ["host": name, "state": "revoked"])
      }
    }
  }

  static func unknown(_ name: String, _ store: AuthStore) async throws -> Failed {
    let hosts = try await store.hosts()
    if hosts.contains(where: { $0.name == name }) {
      return Failed("\(name) is revoked: 'host enrol' enrols it anew")
    }
    return .unknown("host", name, among: hosts.map(\.name), hint: ": 'host list' shows them")
  }
}

extension Lifetime {
  static func read(_ text: String) throws -> Lifetime {
    guard let lifetime = Lifetime(text) else {
      throw ValidationError("it is a time, as 90d or 12h, or 0 for no end")
    }
    return lifetime
  }
}

extension Interval {
  static func read(_ text: String) throws -> Interval {
    guard let interval = Interval(text) else {
      throw ValidationError("it is a time, as 24h, 30m or 7d")
    }
    return interval
  }
}
