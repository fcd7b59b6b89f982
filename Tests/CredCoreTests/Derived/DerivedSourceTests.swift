import TestSupport
import Testing

@testable import CredCore

/// A derived profile and the profiles above it.
struct DerivedSourceTests {
  private static let role = "role_arn = arn:aws:iam::123456789012:role/reports"

  @Test func aSourceThatIsNotThereIsNamedWithTheNearest() {
    expect(
      problems(inText: derivedText("duration = 1h").replacing("= work", with: "= wrok")),
      equals: ["2: source_profile: there is no [profile wrok]; did you mean 'work'?"])
    // Not by itself; and whatever is derived from it has nothing to mend.
    let text =
      "[profile a]\nsource_profile = aa\nduration = 1h\n"
      + "[profile b]\nsource_profile = a\nduration = 1h\n"
    expect(problems(inText: text), equals: ["2: source_profile: there is no [profile aa]"])
  }

  private func chain(_ names: String...) -> String {
    zip(names, names.dropFirst()).map {
      "[profile \($0)]\nsource_profile = \($1)\nduration = 1h\n"
    }.joined()
  }

  private static let root =
    "[profile r]\nidentity_pool_id = \(examplePool)\nvend_credentials = no\n"

  @Test func twoInARowAndNoMore() {
    let inner = "vend_credentials = no\n"
    expect(problems(inText: chain("a", "b", "r") + inner + Self.root), equals: [])
    expect(
      problems(inText: chain("a", "b", "c", "r") + inner + Self.root).filter {
        !$0.contains("binds nobody")
      },
      equals: [
        "2: source_profile: 'a' ← 'b' ← 'c' ← 'r' has more than 2 derived profiles in a row; name a "
          + "source that is nearer to the identity"
      ])
  }

  @Test func aCircleIsOne() {
    let message = "is a circle; one of them needs another source"
    expect(
      problems(inText: chain("a", "a")), equals: ["2: source_profile: 'a' ← 'a' \(message)"])
    expect(
      problems(inText: chain("a", "b", "a")),
      equals: [
        "2: source_profile: 'a' ← 'b' ← 'a' \(message)",
        "5: source_profile: 'b' ← 'a' ← 'b' \(message)",
      ])
    // What leads into it has nothing to mend.
    expect(problems(inText: chain("c", "a", "b", "a")).count, equals: 2)
  }

  /// However many there are, each is looked at a few times.
  @Test func aLongRowTakesNoLongTime() {
    let names = (0..<2000).map { "p\($0)" }
    let text =
      zip(names, names.dropFirst()).map {
        "[profile \($0)]\nsource_profile = \($1)\nduration = 1h\n"
      }.joined() + "[profile p1999]\nsource_profile = p0\nduration = 1h\n"
    expect(reading(text, policies: [:]).configuration == nil)
  }

  @Test func aSourceMustGiveCredentials() {
    let text = """
      [profile narrow]
      source_profile = staff
      duration = 1h
      [profile staff]
      backend = staff
      vend_tokens = id
      [backend staff]
      type = user-pool
      user_pool_id = us-east-1_AbCdEf123
      client_id = 2abc
      """
    expect(
      problems(inText: text),
      equals: [
        "2: source_profile: [profile staff] gives tokens alone, and no credentials; name a profile with "
          + "an 'identity_pool_id'"
      ])
    // A pool's id with a mistake is the only mistake.
    expect(
      problems(inText: text.replacing("= staff\nv", with: "= staff\nidentity_pool_id = x\nv"))
        .count, equals: 1)
  }

