import CredCore
import TestSupport
import Testing

/// The users that may use a profile.
struct AccessRuleTests {
  private func rule(
    users: [String] = [], groups: [String] = [], units: [String] = [],
    executables: [String] = [], impersonate: [String] = []
  ) -> AccessRule {
    var profile = ProfileSettings(name: "work", way: .pool(PoolSettings(id: Samples.poolText)))
    profile.allowUsers = users
    profile.allowGroups = groups
    profile.allowUnits = units
    profile.allowExecutables = executables
    profile.impersonate = impersonate
    return AccessRule(profile) { ["developers": 500, "wheel": 10][$0] }
  }

  @Test func withoutAListEveryUserIsAdmitted() {
    expect(rule().isOpen)
    expect(rule().allows(Caller(uid: 65_534)))
  }

  @Test func aStarAdmitsEveryUser() {
    for rule in [rule(users: ["*"]), rule(users: ["*", "alice"], groups: ["wheel"])] {
      expect(rule.isOpen)
      expect(rule.allows(Caller(uid: 1003, userName: "bob")))
      expect(!rule.allows(Caller(uid: 65_534, isUnmapped: true)))
    }
    expect(!rule(users: ["*"], executables: ["/bin/a"]).isOpen)
  }

  /// Every container's users have the same uid then.
  @Test func anUnmappedUidIsAdmittedByItsNameAlone() {
    let stranger = Caller(
      uid: 65_534, groups: [500], userName: "nobody", unit: "a.service", isUnmapped: true)
    expect(!rule().allows(stranger))
    expect(!rule(groups: ["developers"], units: ["*.service"]).allows(stranger))
    expect(!rule(executables: ["/*"]).allows(stranger))
    expect(rule(users: ["nobody"]).allows(stranger))
    expect(rule(users: ["65534"]).allows(stranger))
  }

  @Test func aListAdmitsItsUsersAlone() {
    let rule = rule(users: ["alice", "1002"])
    expect(rule.allows(Caller(uid: 1001, userName: "alice")))
    expect(rule.allows(Caller(uid: 1002)))
    expect(!rule.allows(Caller(uid: 1003, userName: "bob")))
    expect(!rule.allows(Caller(uid: 1003)))
  }

  @Test func rootIsNoException() {
    expect(!rule(users: ["alice"]).allows(Caller(uid: 0, groups: [0], userName: "root")))
  }

  @Test func namesAreComparedByteForByte() {
    let rule = rule(users: ["alice", "jos\u{E9}"])
    expect(!rule.allows(Caller(uid: 1, userName: "Alice")))
    expect(!rule.allows(Caller(uid: 1, userName: "alice ")))
    expect(!rule.allows(Caller(uid: 1, userName: "")))
    // The same to the eye, another user to the host.
    expect(!rule.allows(Caller(uid: 1, userName: "jose\u{301}")))
    expect(rule.allows(Caller(uid: 1, userName: "jos\u{E9}")))
  }

  @Test func digitsAreAUidAndNeverAName() {
    expect(!rule(users: ["1002"]).allows(Caller(uid: 7, userName: "1002")))
  }

  @Test(arguments: ["+0", "-0"])
  func aUidWithASignIsAName(_ entry: String) {
    expect(!rule(users: [entry]).allows(Caller(uid: 0)))
    expect(rule(users: [entry]).allows(Caller(uid: 5, userName: entry)))
    expect(!rule(groups: [entry]).allows(Caller(uid: 5, groups: [0])))
  }

  @Test func groupsAdmitTheirMembers() {
    let rule = rule(groups: ["developers", "42"])
    expect(rule.allows(Caller(uid: 1, groups: [100, 500])))
    expect(rule.allows(Caller(uid: 1, groups: [42])))
    expect(!rule.allows(Caller(uid: 1, groups: [100])))
    expect(!rule.allows(Caller(uid: 500)))
  }

  @Test func aGroupThatDoesNotExistAdmitsNoCaller() {
    let rule = rule(groups: ["gone"])
    expect(!rule.isOpen)
    expect(!rule.allows(Caller(uid: 0, groups: [0, 10, 500])))
  }

  @Test func aUnitAdmitsItsProcesses() {
    let rule = rule(units: ["billing.service", "job-*.service"])
    expect(rule.needsUnit)
    expect(rule.allows(Caller(uid: 1, unit: "billing.service")))
    expect(rule.allows(Caller(uid: 1, unit: "job-7.service")))
    expect(!rule.allows(Caller(uid: 1, unit: "xbilling.service")))
    expect(!rule.allows(Caller(uid: 1, unit: "job-7.scope")))
    expect(!rule.allows(Caller(uid: 1, unit: nil)))
  }

