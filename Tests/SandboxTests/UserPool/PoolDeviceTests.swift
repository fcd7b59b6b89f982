import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// Remembered devices.
struct PoolDeviceTests {
  static let secret = "device-secret-of-forty-bytes"

  /// A pool that demands a second factor and remembers devices.
  static func tracking(_ mode: String, replaces: Bool = true) throws -> TestPool {
    var pool = try TestPool([
      "DeviceTracking": .string(mode), "ChallengeRequiredOnNewDevice": .bool(replaces),
    ])
    try pool.set(
      "alice",
      [
        "Mfa": ["SMS_MFA"],
        "Attributes": ["phone_number": "+15555550100", "phone_number_verified": "true"],
      ])
    return pool
  }

  /// A first sign-in on a device, by SRP and a code.
  static func signIn(_ pool: inout TestPool) throws -> Tokens {
    let reply = try pool.prove()
    let answer = ["USERNAME": "alice", "SMS_MFA_CODE": try pool.code()]
    return try Tokens(pool.respond("SMS_MFA", answer, session: reply.session))
  }

  static func confirmation(_ device: (key: String, group: String)) -> [String: JSON] {
    let verifier = SRPVerifier(
      identity: device.group + device.key, password: secret, salt: Natural([0x81, 2, 3]))
    return [
      "DeviceKey": .string(device.key), "DeviceName": "laptop",
      "DeviceSecretVerifierConfig": [
        "Salt": .string(base64(verifier.salt.padded)),
        "PasswordVerifier": .string(base64(verifier.verifier.padded)),
      ],
    ]
  }

  /// The reply to a device's proof.
  static func prove(
    _ pool: inout TestPool, _ device: (key: String, group: String), _ reply: HTTPReply,
    secret: String = PoolDeviceTests.secret
  ) throws -> HTTPReply {
    expect(reply.challenge, equals: "DEVICE_SRP_AUTH")
    let proof = SRPClient()
    let start = [
      "USERNAME": "alice", "DEVICE_KEY": device.key, "SRP_A": proof.value.hexadecimalText,
    ]
    let next = pool.respond("DEVICE_SRP_AUTH", start, session: reply.session)
    expect(next.challenge, equals: "DEVICE_PASSWORD_VERIFIER")
    expect(next.parameter("DEVICE_KEY"), equals: device.key)
    var answer = try proof.answer(
      next, password: secret, domain: device.group, name: device.key, at: pool.test.now)
    expect(
      pool.respond("DEVICE_PASSWORD_VERIFIER", answer, session: next.session).cognitoError,
      equals: "InvalidParameterException: Missing required parameter DEVICE_KEY")
    answer["DEVICE_KEY"] = device.key
    return pool.respond("DEVICE_PASSWORD_VERIFIER", answer, session: next.session)
  }

  @Test func aRememberedDeviceReplacesTheCode() throws {
    var pool = try Self.tracking("ALWAYS")
    let tokens = try Self.signIn(&pool)
    let device = try #require(tokens.device)
    expect(device.key.hasPrefix("us-east-1_"))
    expect(try TokenIssuer.claims(in: tokens.access)["device_key"]?.text, equals: device.key)
    let confirmed = pool.call("ConfirmDevice", token: tokens.access, Self.confirmation(device))
    expect(confirmed.json?["UserConfirmationNecessary"] == false)
    let reply = try pool.prove("alice", TestPool.password, ["DEVICE_KEY": device.key])
    let again = try Tokens(Self.prove(&pool, device, reply))
    expect(again.device == nil)
    // Without the key it is a new device.
    expect(try Self.signIn(&pool).device?.key != device.key)
  }

  @Test func aDeviceWithAnotherSecretIsRefused() throws {
    var pool = try Self.tracking("ALWAYS")
    let tokens = try Self.signIn(&pool)
    let device = try #require(tokens.device)
    _ = pool.call("ConfirmDevice", token: tokens.access, Self.confirmation(device))
    let reply = try pool.prove("alice", TestPool.password, ["DEVICE_KEY": device.key])
    expect(
      try Self.prove(&pool, device, reply, secret: "another").cognitoError,
      equals: ProofTests.refused)
    let second = try pool.prove("alice", TestPool.password, ["DEVICE_KEY": device.key])
    expect(
      try Self.prove(&pool, (device.key, "-Another"), second).cognitoError,
      equals: ProofTests.refused)
  }

