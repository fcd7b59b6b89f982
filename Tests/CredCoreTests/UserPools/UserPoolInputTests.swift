import TestSupport
import Testing

@testable import CredCore

/// What no pool takes is refused before it is sent, and named.
struct UserPoolInputTests {
  private func field(_ body: () throws(InvalidInput) -> Void) -> String? {
    do throws(InvalidInput) {
      try body()
      return nil
    } catch {
      expect(!error.description.contains("Kq7vXw2n"))
      return error.field
    }
  }

  @Test func passwordsAreLongOrShortAndNothingElse() throws {
    let client = try PoolSamples.client()
    let user = try PoolSamples.user(client)
    func refused(_ password: String) -> String? {
      field { () throws(InvalidInput) in
        _ = try client.initiateAuth(.password(Secret(password)), as: user)
      }
    }
    expect(refused(""), equals: "password")
    expect(refused(String(repeating: "é", count: 256)) == nil)
    expect(refused(String(repeating: "é", count: 257)), equals: "password")
    expect(refused(" a b ") == nil)
  }

  @Test(arguments: ["", " \n\t", String(repeating: "1", count: 2049)])
  func aCodeHasCharacters(code: String) throws {
    let client = try PoolSamples.client()
    let user = try PoolSamples.user(client)
    let found = field { () throws(InvalidInput) in
      _ = try client.confirmSignUp(user, code: Secret(code))
    }
    expect(found, equals: "code")
  }

  @Test(arguments: [
    "", "eu-west-1", "eu-west-1_", "_ab", "eu-west-1_xyz", "eu-west-1_ab/",
    "eu-west-1_" + String(repeating: "a", count: 46),
  ])
  func aDeviceKeyHasItsForm(key: String) throws {
    let client = try PoolSamples.client()
    let found = field { () throws(InvalidInput) in
      _ = try client.forgetDevice(accessToken: PoolSamples.token, key: key)
    }
    expect(found, equals: "DeviceKey")
  }

  @Test func attributesHaveNamesAndLimits() throws {
    let client = try PoolSamples.client()
    func refused(_ name: String, _ value: String) -> Bool {
      field { () throws(InvalidInput) in
        _ = try client.updateAttributes(
          accessToken: PoolSamples.token, [.init(name: name, value: Secret(value))])
      } != nil
    }
    expect(!refused("custom:" + String(repeating: "n", count: 32), ""))
    expect(refused(String(repeating: "n", count: 33), ""))
    expect(refused("", "v"))
    expect(refused("a\u{7}b", "v"))
    expect(!refused("a", String(repeating: "田", count: 2048)))
    expect(refused("a", String(repeating: "田", count: 2049)))
    expect(
      field { () throws(InvalidInput) in
        _ = try client.updateAttributes(accessToken: PoolSamples.token, [])
      }, equals: "attributes")
    expect(
      field { () throws(InvalidInput) in
        _ = try client.deleteAttributes(accessToken: PoolSamples.token, [])
      }, equals: "names")
  }

  @Test func namesClientsAndMetadataHaveLimits() throws {
    let client = try PoolSamples.client()
    for name in ["", String(repeating: "u", count: 129), "a\nb"] {
      expect(
        field { () throws(InvalidInput) in
          _ = try client.username(name, digests: TestCrypto())
        }, equals: "username")
    }
    for id in ["", "a b", String(repeating: "i", count: 129)] {
      #expect(throws: InvalidInput.self) {
        try UserPoolClient(
          backend: "b", host: client.host, pool: client.pool, id: id, secret: nil)
      }
    }
    for secret in ["", "Kq7vXw2n z", String(repeating: "s", count: 65)] {
      expect(
        field { () throws(InvalidInput) in
          _ = try UserPoolClient(
            backend: "b", host: client.host, pool: client.pool, id: "i",
            secret: Secret(secret))
        }, equals: "client_secret_file")
    }
    let long = Secret([UInt8](repeating: 65, count: 131_072))
    let wrong: [[(name: String, value: Secret)]] = [
      (0...64).map { (name: "k\($0)", value: Secret("v")) },
      [("a", Secret("1")), ("a", Secret("2"))], [("", Secret("v"))], [("a", long)],
    ]
    for entries in wrong {
      #expect(throws: InvalidInput.self) { try ClientMetadata(entries) }
    }
  }

  @Test func aPreferredFactorIsOn() {
    #expect(throws: InvalidInput.self) { try MFAPreference(enabled: [:], preferred: nil) }
    #expect(throws: InvalidInput.self) { try MFAPreference(enabled: [.sms: true], preferred: .app) }
    #expect(throws: InvalidInput.self) {
      try MFAPreference(enabled: [.app: false], preferred: .app)
    }
  }

  @Test(arguments: [
    "", "eu-west-1", "eu-west-1_", "_Ab", "EU_Ab", "eu-west-1_A-b", "eu-west-1_A_b", "eu west_Ab",
    "eu-west-1_" + String(repeating: "A", count: 46),
  ])
  func aPoolHasItsForm(text: String) {
    #expect(throws: InvalidInput.self) { try UserPoolID(text) }
  }

  @Test(arguments: [
    ("eu-west-1_AbC", "cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbC"),
    ("cn-north-1_AbC", "cognito-idp.cn-north-1.amazonaws.com.cn/cn-north-1_AbC"),
    ("us-gov-west-1_AbC", "cognito-idp.us-gov-west-1.amazonaws.com/us-gov-west-1_AbC"),
    ("eusc-de-east-1_AbC", "cognito-idp.eusc-de-east-1.amazonaws.eu/eusc-de-east-1_AbC"),
  ])
  func aPoolsTokensHaveTheKeyOfItsPartition(text: String, key: String) throws {
    let pool = try UserPoolID(text)
    expect(pool.loginsKey, equals: key)
    expect(pool.issuer, equals: "https://\(key)")
    expect(pool.name, equals: "AbC")
    expect(pool.description, equals: text)
  }

  /// The hosts are those of botocore's rule set of cognito-idp.
  @Test(arguments: [
    ("us-east-1", false, true, "cognito-idp.us-east-1.amazonaws.com"),
    ("us-east-1", true, false, "cognito-idp-fips.us-east-1.amazonaws.com"),
    ("us-east-1", true, true, "cognito-idp-fips.us-east-1.amazonaws.com"),
    ("eu-west-1", true, true, "cognito-idp-fips.eu-west-1.api.aws"),
    ("us-gov-west-1", false, true, "cognito-idp.us-gov-west-1.api.aws"),
    ("us-gov-west-1", true, false, "cognito-idp-fips.us-gov-west-1.amazonaws.com"),
    ("cn-north-1", false, false, "cognito-idp.cn-north-1.amazonaws.com.cn"),
    ("cn-north-1", false, true, "cognito-idp.cn-north-1.api.amazonwebservices.com.cn"),
    ("eusc-de-east-1", false, false, "cognito-idp.eusc-de-east-1.amazonaws.eu"),
    ("eusc-de-east-1", true, true, "cognito-idp-fips.eusc-de-east-1.api.amazonwebservices.eu"),
  ])
  func endpoints(region: String, fips: Bool, dualStack: Bool, host: String) throws {
    let endpoint = try AWSHost(
      .cognitoUserPools, region: region, fips: fips, dualStack: dualStack)
    expect(endpoint.url, equals: "https://\(host)/")
  }
}
