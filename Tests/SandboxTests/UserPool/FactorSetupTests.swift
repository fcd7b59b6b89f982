import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// The setup of second factors: within a sign-in, and by a user who is signed in.
struct FactorSetupTests {
  static func code(_ secret: String, _ pool: TestPool, step: Int = 0) throws -> String {
    let bytes = try #require(Base32.bytes(secret))
    return TimeBasedCode.code(
      secret: bytes, step: TimeBasedCode.step(at: pool.test.now) + step)
  }

  static func demanding() throws -> TestPool {
    var pool = try TestPool(["MfaConfiguration": "ON", "EnabledMfas": ["SOFTWARE_TOKEN_MFA"]])
    try pool.set("alice", ["Attributes": ["email_verified": "true"]])
    return pool
  }

  @Test func anAppIsSetUpWithinASignIn() throws {
    var pool = try Self.demanding()
    let reply = pool.enter()
    expect(reply.challenge, equals: "MFA_SETUP")
    expect(reply.parameter("MFAS_CAN_SETUP"), equals: #"["SOFTWARE_TOKEN_MFA"]"#)
    let first = try #require(reply.session)
    let made = pool.send("AssociateSoftwareToken", ["Session": .string(first)])
    let secret = try #require(made.json?["SecretCode"]?.text)
    let second = try #require(made.session)
    expect(
      pool.send("AssociateSoftwareToken", ["Session": .string(first)]).cognitoError,
      equals: ChallengeTests.used)
    let answer = ["USERNAME": "alice"]
    expect(pool.respond("MFA_SETUP", answer, session: second).status, equals: 400)
    var verify: [String: JSON] = ["Session": .string(second), "UserCode": "000000"]
    if try Self.code(secret, pool) == "000000" { verify["UserCode"] = "000001" }
    expect(
      pool.send("VerifySoftwareToken", verify).cognitoError,
      equals: "EnableSoftwareTokenMFAException: Code mismatch and fail enable Software Token MFA")
    verify["UserCode"] = .string(try Self.code(secret, pool))
    verify["FriendlyDeviceName"] = "phone"
    let verified = pool.send("VerifySoftwareToken", verify)
    expect(verified.json?["Status"]?.text, equals: "SUCCESS")
    expect(
      pool.respond("MFA_SETUP", answer, session: second).cognitoError, equals: ChallengeTests.used)
    _ = try Tokens(pool.respond("MFA_SETUP", answer, session: verified.session))
    let next = pool.enter()
    expect(next.challenge, equals: "SOFTWARE_TOKEN_MFA")
    expect(next.parameter("FRIENDLY_DEVICE_NAME"), equals: "phone")
  }

  @Test func aNewSecretVoidsTheOneBefore() throws {
    var pool = try TestPool()
    let access = try pool.tokens().access
    let first = pool.call("AssociateSoftwareToken", token: access).json?["SecretCode"]?.text ?? ""
    let second = pool.call("AssociateSoftwareToken", token: access).json?["SecretCode"]?.text ?? ""
    expect(first != second && first.count >= 16)
    let old = try Self.code(first, pool)
    expect(
      pool.call("VerifySoftwareToken", token: access, ["UserCode": .string(old)]).cognitoError,
      equals: "EnableSoftwareTokenMFAException: Code mismatch and fail enable Software Token MFA")
    let new = try Self.code(second, pool)
    expect(
      pool.call("VerifySoftwareToken", token: access, ["UserCode": .string(new)]).status,
      equals: 200)
    expect(
      pool.call("VerifySoftwareToken", token: access, ["UserCode": .string(new)]).cognitoError
        .hasPrefix("SoftwareTokenMFANotFoundException"))
    let both: [String: JSON] = [
      "UserCode": .string(new), "Session": .string(String(repeating: "s", count: 20)),
    ]
    expect(
      pool.call("VerifySoftwareToken", token: access, both).cognitoError
        .hasPrefix("InvalidParameterException"))
  }

  @Test func preferencesAreThoseOfReadyFactors() throws {
    var pool = try TestPool()
    let access = try pool.tokens().access
    let on: JSON = ["Enabled": true, "PreferredMfa": true]
    for name in ["SMSMfaSettings", "SoftwareTokenMfaSettings"] {
      expect(
        pool.call("SetUserMFAPreference", token: access, [name: on]).cognitoError
          .hasPrefix("InvalidParameterException"))
    }
    expect(
      pool.call("SetUserMFAPreference", token: access, ["EmailMfaSettings": on]).status, equals: 200
    )
    let user = pool.call("GetUser", token: access).json
    expect(user?["PreferredMfaSetting"]?.text, equals: "EMAIL_OTP")
    expect(user?["UserMFASettingList"], equals: ["EMAIL_OTP"])
    expect(pool.enter().challenge, equals: "EMAIL_OTP")
    let factors = pool.call("GetUserAuthFactors", token: access).json
    expect(factors?["ConfiguredUserAuthFactors"], equals: ["PASSWORD", "EMAIL_OTP"])
    let off: JSON = ["Enabled": false]
    expect(
      pool.call("SetUserMFAPreference", token: access, ["EmailMfaSettings": off]).status,
      equals: 200)
    expect(pool.call("GetUser", token: access).json?["PreferredMfaSetting"] == nil)
    expect(try pool.tokens().id.isEmpty == false)
  }

  @Test func onlyOneFactorIsPreferred() throws {
    var pool = try ChallengeTests.withFactors([])
    let access = try pool.tokens().access
    let on: JSON = ["Enabled": true, "PreferredMfa": true]
    let reply = pool.call(
      "SetUserMFAPreference", token: access, ["EmailMfaSettings": on, "SMSMfaSettings": on])
    expect(reply.cognitoError.hasPrefix("InvalidParameterException"))
    expect(pool.call("GetUser", token: access).json?["UserMFASettingList"] == nil)
  }

  @Test func anAddressIsSetUpWithinASignIn() throws {
    var pool = try TestPool([
      "MfaConfiguration": "ON", "RequiredAttributes": [], "AutoVerifiedAttributes": [],
    ])
    try pool.set("eve", ["Password": "Sandbox-1", "Status": "CONFIRMED"])
    let reply = pool.enter("eve")
    expect(reply.parameter("MFAS_CAN_SETUP"), equals: #"["SOFTWARE_TOKEN_MFA","EMAIL_OTP"]"#)
    let answer = ["USERNAME": "eve", "EMAIL": "eve@example.com"]
    let next = pool.respond("MFA_SETUP", answer, session: reply.session)
    expect(next.challenge, equals: "EMAIL_OTP")
    let code = ["USERNAME": "eve", "EMAIL_OTP_CODE": try pool.code("eve")]
    let tokens = try Tokens(pool.respond("EMAIL_OTP", code, session: next.session))
    expect(try TokenIssuer.claims(in: tokens.id)["email_verified"] == true)
  }
}