  @Test(arguments: [
    ("policy_file = /b", "policy_file"),
    ("policy_arns = arn:aws:iam::aws:policy/ReadOnlyAccess", "policy_arns"),
  ])
  func aRoleLeavesNoPolicyBehind(_ line: String, _ key: String) {
    func message(_ number: Int, _ profile: String) -> String {
      "\(number): role_arn: the role would leave '\(key)' of [profile \(profile)] behind; assume it from "
        + "a profile without a policy"
    }
    // Of the basic flow, next above or anywhere above.
    let basic = "flow = basic\n\(Self.role)\n\(line)"
    expect(problems(inDerived: Self.role, source: basic), equals: [message(3, "work")])
    let between =
      "[profile top]\nsource_profile = narrow\n\(Self.role)\n"
      + derivedText("duration = 1h\nvend_credentials = no", source: basic)
    expect(problems(inText: between), equals: [message(3, "work")])
    // A scope keeps the policy.
    expect(problems(inDerived: "policy_file = /p", source: basic), equals: [])
  }

  @Test func aRoleLeavesNoPolicyOfADerivedSourceBehind() {
    func top(_ lines: String) -> String {
      "[profile top]\nsource_profile = narrow\n\(Self.role)\n"
        + derivedText("vend_credentials = no\n\(lines)")
    }
    let message =
      "3: role_arn: the role would leave 'policy_file' of [profile narrow] behind; assume it from a "
      + "profile without a policy"
    expect(problems(inText: top("policy_file = /p")), equals: [message])
    expect(problems(inText: top("\(Self.role)\npolicy_file = /p")), equals: [message])
    expect(problems(inText: top("\(Self.role)")), equals: [])
    expect(problems(inText: top("duration = 1h")), equals: [])
  }

  @Test(arguments: [
    ("duration = 1h\nregion = cn-north-1", "4: region: 'cn-north-1' is of partition 'aws-cn'"),
    (
      "role_arn = arn:aws-cn:iam::123456789012:role/x",
      "3: role_arn: 'arn:aws-cn:iam::123456789012:role/x' is of partition 'aws-cn'"
    ),
    (
      "\(role)\npolicy_arns = arn:aws-us-gov:iam::aws:policy/X",
      "4: policy_arns: 'arn:aws-us-gov:iam::aws:policy/X' is of partition 'aws-us-gov'"
    ),
  ])
  func credentialsHoldInTheirPartitionAlone(_ lines: String, _ start: String) {
    let end = ", and the source's region 'us-east-1' of 'aws'"
    expect(problems(inDerived: lines), equals: [start + end])
    // Also two steps below the pool.
    let below =
      "[profile top]\nsource_profile = narrow\n\(lines)\n"
      + derivedText("duration = 1h\nvend_credentials = no")
    expect(problems(inText: below), equals: [start + end])
  }

  @Test(arguments: [
    "https://sts.amazonaws.com", "https://STS.amazonaws.com./", "https://sts.amazonaws.com:443",
  ])
  func theGlobalHostNarrowsNothing(_ url: String) {
    let message =
      "the global STS, which narrows no credentials; name a region's here, such as "
      + "https://sts.eu-west-1.amazonaws.com"
    expect(
      problems(inDerived: "duration = 1h\nsts_endpoint = \(url)"),
      equals: ["4: sts_endpoint: \(message)"])
    let inherited =
      "2: source_profile: 'sts_endpoint' of [profile work] names \(message)"
    expect(
      problems(inDerived: "duration = 1h", source: "sts_endpoint = \(url)"), equals: [inherited])
    // With one key of its own it goes another way: then the source's is of no use.
    expect(
      problems(inDerived: "duration = 1h\nfips = no", source: "sts_endpoint = \(url)"),
      equals: ["8: warning: sts_endpoint: has no effect in the enhanced flow"])
  }

