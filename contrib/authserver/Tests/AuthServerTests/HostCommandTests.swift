import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import Testing

/// The commands that enrol hosts and change what they may do, with the real program.
@Suite(
  .serialized, .enabled(if: Programs.folder != nil || Programs.isCI, "CREDD_BINARIES is not set"))
struct HostCommandTests {
  private func list(_ programs: Programs, _ arguments: String...) throws -> [[String: Any]] {
    let text = try programs.admin(["host"] + arguments + ["--json"])
    return try #require(
      try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]])
  }

  @Test func anEnrolmentChangesWithoutANewToken() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let token = try programs.enrol("web1", "--vouches", "alice")
    let server = try programs.serve()
    #expect(try server.callback(token, "alice").status == 200)
    #expect(try server.callback(token, "bob").status == 403)
    let said = try programs.admin("host", "set", "web1", "--vouches", "bob", "--expires", "0")
    #expect(said.contains("vouches: 'bob', was 'alice'"))
    #expect(try server.callback(token, "alice").status == 403)
    #expect(try server.callback(token, "bob").status == 200)
    #expect(try programs.admin("host", "set", "web1", "--vouches", "bob").contains("as it was"))
    let host = try #require(try list(programs, "list").first)
    #expect(host["vouches"] as? [String] == ["bob"])
    #expect(host["pools"] as? [String] == ["work"])
    #expect(host["expires"] is NSNull)
    let audit = try programs.admin("audit", "list", "--event", "hostChanged")
    #expect(audit.contains(#""vouches":"bob","vouchesBefore":"alice""#))
    #expect(audit.split(separator: "\n").count == 2)
    let text = try programs.admin("audit", "list", "--event", "hostChanged", "--json")
    let entries = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]]
    #expect((entries?.first?["detail"] as? [String: String])?["vouches"] == "bob")
    #expect(entries?.first?["sequence"] is Int)
    // What is refused changes nothing.
    for options in [["--vouches", ""], ["--vouches", "a{b"], [], ["--pool", ""]] {
      _ = try programs.admin(["host", "set", "web1"] + options, expecting: 64)
    }
    _ = try programs.admin("host", "set", "web1", "--expires", "soon", expecting: 64)
    _ = try programs.admin("host", "set", "web1", "--pool", "wrok", expecting: 65)
    _ = try programs.admin("host", "set", "web2", "--expires", "0", expecting: 65)
    _ = try programs.admin("host", "set", "web1", "--group", "web", expecting: 65)
    #expect(try list(programs, "list").first?["vouches"] as? [String] == ["bob"])
  }

  @Test func aGroupsRightsHoldForItsHosts() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    _ = try programs.admin("host", "group", "add", "web", "--pool", "work", "--vouches", "alice")
    _ = try programs.admin(
      "host", "group", "add", "web", "--pool", "work", "--vouches", "x", expecting: 65)
    _ = try programs.admin("host", "group", "add", "mail", "--pool", "work", expecting: 64)
    let text = try programs.admin("host", "enrol", "web1", "--group", "web", "--json")
    let members = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    let token = try #require(members?["token"] as? String)
    #expect((members?["configuration"] as? String)?.contains("[profile work]") == true)
    let server = try programs.serve()
    #expect(try server.callback(token, "alice").status == 200)
    _ = try programs.admin("host", "group", "set", "web", "--vouches", "bob")
    #expect(try server.callback(token, "alice").status == 403)
    #expect(try server.callback(token, "bob").status == 200)
    let group = try #require(try list(programs, "group", "list").first)
    #expect(group["hosts"] as? [String] == ["web1"])
    _ = try programs.admin("host", "group", "remove", "web", expecting: 65)
    _ = try programs.admin(
      "host", "set", "web1", "--group", "", "--vouches", "alice", "--pool", "work")
    _ = try programs.admin("host", "group", "remove", "web")
    #expect(try server.callback(token, "bob").status == 403)
    #expect(try programs.admin("audit", "list").contains("hostGroupChanged"))
  }

  @Test func anUnknownNameIsNamedWithTheNearestOne() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    _ = try programs.enrol("frontend", "--vouches", "alice")
    for command in ["set", "rotate", "revoke"] {
      let options = command == "set" ? ["--expires", "1d"] : []
      #expect {
        try programs.admin(["host", command, "frontent"] + options)
      } throws: {
        "\($0)".contains("there is no host frontent; did you mean 'frontend'?")
      }
    }
  }

  @Test func rotatingTellsWhenTheEarlierTokenEnds() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    _ = try programs.enrol("web1", "--vouches", "alice", "--expires", "0")
    let text = try programs.admin("host", "rotate", "web1")
    #expect(text.contains("The enrolment has no end."))
    #expect(try list(programs, "list").first?["expires"] is NSNull)
    let said = try programs.admin("host", "rotate", "web1", "--expires", "1h", "--json")
    let members = try JSONSerialization.jsonObject(with: Data(said.utf8)) as? [String: Any]
    let end = try #require(members?["expires"] as? String)
    // Of two earlier tokens neither outlives the enrolment.
    #expect(members?["earlierUntil"] as? String == end)
    #expect(try programs.admin("audit", "list").contains(#""earlierUntil":"\#(end)""#))
  }

  /// With shared names a change must not make a host speak for somebody who has registered.
  @Test func aChangeCoversNobodysAccount() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let shared = "shared_names = yes"
    func admin(_ arguments: String..., input: String? = nil, expecting status: Int32 = 0) throws {
      _ = try programs.admin(
        arguments, input: input, more: ["server": shared], expecting: status)
    }
    try admin("user", "add", "zoe", "--password-stdin", input: "three plain words\n")
    try admin("host", "group", "add", "web", "--pool", "work", "--vouches", "alice")
    try admin("host", "enrol", "web1", "--group", "web")
    try admin("host", "set", "web1", "--pool", "work", "--vouches", "zo*", expecting: 65)
    try admin("host", "group", "set", "web", "--vouches", "ZOE", expecting: 65)
    try admin("host", "enrol", "web2", "--pool", "work", "--vouches", "*", expecting: 65)
    try admin("host", "group", "set", "web", "--vouches", "bob")
  }
}
