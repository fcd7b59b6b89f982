import FoundationEssentials
import Testing

@testable import SandboxKit

/// The default user pool of a sandbox, spoken to as a client does.
struct TestPool {
  static let id = "us-east-1_Sandbox"
  static let provider = "cognito-idp.us-east-1.amazonaws.com/" + id
  static let client = SandboxSeed.userPoolClient
  static let secretClient = SandboxSeed.userPoolSecretClient
  static let password = SandboxSeed.userPoolPassword

  var test: TestSandbox

  /// - Parameters:
  ///   - settings: of the pool, as the control path takes them.
  ///   - client: of the client without a secret.
  init(_ settings: JSON = [:], client: [String: JSON] = [:]) throws {
    test = try TestSandbox()
    try control("", settings)
    try set(client: client)
  }

  /// A call of the control path, which must succeed.
  @discardableResult
  mutating func control(_ path: String, _ body: JSON) throws -> JSON {
    let reply = test.send("POST", "/control/user-pool" + path, body)
    try #require(reply.status == 200, "\(reply.text)")
    return reply.json ?? [:]
  }

  mutating func set(client: [String: JSON]) throws {
    try control("/client", .object(client.merging(["ClientId": .string(Self.client)]) { $1 }))
  }

  /// Makes a user with the usual password, or changes one.
  mutating func set(_ user: String, _ changes: [String: JSON] = [:]) throws {
    try control("/user", .object(changes.merging(["Username": .string(user)]) { $1 }))
  }

  mutating func send(_ operation: String, _ input: [String: JSON]) -> HTTPReply {
    test.answer(TestPool.request(operation, .object(input))).reply
  }

  static func request(_ operation: String, _ input: JSON) -> HTTPRequest {
    HTTPRequest(
      method: "POST", target: "/",
      headers: [
        HTTPField("Content-Type", "application/x-amz-json-1.1"),
        HTTPField("X-Amz-Target", "AWSCognitoIdentityProviderService." + operation),
      ], body: input.bytes)
  }

  /// An operation of a client.
  mutating func call(_ operation: String, _ input: [String: JSON]) -> HTTPReply {
    send(operation, ["ClientId": .string(Self.client)].merging(input) { $1 })
  }

  /// An operation of a user's account.
  mutating func call(
    _ operation: String, token: String, _ input: [String: JSON] = [:]
  ) -> HTTPReply {
    send(operation, ["AccessToken": .string(token)].merging(input) { $1 })
  }

  mutating func start(
    _ flow: String, _ parameters: [String: String], client: String = TestPool.client,
    session: String? = nil
  ) -> HTTPReply {
    var input: [String: JSON] = [
      "ClientId": .string(client), "AuthFlow": .string(flow), "AuthParameters": .map(parameters),
    ]
    if let session { input["Session"] = .string(session) }
    return send("InitiateAuth", input)
  }

  mutating func respond(
    _ challenge: String, _ values: [String: String], session: String? = nil,
    client: String = TestPool.client
  ) -> HTTPReply {
    var input: [String: JSON] = [
      "ClientId": .string(client), "ChallengeName": .string(challenge),
      "ChallengeResponses": .map(values),
    ]
    if let session { input["Session"] = .string(session) }
    return send("RespondToAuthChallenge", input)
  }

  /// A sign-in with a password in clear: its first reply.
  mutating func enter(
    _ user: String = "alice", _ password: String = TestPool.password,
    _ more: [String: String] = [:]
  ) -> HTTPReply {
    let values = ["USERNAME": user, "PASSWORD": password].merging(more) { $1 }
    return start("USER_PASSWORD_AUTH", values)
  }

  /// The tokens of a sign-in without a challenge.
  mutating func tokens(_ user: String = "alice") throws -> Tokens {
    try Tokens(enter(user))
  }

  /// A sign-in by SRP: the reply to the proof.
  mutating func prove(
    _ user: String = "alice", _ password: String = TestPool.password,
    _ more: [String: String] = [:]
  ) throws -> HTTPReply {
    let proof = SRPClient()
    let values = ["USERNAME": user, "SRP_A": proof.value.hexadecimalText].merging(more) { $1 }
    let reply = start("USER_SRP_AUTH", values)
    let answer = try proof.answer(reply, password: password, at: test.now)
    return respond("PASSWORD_VERIFIER", answer.merging(more) { $1 })
  }

