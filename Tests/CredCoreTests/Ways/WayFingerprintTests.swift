import Foundation
import TestSupport
import Testing

@testable import CredCore

/// The fingerprints of profiles of each way. Sessions that version 0.2.0 stored have them.
struct WayFingerprintTests {
  private static let role = "arn:aws:iam::123456789012:role/credd"
  private static let backends = """
    [backend staff]
    type = user-pool
    user_pool_id = us-east-1_AbCdEf123
    client_id = 2abc
    [backend okta]
    type = oidc
    issuer = https://login.example.com/
    client_id = client-1
    redirect_uri = http://127.0.0.1/
    [backend corp]
    type = http
    url = https://auth.example.com/token
    login_url = https://auth.example.com/login

    """
  private static let work = "[profile work]\nidentity_pool_id = \(examplePool)\n"
  private static let direct = "flow = direct\nregion = eu-west-1\nrole_arn = \(role)\n"
  private static let directOfAll =
    direct + "backend = okta\nrole_session_name = {uid}-{claim.sub}\nduration = 2h\n"
    + "policy_file = /p\npolicy_arns = arn:aws:iam::aws:policy/One\n"
  private static let narrow =
    "source_profile = work\npolicy_file = /p\nduration = 30m\nsession_description = nightly\n"
  private static let hop =
    "source_profile = work\nrole_arn = \(role)\nrole_session_name = {user}-{uid}\nduration = 30m\n"
    + "policy_arns = arn:aws:iam::aws:policy/One arn:aws:iam::aws:policy/Two\npolicy_file = /p\n"
    + "external_id = abc\nsession_tags.uid = {uid}\nsession_tags.team = ops\n"
    + "transitive_tags = team\nsource_identity = {user}\nregion = eu-west-1\n"
    + "sts_endpoint = https://127.0.0.1:1\n"

  /// The keys of [profile p], and the sections of its sources. The values were computed outside this
  /// code.
  private static let profiles: [String: (keys: String, sources: String)] = {
    let pool = "identity_pool_id = \(examplePool)\n"
    return [
      "pool-of-users": (pool + "backend = staff\n", ""),
      "pool-of-users-basic": (
        pool + "backend = staff\nguest = yes\nflow = basic\nrole_arn = \(role)\n", ""
      ),
      "pool-oidc": (pool + "backend = okta\n", ""),
      "pool-linked": (
        pool + "backend = corp\ndeveloper_provider = login.example.app\nlink_backend = okta\n"
          + "user_identifier = {uid}@{host}\nrole_arn = \(role)\n", ""
      ),
      "tokens": ("backend = staff\nvend_tokens = id\n", ""),
      "tokens-oidc": ("backend = okta\nvend_tokens = access account\n", ""),
      "role": (direct + "backend = staff\n", ""),
      "role-all": (directOfAll, ""),
      "role-file": (direct + "web_identity_token_file = /run/token\n", ""),
      "derived-narrow": (narrow, work),
      "derived-twice": (
        "source_profile = narrow\nduration = 15m\n", work + "[profile narrow]\n" + narrow
      ),
      "derived-role": (hop, work),
      "derived-of-role": (
        "source_profile = staff\nrole_arn = \(role)\n",
        "[profile staff]\n"
          + directOfAll.replacing("policy_file = /p\n", with: "")
          .replacing("policy_arns = arn:aws:iam::aws:policy/One\n", with: "")
      ),
    ]
  }()

  @Test func fingerprintsAreThoseOf0_2() throws {
    let file = URL(filePath: #filePath).appending(path: "../../../Data/Golden/fingerprints-2")
    let lines = try String(contentsOf: file.standardizedFileURL, encoding: .utf8)
      .split(separator: "\n").filter { !$0.hasPrefix("#") }
    expect(lines.count, equals: Self.profiles.count)
    for line in lines {
      let words = line.split(separator: " ").map(String.init)
      let (keys, sources) = try #require(Self.profiles[words[0]])
      let reading = reading(
        "[profile p]\n\(keys)\(sources)\(Self.backends)", policies: ["/p": narrowPolicy])
      let configuration = try #require(reading.configuration, "\(line): \(reading.diagnostics)")
      let settings = try #require(configuration.profiles["p"])
      let profile = try Profile(settings, in: configuration) { _ in nil }
      expect(profile.identityFingerprint.value, equals: UInt64(words[1], radix: 16), "\(line)")
      expect(profile.credentialsFingerprint.value, equals: UInt64(words[2], radix: 16), "\(line)")
    }
  }
}