  @Test func aDeviceIsAskedAfterTheCodeWhereItReplacesNone() throws {
    var pool = try Self.tracking("ALWAYS", replaces: false)
    let tokens = try Self.signIn(&pool)
    let device = try #require(tokens.device)
    _ = pool.call("ConfirmDevice", token: tokens.access, Self.confirmation(device))
    let reply = try pool.prove("alice", TestPool.password, ["DEVICE_KEY": device.key])
    expect(reply.challenge, equals: "SMS_MFA")
    let answer = [
      "USERNAME": "alice", "SMS_MFA_CODE": try pool.code(), "DEVICE_KEY": device.key,
    ]
    let next = pool.respond("SMS_MFA", answer, session: reply.session)
    _ = try Tokens(Self.prove(&pool, device, next))
  }

  @Test func anOptInDeviceIsRememberedWhenTheUserSaysSo() throws {
    var pool = try Self.tracking("OPT_IN")
    let tokens = try Self.signIn(&pool)
    let device = try #require(tokens.device)
    let confirmed = pool.call("ConfirmDevice", token: tokens.access, Self.confirmation(device))
    expect(confirmed.json?["UserConfirmationNecessary"] == true)
    let more = ["DEVICE_KEY": device.key]
    expect(try pool.prove("alice", TestPool.password, more).challenge, equals: "SMS_MFA")
    var status: [String: JSON] = [
      "DeviceKey": .string(device.key), "DeviceRememberedStatus": "perhaps",
    ]
    expect(pool.call("UpdateDeviceStatus", token: tokens.access, status).status, equals: 400)
    status["DeviceRememberedStatus"] = "remembered"
    expect(pool.call("UpdateDeviceStatus", token: tokens.access, status).status, equals: 200)
    expect(try pool.prove("alice", TestPool.password, more).challenge, equals: "DEVICE_SRP_AUTH")
  }

  @Test func aForgottenDeviceDoesNotExist() throws {
    var pool = try Self.tracking("ALWAYS")
    let tokens = try Self.signIn(&pool)
    let device = try #require(tokens.device)
    _ = pool.call("ConfirmDevice", token: tokens.access, Self.confirmation(device))
    let key: [String: JSON] = ["DeviceKey": .string(device.key)]
    expect(
      pool.call("GetDevice", token: tokens.access, key).json?["Device"]?["DeviceKey"]?.text,
      equals: device.key)
    let reply = pool.call("ForgetDevice", token: tokens.access, key)
    expect(reply.status == 200 && reply.body.isEmpty)
    let unknown = "ResourceNotFoundException: Device does not exist."
    expect(pool.call("GetDevice", token: tokens.access, key).cognitoError, equals: unknown)
    let proof = SRPClient()
    let start = [
      "USERNAME": "alice", "SRP_A": proof.value.hexadecimalText, "DEVICE_KEY": device.key,
    ]
    expect(pool.start("USER_SRP_AUTH", start).cognitoError, equals: unknown)
  }

  /// A user forgets any device of their own, from any of them, and nobody else's.
  @Test func aUserForgetsOwnDevicesAlone() throws {
    var pool = try Self.tracking("ALWAYS")
    var devices: [(access: String, key: String)] = []
    for _ in 0..<2 {
      let tokens = try Self.signIn(&pool)
      let device = try #require(tokens.device)
      _ = pool.call("ConfirmDevice", token: tokens.access, Self.confirmation(device))
      devices.append((tokens.access, device.key))
    }
    func forget(_ key: String, with access: String) -> HTTPReply {
      pool.call("ForgetDevice", token: access, ["DeviceKey": .string(key)])
    }
    let unknown = "ResourceNotFoundException: Device does not exist."
    let stranger = devices[1].key.dropLast(4) + (devices[1].key.hasSuffix("0000") ? "1111" : "0000")
    expect(forget(String(stranger), with: devices[0].access).cognitoError, equals: unknown)
    // The other device, and then the one that the token came with.
    for index in [1, 0] {
      expect(forget(devices[index].key, with: devices[0].access).status, equals: 200)
    }
    let left = pool.call("ListDevices", token: devices[0].access, [:]).json
    expect(left?["Devices"]?.elements?.isEmpty == true)
    expect(forget(devices[0].key, with: devices[0].access).cognitoError, equals: unknown)
  }

