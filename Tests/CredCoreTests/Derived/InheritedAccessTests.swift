import TestSupport
import Testing

@testable import CredCore

/// Who may use a derived profile: its own lists say it, or those of the profiles above it.
struct InheritedAccessTests {
  private func rule(_ lines: String, source: String, top: String? = nil) throws -> AccessRule {
    let above = derivedText("duration = 1h\n\(lines)", source: source)
    let text = (top.map { "[profile top]\nsource_profile = narrow\nduration = 1h\n\($0)\n" } ?? "")
    let configuration = try #require(reading(text + above, policies: [:]).configuration)
    let settings = try #require(configuration.profiles[top == nil ? "narrow" : "top"])
    return try Profile(settings, in: configuration) { ["staff": 500, "ops": 501][$0] }.access
  }

  private static let callers: [String: Caller] = [
    "alice": Caller(uid: 1, userName: "alice"), "bob": Caller(uid: 2, userName: "bob"),
    "staff": Caller(uid: 3, groups: [500], userName: "carol"),
    "ops": Caller(uid: 4, groups: [501], userName: "dave"),
    "unit": Caller(uid: 5, userName: "erin", unit: "a.service"),
    "aws": Caller(
      uid: 1, userName: "alice", executable: Caller.Executable(path: "/usr/bin/aws")),
    "tool": Caller(uid: 2, userName: "bob", executable: Caller.Executable(path: "/opt/tool")),
  ]

  private func admitted(_ rule: AccessRule) -> [String] {
    Self.callers.filter { rule.allows($0.value) }.map(\.key).sorted()
  }

  @Test(arguments: [
    ("", "allow_users = alice", ["alice", "aws"]), ("", "allow_groups = staff", ["staff"]),
    ("", "allow_units = a.*", ["unit"]),
    (
      "", "allow_users = alice\nallow_groups = ops\nallow_units = a.*",
      ["alice", "aws", "ops", "unit"]
    ),
    // One list of its own, and none of the source's counts, not even its programs.
    ("allow_users = bob", "allow_users = alice\nallow_groups = staff", ["bob", "tool"]),
    ("allow_groups = ops", "allow_users = alice\nallow_executables = /usr/bin/aws", ["ops"]),
    ("allow_units = a.*", "allow_users = alice", ["unit"]),
    // A group that does not exist is a list, too.
    ("allow_groups = nobody-has-it", "", []),
    (
      "allow_users = *", "allow_users = alice",
      ["alice", "aws", "bob", "ops", "staff", "tool", "unit"]
    ),
    // Programs admit nobody: they narrow.
    ("allow_executables = /usr/bin/*", "allow_users = alice", ["aws"]),
    ("allow_executables = /usr/bin/*", "allow_users = bob", []),
    ("allow_executables = /*/*", "allow_executables = /opt/*", ["tool"]),
    ("allow_executables = /opt/*", "allow_executables = /*/*", ["tool"]),
    ("allow_executables = /opt/*", "allow_executables = /usr/bin/*", []),
    ("allow_users = bob\nallow_executables = /opt/*", "allow_executables = /usr/*", ["tool"]),
  ])
  func itsOwnListsOrAllOfItsSources(_ lines: String, _ source: String, _ names: [String]) throws {
    expect(admitted(try rule(lines, source: source)), equals: names)
  }

  @Test(arguments: [
    ("", "", ["alice", "aws"]), ("allow_executables = /usr/bin/*", "", ["aws"]),
    ("allow_executables = /usr/bin/*", "allow_executables = /usr/bin/aws", ["aws"]),
    ("allow_executables = /usr/bin/*", "allow_executables = /opt/*", []),
    ("allow_users = bob", "", ["bob", "tool"]),
    ("allow_users = bob", "allow_groups = ops", ["ops"]),
  ])
  func twoStepsAreTheSameTwice(_ middle: String, _ top: String, _ names: [String]) throws {
    expect(admitted(try rule(middle, source: "allow_users = alice", top: top)), equals: names)
  }

  @Test(arguments: ["", "allow_users = carol"])
  func whoActsForOthersIsNotInherited(_ lines: String) throws {
    let bob = try #require(Self.callers["bob"])
    let source = "impersonate = bob\nallow_users = alice"
    expect(!(try rule(lines, source: source).allowsImpersonation(by: bob)))
    let own = try rule("impersonate = bob\n\(lines)", source: "allow_users = alice")
    expect(own.allowsImpersonation(by: bob))
    expect(own.impersonators, equals: ["bob"])
  }

  @Test func aRuleThatIsInheritedNeedsWhatItsSourceNeeds() throws {
    let digest = String(repeating: "a", count: 64)
    let inherited = try rule(
      "allow_executables = /bin/y sha256:\(digest)",
      source:
        "allow_units = a.service\nallow_groups = staff\nallow_executables = /bin/x sha256:\(digest)"
    )
    expect(inherited.needsUnit && inherited.needsGroups && inherited.needsExecutable)
    expect(inherited.digestPaths, equals: ["/bin/x", "/bin/y"].map(GlobPattern.init))
    expect(!inherited.isOpen)
    expect(try rule("", source: "").isOpen)
  }
}
