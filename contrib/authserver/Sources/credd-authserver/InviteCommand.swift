import ArgumentParser
import AuthCore
import AuthStore

struct InviteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "invite", abstract: "Invitations to register: each for one name, good once.",
    subcommands: [New.self, List.self, Revoke.self], defaultSubcommand: New.self)

  struct New: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print an invitation to register a name; 'invite NAME' does the same.")
    @OptionGroup var common: Common
    @Argument(help: "The name that it registers, and no other.") var name: String
    @Option(help: "How long it is good, as 7d.", transform: Interval.read)
    var expires = Interval.days(7)

    func validate() throws {
      guard expires == .seconds(0) else { return }
      throw ValidationError("--expires 0: an invitation has an end")
    }

    func run() async throws {
      try await common.withStore { store, settings in
        guard settings.registration != .closed else {
          throw Failed(
            "registration = closed: 'user add' makes accounts, or set registration = invite")
        }
        let user = try Identifier.read(name, asAccount: settings.sharedNames)
        user.warnOfLooks()
        let same = try await store.user(user.text)
        let alike = try await store.user(matching: user)
        if let taken = same ?? alike {
          throw Failed(
            "\(name) is taken by \(taken.identifier.visible), so nobody can register it")
        }
        var random = SystemRandomNumberGenerator()
        let invitation = Ticket(.invitation, random: &random)
        let now = Timestamp.now
        try await store.invite(
          invitation, name: name, expires: now + expires, now: now,
          trail: common.trail("invited", ["name": name, "id": invitation.id]))
        try common.say(
          invitation.text,
          ["invitation": invitation.text, "name": name, "expires": (now + expires).iso8601])
      }
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the invitations, the latest first; never what registers.")
    @OptionGroup var common: Common

    func run() async throws {
      try await common.withStore(.read) { store, _ in
        let now = Timestamp.now
        let rows = try await store.invitations().map { invitation -> [Cell] in
          let state =
            invitation.used != nil ? "used" : invitation.isOpen(at: now) ? "open" : "ended"
          return [
            .text(invitation.name), .text(state), .text(invitation.created.iso8601),
            .text(invitation.expires.iso8601),
            invitation.used.map { .text($0.iso8601) } ?? .absent("-"),
          ]
        }
        try common.show(["name", "state", "since", "expires", "used"], rows)
      }
    }
  }

  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Take the open invitations for a name back.")
    @OptionGroup var common: Common
    @Argument(help: "The name.") var name: String

    func run() async throws {
      try await common.withStore { store, _ in
        let now = Timestamp.now
        let trail = common.trail("invitationRevoked", ["name": name])
        guard try await store.revokeInvitations(for: name, now: now, trail: trail) else {
          let open = try await store.invitations().filter { $0.isOpen(at: now) }
          throw Failed.unknown(
            "open invitation for", name, among: open.map(\.name),
            hint: ": 'invite list' shows them")
        }
        try common.say("nobody registers \(name) by invitation now", ["name": name])
      }
    }
  }
}