  /// Users name the units of their own manager as they like.
  @Test(arguments: ["*", "*.service", "billing.service", "?*", "[!x]*", "user@1.service?billing*"])
  func aUsersUnitIsNoSystemUnit(_ pattern: String) {
    let rule = rule(units: [pattern])
    expect(!rule.allows(Caller(uid: 1, unit: "user@1.service/billing.service")))
  }

  @Test func aUsersUnitIsNamedWithItsManager() {
    let rule = rule(units: ["user@1.service/app-*.service", "user@?.service/x[a-z].scope"])
    expect(rule.allows(Caller(uid: 1, unit: "user@1.service/app-7.service")))
    expect(rule.allows(Caller(uid: 1, unit: "user@2.service/xb.scope")))
    expect(!rule.allows(Caller(uid: 1, unit: "user@2.service/app-7.service")))
    expect(!rule.allows(Caller(uid: 1, unit: "app-7.service")))
  }

  @Test func oneOfSeveralListsSuffices() {
    let rule = rule(users: ["alice"], groups: ["wheel"], units: ["a.service"])
    expect(rule.allows(Caller(uid: 1, userName: "alice")))
    expect(rule.allows(Caller(uid: 1, groups: [10])))
    expect(rule.allows(Caller(uid: 1, unit: "a.service")))
    expect(!rule.allows(Caller(uid: 1, groups: [11], userName: "bob", unit: "b.service")))
  }

  private static let digest = String(repeating: "0f", count: 32)

  @Test func programsNarrowTheLists() {
    let rule = rule(users: ["alice"], executables: ["/opt/*/agent"])
    let agent = Caller.Executable(path: "/opt/a/agent")
    expect(rule.allows(Caller(uid: 1, userName: "alice", executable: agent)))
    expect(!rule.allows(Caller(uid: 1, userName: "bob", executable: agent)))
    expect(!rule.allows(Caller(uid: 1, userName: "alice")))
    for path in ["/opt/a/b/agent", "/opt/a/agent (deleted)", "/tmp/opt/a/agent", ""] {
      expect(
        !rule.allows(Caller(uid: 1, userName: "alice", executable: .init(path: path))), "\(path)")
    }
  }

  @Test func programsAloneAdmitEveryUserThatRunsThem() {
    let rule = rule(executables: ["/usr/bin/agent"])
    expect(!rule.isOpen)
    expect(rule.allows(Caller(uid: 7, executable: .init(path: "/usr/bin/agent"))))
    expect(!rule.allows(Caller(uid: 0, executable: .init(path: "/usr/bin/agents"))))
    expect(!rule.allows(Caller(uid: 0)))
  }

  @Test func aDigestBelongsToThePathBeforeIt() {
    let rule = rule(executables: [
      "/bin/a", "sha256:\(Self.digest.uppercased())", "sha256:" + String(repeating: "1", count: 64),
      "/bin/b",
    ])
    func allows(_ path: String, _ digest: String?) -> Bool {
      rule.allows(Caller(uid: 1, executable: .init(path: path, sha256: digest)))
    }
    expect(rule.digestPaths, equals: [GlobPattern("/bin/a")])
    expect(allows("/bin/a", Self.digest))
    expect(allows("/bin/a", String(repeating: "1", count: 64)))
    expect(!allows("/bin/a", String(repeating: "2", count: 64)))
    expect(!allows("/bin/a", nil))
    expect(allows("/bin/b", nil))
  }

  @Test func onlyListedUsersImpersonate() {
    let alice = Caller(uid: 7, userName: "alice")
    expect(!rule().allows(Caller(uid: 0, userName: "root"), for: alice))
    expect(!rule(users: ["bob"]).allows(Caller(uid: 8, userName: "bob"), for: alice))
    let rule = rule(users: ["alice"], impersonate: ["root", "900"])
    expect(rule.allows(Caller(uid: 0, userName: "root"), for: alice))
    expect(rule.allows(Caller(uid: 900), for: alice))
    // Only for users that may use the profile, and not in the caller's own name.
    expect(!rule.allows(Caller(uid: 900), for: Caller(uid: 8, userName: "bob")))
    expect(!rule.allows(Caller(uid: 0, userName: "root")))
    expect(!rule.allows(alice, for: Caller(uid: 7, userName: "alice")))
  }

  @Test func impersonationNeedsAnAllowedProgramToo() {
    let rule = rule(executables: ["/bin/a"], impersonate: ["0"])
    let bob = Caller(uid: 8, userName: "bob")
    expect(rule.allows(Caller(uid: 0, executable: .init(path: "/bin/a")), for: bob))
    expect(!rule.allows(Caller(uid: 0, executable: .init(path: "/bin/b")), for: bob))
    let stranger = Caller(uid: 65_534, isUnmapped: true)
    expect(!rule.allows(Caller(uid: 0, executable: .init(path: "/bin/a")), for: stranger))
  }
}
