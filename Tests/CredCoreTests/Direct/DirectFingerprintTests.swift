import TestSupport
import Testing

@testable import CredCore

/// What a stored session of `flow = direct` must have in common with the configuration.
struct DirectFingerprintTests {
  private static let usual = [
    "role_arn = arn:aws:iam::123456789012:role/staff", "region = eu-west-1",
    "role_session_name = {user}-{uid}", "duration = 2h", "policy_file = /p",
    "policy_arns = arn:aws:iam::aws:policy/One",
  ]
  private static let others = [
    "role_arn = arn:aws:iam::123456789012:role/other", "region = eu-central-1",
    "role_session_name = {claim.sub}", "duration = 3h", "policy_file = /other",
    "policy_arns = arn:aws:iam::aws:policy/Two",
  ]
  private static let backend =
    "[backend staff]\ntype = user-pool\nuser_pool_id = us-east-1_AbCdEf123\nclient_id = 2abc\n"

  private func profile(_ lines: [String], policy: String = narrowPolicy) throws -> Profile {
    let other = narrowPolicy.replacing("s3:", with: "sqs:")
    let reading = reading(
      "[profile p]\nbackend = staff\n\(lines.joined(separator: "\n"))\n" + Self.backend,
      policies: ["/p": policy, "/other": other])
    let configuration = try #require(reading.configuration, "\(reading.diagnostics)")
    return try Profile(try #require(configuration.profiles["p"]), in: configuration) { _ in nil }
  }

  @Test func eachKeyOfADirectRoleCounts() throws {
    let direct = ["flow = direct"]
    let usual = try profile(direct + Self.usual)
    expect(try profile(direct + Self.usual) == usual)
    for index in Self.usual.indices {
      var lines = Self.usual
      lines[index] = Self.others[index]
      let changed = try profile(direct + lines)
      expect(changed.identityFingerprint, equals: usual.identityFingerprint, "\(lines[index])")
      expect(changed.credentialsFingerprint != usual.credentialsFingerprint, "\(lines[index])")
    }
  }

  @Test func theBytesOfThePolicyCount() throws {
    let lines = ["flow = direct"] + Self.usual
    let other = try profile(lines, policy: narrowPolicy.replacing("Get", with: "Put"))
    expect(other.credentialsFingerprint != (try profile(lines)).credentialsFingerprint)
  }

  /// Its sessions have credentials, or none.
  @Test func aProfileForTokensAloneIsAnother() throws {
    expect(
      try profile(["vend_tokens = id"]).identityFingerprint
        != (try profile(["flow = direct"] + Self.usual)).identityFingerprint)
  }
}
