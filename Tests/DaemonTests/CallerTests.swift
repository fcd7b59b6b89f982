import TestSupport
import Testing

@testable import DaemonHarness

/// The kernel says which user calls, and that decides what the caller gets.
@Suite(.onStage, .enabled(if: OtherUser.canBe, "takes root, which can be other users"))
struct CallerTests {
  @Test
  func eachUserHasASessionOfTheirOwn() throws {
    let host = try TestHost.ofAnyUser()
    let credctl = try Stage.current().executable(Programs.credctl)
    let daemons = try host.credctl(credctl, as: .daemon, "get")
    let gamers = try host.credctl(credctl, as: .games, "get")
    expect(daemons.status, equals: 0, "\(daemons.errors)")
    expect(gamers.status, equals: 0, "\(gamers.errors)")
    expect(try JSON(daemons.output)["AccessKeyId"] != JSON(gamers.output)["AccessKeyId"])
    expect(try host.credctl(credctl, as: .daemon, "get"), equals: daemons)
    expect(try host.sandbox.callbacks, equals: 2)
    let identities = try [daemons, gamers].map { outcome in
      let key = try #require(try JSON(outcome.output)["AccessKeyId"]?.text)
      return try host.sandbox.control("GET", "issued?AccessKeyId=\(key)")["IdentityId"]
    }
    expect(identities[0] != identities[1])
    expect(
      try JSON(host.credctl(credctl, as: .daemon, "identity", "--json").output)["IdentityId"],
      equals: identities[0])
  }

  @Test
  func statusShowsOwnSessionsAndAllToRoot() throws {
    let host = try TestHost.ofAnyUser()
    let credctl = try Stage.current().executable(Programs.credctl)
    expect(try host.credctl(credctl, as: .daemon, "get").status, equals: 0)
    expect(try host.credctl(credctl, as: .games, "get").status, equals: 0)
    let own = try JSON(host.credctl(credctl, as: .games, "status", "--json").output)
    expect(own["Sessions"]?.count, equals: 1)
    expect(own["Sessions"]?[0]?["User"]?.text, equals: "games")
    let all = try host.credctl(credctl, as: .games, "status", "--all")
    expect(all.status, equals: 77)
    expect(all.output.isEmpty)
    expect(all.errors.contains("root"))
    expect(try host.ask(#"{"op":"status"}"#)["Sessions"]?.count, equals: 0)
    let seen = try host.ask(#"{"op":"status","all":true}"#)["Sessions"]
    expect(seen?.count, equals: 2)
    expect(Set([seen?[0]?["User"]?.text, seen?[1]?["User"]?.text]), equals: ["daemon", "games"])
  }

  @Test(arguments: ["mail", "8"])
  func membersOfTheAdminGroupSeeAll(_ group: String) throws {
    // Debian's mail has the gid 8.
    let host = try TestHost { Configuration.usual($0, daemon: "admin_group = \(group)") }
    try host.ask()
    let credctl = try Stage.current().executable(Programs.credctl)
    let admin = OtherUser(user: "games", groups: ["games", "mail"])
    let seen = try host.credctl(credctl, as: admin, "status", "--all", "--json")
    expect(try JSON(seen.output)["Sessions"]?.count, equals: 1)
    expect(try host.credctl(credctl, as: .games, "status", "--all").status, equals: 77)
  }

  @Test
  func allowedUsersAreServedAndOthersLearnNothing() throws {
    let host = try TestHost.ofAnyUser("allow_users = daemon")
    let credctl = try Stage.current().executable(Programs.credctl)
    expect(try host.credctl(credctl, as: .daemon, "get").status, equals: 0)
    let refused = try host.credctl(credctl, as: .games, "get")
    expect(refused.status, equals: 77)
    expect(refused.output.isEmpty)
    expect(refused.errors.contains("'default' is not available to 'games'"))
    // A profile that does not exist looks the same as one that is not theirs.
    let unknown = try host.credctl(credctl, as: .games, "get", "--profile", "other")
    expect(unknown.status, equals: 77)
    expect(unknown.errors, equals: refused.errors.replacing("'default'", with: "'other'"))
    for verb in ["token", "identity"] {
      expect(try host.credctl(credctl, as: .games, verb).status, equals: 77)
    }
    expect(try host.sandbox.callbacks, equals: 1)
    expect(host.log.contains("refused a caller"))
  }

  @Test
  func allowedGroupsAreServed() throws {
    let host = try TestHost.ofAnyUser("allow_groups = mail")
    let credctl = try Stage.current().executable(Programs.credctl)
    let member = OtherUser(user: "games", groups: ["games", "mail"])
    let primary = OtherUser(user: "daemon", groups: ["mail"])
    expect(try host.credctl(credctl, as: member, "get").status, equals: 0)
    expect(try host.credctl(credctl, as: primary, "get").status, equals: 0)
    let refused = try host.credctl(credctl, as: .games, "get")
    expect(refused.status, equals: 77)
    expect(refused.errors.contains("available to you"))
  }
}