  /// In the enhanced flow only derived profiles call STS.
  @Test func anEndpointOfTheEnhancedFlowHasAnEffectForDerivedProfiles() throws {
    let source = "sts_endpoint = https://sts.internal.example"
    expect(problems(inDerived: "duration = 1h", source: source), equals: [])
    let text = derivedText("duration = 1h\nregion = eu-west-1", source: source + "\nca_file = /ca")
    let configuration = try #require(reading(text, policies: [:]).configuration)
    func derivation() throws -> Derivation? {
      let settings = try #require(configuration.profiles["narrow"])
      return try Profile(settings, in: configuration) { _ in nil }.derivation
    }
    let inherited = try #require(try derivation())
    expect(inherited.sts.host.url, equals: "https://sts.internal.example/")
    expect(inherited.sts.host.region, equals: "eu-west-1")
    expect(inherited.caFile, equals: "/ca")
  }

  @Test(arguments: [
    ("", "https://sts-fips.us-east-1.amazonaws.com/"),
    ("fips = no", "https://sts.us-east-1.amazonaws.com/"),
    ("allow_plain_http = no", "https://sts.us-east-1.amazonaws.com/"),
    ("region = eu-west-1", "https://sts-fips.eu-west-1.amazonaws.com/"),
    ("dualstack = yes", "https://sts.us-east-1.api.aws/"),
  ])
  func oneKeyOfItsOwnIsItsOwnWayToSTS(_ line: String, _ url: String) throws {
    let text = derivedText("duration = 1h\n\(line)", source: "fips = yes\nca_file = /ca")
    let configuration = try #require(reading(text, policies: [:]).configuration)
    let settings = try #require(configuration.profiles["narrow"])
    let derivation = try Profile(settings, in: configuration) { _ in nil }.derivation
    expect(derivation?.sts.host.url, equals: url)
    expect(derivation?.caFile, equals: line.isEmpty || line.hasPrefix("region") ? "/ca" : nil)
  }

  // MARK: Policies

  @Test func aPolicyIsReadOnceAndItsFaultsAreNamed() throws {
    let text = derivedText("policy_file = /p")
    let configuration = try #require(
      reading(text, policies: ["/p": narrowPolicy]).configuration)
    expect(configuration.policies.keys.sorted(), equals: ["/p"])
    expect(
      problems(inDerived: "policy_file = /none"),
      equals: ["3: policy_file: '/none' cannot be read: No such file or directory"])
    expect(
      problems(inDerived: "policy_file = /bad", policies: ["/bad": "{"]).first?.hasPrefix(
        "3: policy_file: '/bad' is not JSON: at byte 1") ?? false)
    // Each profile that names it says so.
    let both =
      "[profile other]\nsource_profile = work\npolicy_file = /bad\n"
      + derivedText("policy_file = /bad")
    expect(problems(inText: both, policies: ["/bad": "[]"]).count, equals: 2)
  }

  @Test func aPolicyWithAWayOutIsWarnedOf() {
    let wide = narrowPolicy.replacing("s3:Get*", with: "sts:*")
    expect(
      problems(inDerived: "policy_file = /wide", policies: ["/wide": wide]),
      equals: [
        "3: warning: policy_file: '/wide': Statement allows sts:AssumeRole: by another role a program "
          + "leaves this policy behind"
      ])
  }

  /// The basic flow's file is read at each exchange, as it was before there were derived profiles.
  @Test func theBasicFlowsPolicyIsNotReadHere() {
    expect(
      CredCoreTests.problems(inProfile: "flow = basic\n\(Self.role)\npolicy_file = /none"),
      equals: [])
  }

  @Test(arguments: [("1m", true), ("2m59s", true), ("3m", false), ("1h", false)])
  func aSourceLivesLongEnoughForWhatIsDerivedFromIt(_ duration: String, _ isError: Bool) {
    let last = "[profile last]\nsource_profile = narrow\nduration = 30m\n"
    let found = problems(inText: last + derivedText("policy_file = /p\nduration = \(duration)"))
      .filter { !$0.contains("warning: ") }
    expect(
      found,
      equals: isError
        ? [
          "3: duration: [profile narrow] lives for \(duration), and what is derived from it would live for "
            + "seconds: set 3m or more there"
        ] : [])
  }
}
