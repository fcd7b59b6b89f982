import CredCore
import TestSupport
import Testing

/// Who may use a derived profile.
struct DerivedAccessRuleTests {
  private func rule(source: [String] = [], _ keys: String...) throws -> AccessRule {
    let lines =
      ["[profile work]", "identity_pool_id = eu-west-1:0a0a0a0a-1111-2222-3333-444444444444"]
      + ["guest = yes"] + source + ["[profile narrow]", "source_profile = work", "duration = 30m"]
      + keys
    let text = lines.joined(separator: "\n")
    let reading = Configuration.read(
      [ConfigurationSource(name: "c", bytes: Array(text.utf8))], environment: { _ in nil })
    let configuration = try #require(reading.configuration, "\(reading.diagnostics)")
    let profile = try #require(configuration.profiles["narrow"])
    return try Profile(profile, in: configuration) { $0 == "staff" ? 500 : nil }.access
  }

  private func caller(_ name: String, _ program: String? = nil, groups: [UInt32] = []) -> Caller {
    Caller(
      uid: 1000, groups: groups, userName: name,
      executable: program.map { Caller.Executable(path: $0) })
  }

  @Test func withoutListsOfItsOwnThoseOfTheSourceHold() throws {
    let rule = try rule(source: ["allow_users = alice", "allow_groups = staff"])
    expect(rule.allows(caller("alice")))
    expect(rule.allows(caller("bob", groups: [500])))
    expect(!rule.allows(caller("bob")))
  }

  @Test func listsOfItsOwnCountAlone() throws {
    let rule = try rule(
      source: ["allow_users = alice", "allow_executables = /usr/bin/aws"], "allow_users = bob")
    expect(rule.allows(caller("bob")))
    expect(!rule.allows(caller("alice", "/usr/bin/aws")))
  }

  @Test func ownProgramsNarrowThoseOfTheSource() throws {
    let rule = try rule(
      source: ["allow_executables = /usr/bin/*"], "allow_executables = /usr/bin/aws /opt/tool")
    expect(rule.allows(caller("alice", "/usr/bin/aws")))
    expect(!rule.allows(caller("alice", "/usr/bin/curl")))
    expect(!rule.allows(caller("alice", "/opt/tool")))
  }
}
