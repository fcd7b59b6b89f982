import CredCore
import Testing

/// Who may use a profile (field-notes 16).
@Suite struct AccessRuleTests {
  private func rule(
    users: [String] = [], groups: [String] = [], units: [String] = []
  ) -> AccessRule {
    var profile = ProfileSettings(name: "work", identityPoolID: Samples.poolText)
    profile.allowUsers = users
    profile.allowGroups = groups
    profile.allowUnits = units
    return AccessRule(profile) { ["developers": 500, "wheel": 10][$0] }
  }

  @Test func withoutAListEveryoneMay() {
    #expect(rule().isOpen)
    #expect(rule().allows(Caller(uid: 65_534)))
  }

  @Test func aListAdmitsWhoStandsOnIt() {
    let rule = rule(users: ["alice", "1002"])
    #expect(rule.allows(Caller(uid: 1001, userName: "alice")))
    #expect(rule.allows(Caller(uid: 1002)))
    #expect(!rule.allows(Caller(uid: 1003, userName: "bob")))
    #expect(!rule.allows(Caller(uid: 1003)))
  }

  @Test func rootIsNoException() {
    #expect(!rule(users: ["alice"]).allows(Caller(uid: 0, groups: [0], userName: "root")))
  }

  @Test func aNameIsTakenByTheLetter() {
    let rule = rule(users: ["alice", "jos\u{E9}"])
    #expect(!rule.allows(Caller(uid: 1, userName: "Alice")))
    #expect(!rule.allows(Caller(uid: 1, userName: "alice ")))
    #expect(!rule.allows(Caller(uid: 1, userName: "")))
    // The same to the eye, another user to the host.
    #expect(!rule.allows(Caller(uid: 1, userName: "jose\u{301}")))
    #expect(rule.allows(Caller(uid: 1, userName: "jos\u{E9}")))
  }

  @Test func digitsAreAUidAndNeverAName() {
    #expect(!rule(users: ["1002"]).allows(Caller(uid: 7, userName: "1002")))
    #expect(!rule(users: ["1002"]).needsUserName)
  }

  @Test(arguments: ["+0", "-0"])
  func aSignIsNoDigit(_ entry: String) {
    #expect(!rule(users: [entry]).allows(Caller(uid: 0)))
    #expect(rule(users: [entry]).allows(Caller(uid: 5, userName: entry)))
    #expect(!rule(groups: [entry]).allows(Caller(uid: 5, groups: [0])))
  }

  @Test func groupsAdmitTheirMembers() {
    let rule = rule(groups: ["developers", "42"])
    #expect(rule.allows(Caller(uid: 1, groups: [100, 500])))
    #expect(rule.allows(Caller(uid: 1, groups: [42])))
    #expect(!rule.allows(Caller(uid: 1, groups: [100])))
    #expect(!rule.allows(Caller(uid: 500)))
  }

  @Test func aGroupThatDoesNotExistAdmitsNobody() {
    let rule = rule(groups: ["gone"])
    #expect(!rule.isOpen)
    #expect(!rule.allows(Caller(uid: 0, groups: [0, 10, 500])))
  }

  @Test func unitsAdmitTheirProcesses() {
    let rule = rule(units: ["billing.service", "job-*.service"])
    #expect(rule.needsUnit)
    #expect(rule.allows(Caller(uid: 1, unit: "billing.service")))
    #expect(rule.allows(Caller(uid: 1, unit: "job-7.service")))
    #expect(!rule.allows(Caller(uid: 1, unit: "xbilling.service")))
    #expect(!rule.allows(Caller(uid: 1, unit: "job-7.scope")))
    #expect(!rule.allows(Caller(uid: 1, unit: nil)))
  }

  /// Users name the units of their own manager as they like.
  @Test(arguments: ["*", "*.service", "billing.service", "?*", "[!x]*", "user@1.service?billing*"])
  func unitsOfUsersDoNotPassForTheSystems(_ pattern: String) {
    let rule = rule(units: [pattern])
    #expect(!rule.allows(Caller(uid: 1, unit: "user@1.service/billing.service")))
  }

  @Test func unitsOfUsersAreNamedWithTheirManager() {
    let rule = rule(units: ["user@1.service/app-*.service", "user@?.service/x[a-z].scope"])
    #expect(rule.allows(Caller(uid: 1, unit: "user@1.service/app-7.service")))
    #expect(rule.allows(Caller(uid: 1, unit: "user@2.service/xb.scope")))
    #expect(!rule.allows(Caller(uid: 1, unit: "user@2.service/app-7.service")))
    #expect(!rule.allows(Caller(uid: 1, unit: "app-7.service")))
  }

  @Test func oneListIsEnough() {
    let rule = rule(users: ["alice"], groups: ["wheel"], units: ["a.service"])
    #expect(rule.allows(Caller(uid: 1, userName: "alice")))
    #expect(rule.allows(Caller(uid: 1, groups: [10])))
    #expect(rule.allows(Caller(uid: 1, unit: "a.service")))
    #expect(!rule.allows(Caller(uid: 1, groups: [11], userName: "bob", unit: "b.service")))
  }
}