  /// The latest code that was sent.
  mutating func code(_ user: String = "alice") throws -> String {
    let reply = test.send("GET", "/control/user-pool/messages?Username=" + user)
    return try #require(reply.json?["Messages"]?.elements?.first?["Code"]?.text)
  }
}

/// What a complete sign-in gives.
struct Tokens {
  let id: String
  let access: String
  let refresh: String
  let device: (key: String, group: String)?

  init(_ reply: HTTPReply) throws {
    let result = try #require(reply.json?["AuthenticationResult"], "\(reply.text)")
    id = try #require(result["IdToken"]?.text)
    access = try #require(result["AccessToken"]?.text)
    refresh = result["RefreshToken"]?.text ?? ""
    let metadata = result["NewDeviceMetadata"]
    if let key = metadata?["DeviceKey"]?.text, let group = metadata?["DeviceGroupKey"]?.text {
      device = (key, group)
    } else {
      device = nil
    }
  }
}

/// The client's half of a proof, written from the formulas.
struct SRPClient {
  var secret = Natural((1...32).map { _ in UInt8.random(in: 1...255) })

  var value: Natural { SRPGroup.power(SRPGroup.generator, secret) }

  /// - Parameters:
  ///   - domain: the pool's name, or the key of a device group.
  ///   - name: USER_ID_FOR_SRP by itself, or the key of a device.
  func answer(
    _ reply: HTTPReply, password: String, domain: String = "Sandbox", name: String? = nil,
    at time: Date
  ) throws -> [String: String] {
    let parameters = try #require(reply.json?["ChallengeParameters"], "\(reply.text)")
    let user = try #require(
      (parameters["USERNAME"] ?? parameters["USER_ID_FOR_SRP"])?.text)
    let id = try name ?? #require(parameters["USER_ID_FOR_SRP"]?.text)
    let salt = try #require(Natural(hexadecimal: parameters["SALT"]?.text ?? ""))
    let serverValue = try #require(Natural(hexadecimal: parameters["SRP_B"]?.text ?? ""))
    let block = try #require(parameters["SECRET_BLOCK"]?.text)
    let key = key(salt, serverValue, identity: domain + id, password: password)
    let timestamp = SRPTimestamp.text(time)
    let message =
      Array((domain + id).utf8) + (Data(base64Encoded: block).map(Array.init) ?? [])
      + Array(timestamp.utf8)
    return [
      "USERNAME": user, "PASSWORD_CLAIM_SECRET_BLOCK": block, "TIMESTAMP": timestamp,
      "PASSWORD_CLAIM_SIGNATURE": base64(Cryptography.hmacSHA256(key: key, message: message)),
    ]
  }

  private func key(
    _ salt: Natural, _ serverValue: Natural, identity: String, password: String
  ) -> [UInt8] {
    let inner = Cryptography.sha256(Array("\(identity):\(password)".utf8))
    let x = Natural(Cryptography.sha256(salt.padded + inner))
    let u = Natural(Cryptography.sha256(value.padded + serverValue.padded))
    let product = SRPGroup.multiply(
      SRPGroup.multiplier, SRPGroup.power(SRPGroup.generator, x))
    // N is odd: N less 1 is -1.
    let minusOne = Natural(SRPGroup.prime.bytes.dropLast() + [0xFE])
    let base = SRPGroup.multiply(minusOne, product, adding: serverValue)
    let power = SRPGroup.power(SRPGroup.power(base, u), x)
    let shared = SRPGroup.multiply(SRPGroup.power(base, secret), power)
    let extracted = Cryptography.hmacSHA256(key: u.padded, message: shared.padded)
    let info = Array("Caldera Derived Key".utf8) + [1]
    return Array(Cryptography.hmacSHA256(key: extracted, message: info).prefix(16))
  }
}

extension JSON {
  static func map(_ values: [String: String]) -> JSON { .object(values.mapValues { .string($0) }) }
}

extension HTTPReply {
  var session: String? { json?["Session"]?.text }
  var challenge: String? { json?["ChallengeName"]?.text }

  func parameter(_ name: String) -> String? { json?["ChallengeParameters"]?[name]?.text }
}
