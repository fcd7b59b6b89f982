import TestSupport
import Testing

@testable import CredCore

/// Regions that are misspelt, in each key that names one.
struct RegionConfigurationTests {
  private static let id = "11111111-2222-3333-4444-555555555555"
  private static let unknown =
    "'us-esat-1' is no region that AWS is known to have; did you mean 'us-east-1'?"

  @Test func `a misspelt region of an identity pool`() {
    let profile = "[profile p]\nidentity_pool_id = us-esat-1:\(Self.id)\n"
    expect(
      problems(profile), equals: ["credd.conf:2: warning: identity_pool_id: \(Self.unknown)"])
    expect(reading(profile).configuration != nil)
    // An emulator's region is its own affair.
    expect(problems(profile + "cognito_endpoint = http://127.0.0.1:4599\n"), equals: [])
  }

  @Test func `a region that is near none may be new`() {
    expect(
      problems("[profile p]\nidentity_pool_id = mars-polar-9:\(Self.id)\n"),
      equals: [
        "credd.conf:2: warning: identity_pool_id: 'mars-polar-9' is no region that AWS is known to have: "
          + "check it, unless it is new"
      ])
  }

  @Test(arguments: [
    ("user_pool_id = us-esat-1_Abc", 3, "user_pool_id", "user_pool_endpoint = http://127.0.0.1:1"),
    (
      "user_pool_id = us-east-2_Abc\nreplica_region = eu-west-9", 4, "replica_region",
      "replica_endpoint = http://127.0.0.1:1"
    ),
  ])
  func `a misspelt region of a user pool`(lines: String, line: Int, key: String, endpoint: String) {
    let rest =
      "client_id = abc\n[profile p]\nidentity_pool_id = us-east-1:\(Self.id)\nbackend = b\n"
    let told = problems("[backend b]\ntype = user-pool\n\(lines)\n\(rest)")
    expect(told.count, equals: 1)
    expect(
      told.first?.hasPrefix("credd.conf:\(line): warning: \(key): '") ?? false
        && told.first?.contains("is no region that AWS is known to have; did you mean '") ?? false,
      "\(told)")
    expect(problems("[backend b]\ntype = user-pool\n\(lines)\n\(endpoint)\n\(rest)"), equals: [])
  }

  @Test func `a misspelt region of STS`() {
    let profile = """
      [profile p]
      flow = direct
      region = eu-wets-1
      role_arn = arn:aws:iam::123456789012:role/r
      web_identity_token_file = /t

      """
    let error =
      "credd.conf:3: region: 'eu-wets-1' is no region of AWS that credd knows of; did you mean"
    expect(problems(profile).map { $0.hasPrefix(error) }, equals: [true])
    let unknown = profile.replacing("eu-wets-1", with: "eu-west-9")
    let warning =
      "credd.conf:3: warning: region: 'eu-west-9' is no region that AWS is known to have; did you mean"
    expect(problems(unknown).map { $0.hasPrefix(warning) }, equals: [true])
    expect(problems(unknown + "sts_endpoint = http://127.0.0.1:1\n"), equals: [])
  }
}