  @Test func tokensAreTiedToTheDevice() throws {
    var pool = try Self.tracking("ALWAYS")
    let tokens = try Self.signIn(&pool)
    let device = try #require(tokens.device)
    let invalid = "NotAuthorizedException: Invalid Refresh Token."
    func refresh(_ key: String?) -> HTTPReply {
      var input = PoolTokenTests.refresh(tokens.refresh)
      if let key { input["DeviceKey"] = .string(key) }
      return pool.call("GetTokensFromRefreshToken", input)
    }
    // A device that was not confirmed refreshes nothing.
    expect(refresh(device.key).cognitoError, equals: invalid)
    _ = pool.call("ConfirmDevice", token: tokens.access, Self.confirmation(device))
    expect(refresh(nil).cognitoError, equals: invalid)
    expect(
      refresh("us-east-1_00000000-0000-4000-8000-000000000000").cognitoError, equals: invalid)
    expect(refresh(device.key).status, equals: 200)
    let values = ["REFRESH_TOKEN": tokens.refresh]
    expect(pool.start("REFRESH_TOKEN_AUTH", values).cognitoError, equals: invalid)
    let named = values.merging(["DEVICE_KEY": device.key]) { $1 }
    expect(pool.start("REFRESH_TOKEN_AUTH", named).status, equals: 200)
  }

  @Test(arguments: ["Salt", "PasswordVerifier"])
  func aDeviceIsConfirmedOnceAndWithNumbers(_ part: String) throws {
    var pool = try Self.tracking("ALWAYS")
    let tokens = try Self.signIn(&pool)
    let device = try #require(tokens.device)
    let good = Self.confirmation(device)
    for text in ["", "!", base64([0, 1]), base64([UInt8](repeating: 1, count: 386))] {
      var input = good
      var config = good["DeviceSecretVerifierConfig"]?.members ?? [:]
      config[part] = .string(text)
      input["DeviceSecretVerifierConfig"] = .object(config)
      expect(
        pool.call("ConfirmDevice", token: tokens.access, input).cognitoError,
        equals: "InvalidParameterException: Invalid device secret verifier config given.")
    }
    expect(pool.call("ConfirmDevice", token: tokens.access, good).status, equals: 200)
    expect(
      pool.call("ConfirmDevice", token: tokens.access, good).cognitoError.hasPrefix(
        "DeviceKeyExistsException"))
  }

  @Test func devicesAreListedInPages() throws {
    var pool = try Self.tracking("ALWAYS")
    var keys: Set<String> = []
    var access = ""
    for _ in 0..<3 {
      let tokens = try Self.signIn(&pool)
      access = tokens.access
      let device = try #require(tokens.device)
      _ = pool.call("ConfirmDevice", token: access, Self.confirmation(device))
      keys.insert(device.key)
    }
    let first = pool.call("ListDevices", token: access, ["Limit": 2]).json
    expect(first?["Devices"]?.elements?.count, equals: 2)
    let next: [String: JSON] = ["Limit": 2, "PaginationToken": first?["PaginationToken"] ?? ""]
    let second = pool.call("ListDevices", token: access, next).json
    expect(second?["PaginationToken"] == nil)
    let all = (first?["Devices"]?.elements ?? []) + (second?["Devices"]?.elements ?? [])
    expect(Set(all.compactMap { $0["DeviceKey"]?.text }), equals: keys)
    expect(pool.call("ListDevices", token: access, ["Limit": 61]).status, equals: 400)
  }
}
