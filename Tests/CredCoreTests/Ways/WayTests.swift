import TestSupport
import Testing

@testable import CredCore

/// Which way a profile has.
struct WayTests {
  private static let backend =
    "[backend staff]\ntype = user-pool\nuser_pool_id = us-east-1_AbCdEf123\nclient_id = 2abc\n"
  private static let pool = "identity_pool_id = \(examplePool)"
  private static let role = "arn:aws:iam::123456789012:role/staff"

  private func way(_ lines: [String]) throws -> Way {
    let text =
      "[profile p]\n" + lines.map { $0 + "\n" }.joined() + "[profile work]\n\(Self.pool)\n"
      + Self.backend
    let configuration = try #require(reading(text).configuration, "\(reading(text).diagnostics)")
    let settings = try #require(configuration.profiles["p"])
    return try Profile(settings, in: configuration) { _ in nil }.way
  }

  private func name(_ way: Way) -> String {
    switch way {
    case .pool: "pool"
    case .role: "role"
    case .tokens: "tokens"
    case .derived: "derived"
    }
  }

  @Test(arguments: [
    ("pool", [pool, "backend = staff", "vend_tokens = id"]),
    ("pool", [pool, "flow = basic", "role_arn = \(role)"]),
    ("role", ["backend = staff", "region = eu-west-1", "role_arn = \(role)", "flow = direct"]),
    ("tokens", ["backend = staff", "vend_tokens = id access"]),
    ("derived", ["duration = 1h", "region = eu-west-1", "source_profile = work"]),
  ])
  func theKeysSayTheWayInAnyOrder(_ expected: String, _ lines: [String]) throws {
    expect(name(try way(lines)), equals: expected)
    expect(try way(lines.reversed()) == way(lines))
  }

  /// A key that several ways have belongs to the way of the profile.
  @Test func sharedKeysGoToTheWay() throws {
    let lines = ["role_arn = \(Self.role)", "duration = 1h", "region = eu-west-1"]
    guard case .role(let way) = try way(lines + ["flow = direct", "backend = staff"]),
      case .derived(let derived) = try self.way(lines + ["source_profile = work"])
    else {
      Issue.record("another way")
      return
    }
    expect(way.role.arn, equals: Self.role)
    expect(derived.derivation.roleARN, equals: Self.role)
    expect(way.role.sts, equals: derived.derivation.sts)
  }

  /// Sessions hold and renew what the profile gives.
  @Test func onlyTokensAloneAreNoCredentials() throws {
    expect(try Self.plan(way([Self.pool])).product, equals: .credentials)
    expect(
      try Self.plan(way(["backend = staff", "vend_tokens = id"])).product, equals: .tokens)
  }

  private static func plan(_ way: Way) -> SessionPlan {
    SessionPlan(backend: .none, way: way.kind.plan)
  }
}
