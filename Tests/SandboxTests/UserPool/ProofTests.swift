import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// Sign-in by SRP, and each part of a proof changed.
struct ProofTests {
  static let refused = "NotAuthorizedException: Incorrect username or password."

  /// A challenge and the right answer to it.
  static func challenge(_ pool: inout TestPool, _ user: String = "alice") throws
    -> [String: String]
  {
    let proof = SRPClient()
    let reply = pool.start(
      "USER_SRP_AUTH", ["USERNAME": user, "SRP_A": proof.value.hexadecimalText])
    return try proof.answer(reply, password: TestPool.password, at: pool.test.now)
  }

  @Test func aRightProofGivesTokens() throws {
    var pool = try TestPool()
    // Each sign-in has another shape of the server's number.
    for _ in 0..<SRPExchange.Shape.cycle.count + 1 {
      let tokens = try Tokens(pool.prove())
      expect(pool.call("GetUser", token: tokens.access).status, equals: 200)
    }
    expect(try pool.prove("alice", "Sandbox-2").cognitoError, equals: Self.refused)
  }

  @Test(arguments: ["odd", "short", "topBit"])
  func saltsOfEveryShapeAreSentAsNumbers(_ shape: String) throws {
    var pool = try TestPool(["SaltShape": .string(shape)])
    try pool.set(
      "bob", ["Password": "Salt-and-1", "Status": "CONFIRMED", "Attributes": ["email": "b@c.de"]])
    expect(try pool.prove("bob", "Salt-and-1").status, equals: 200)
  }

  @Test func theParametersAreCognitos() throws {
    var pool = try TestPool()
    let proof = SRPClient()
    let reply = pool.start(
      "USER_SRP_AUTH", ["USERNAME": "ALICE", "SRP_A": proof.value.hexadecimalText])
    expect(reply.challenge, equals: "PASSWORD_VERIFIER")
    expect(reply.parameter("USERNAME"), equals: "alice")
    expect(reply.parameter("USER_ID_FOR_SRP"), equals: "alice")
    expect(reply.session == nil)
    let block = try #require(Data(base64Encoded: reply.parameter("SECRET_BLOCK") ?? ""))
    expect(block.count > 1024)
    for name in ["SALT", "SRP_B"] {
      let text = try #require(reply.parameter(name))
      expect(text == text.lowercased() && !text.hasPrefix("0"))
    }
  }

  @Test(arguments: ["PASSWORD_CLAIM_SECRET_BLOCK", "PASSWORD_CLAIM_SIGNATURE", "TIMESTAMP"])
  func everyPartOfAProofIsDemanded(_ part: String) throws {
    var pool = try TestPool()
    var answer = try Self.challenge(&pool)
    answer[part] = nil
    expect(
      pool.respond("PASSWORD_VERIFIER", answer).cognitoError,
      equals: "InvalidParameterException: Missing required parameter \(part)")
  }

  @Test(arguments: ["PASSWORD_CLAIM_SECRET_BLOCK", "PASSWORD_CLAIM_SIGNATURE"])
  func aChangedPartIsRefused(_ part: String) throws {
    var pool = try TestPool()
    var answer = try Self.challenge(&pool)
    var text = Array(answer[part] ?? "")
    text[3] = text[3] == "A" ? "B" : "A"
    answer[part] = String(text)
    expect(pool.respond("PASSWORD_VERIFIER", answer).cognitoError, equals: Self.refused)
  }

  @Test func aProofOverAnotherTimeIsRefused() throws {
    var pool = try TestPool()
    var answer = try Self.challenge(&pool)
    answer["TIMESTAMP"] = SRPTimestamp.text(pool.test.now + 1)
    expect(pool.respond("PASSWORD_VERIFIER", answer).cognitoError, equals: Self.refused)
  }

  @Test(arguments: [(-301.0, false), (-300, true), (300, true), (301, false)])
  func theClocksMayBeFiveMinutesApart(_ skew: Double, _ isTaken: Bool) throws {
    var pool = try TestPool(client: ["AuthSessionValidity": 900])
    let proof = SRPClient()
    let reply = pool.start(
      "USER_SRP_AUTH", ["USERNAME": "alice", "SRP_A": proof.value.hexadecimalText])
    let answer = try proof.answer(
      reply, password: TestPool.password, at: pool.test.now.addingTimeInterval(skew))
    let result = pool.respond("PASSWORD_VERIFIER", answer)
    expect(isTaken ? result.status == 200 : result.cognitoError == Self.refused)
  }

  @Test(arguments: [
    "Sat Jan 03 00:30:09 UTC 2015", "Sat Jan  3 00:30:09 UTC 2015", "Sa Jan 3 00:30:09 UTC 2015",
    "Sat Jan 3 00:30:09 GMT 2015", "Sat Jan 3 00:30:09 CET 2015", "Sat jan 3 00:30:09 UTC 2015",
    "Fri Jan 3 00:30:09 UTC 2015", "Sat Jan 3 0:30:09 UTC 2015", "Sat Jan 3 00:30:09 UTC 15",
    "2015-01-03T00:30:09Z", "", "Sat Jan 32 00:30:09 UTC 2015",
  ])
  func aTimestampOfAnotherFormIsRefused(_ text: String) throws {
    expect(SRPTimestamp.date(text) == nil)
    expect(SRPTimestamp.date("Sat Jan 3 00:30:09 UTC 2015") != nil)
    guard !text.isEmpty else { return }
    var pool = try TestPool()
    var answer = try Self.challenge(&pool)
    answer["TIMESTAMP"] = text
    expect(
      pool.respond("PASSWORD_VERIFIER", answer).cognitoError,
      equals: "InvalidParameterException: TIMESTAMP format should be EEE MMM d HH:mm:ss z yyyy in "
        + "english")
  }

  @Test(arguments: 1...9)
  func daysOfOneDigitAreTaken(_ day: Int) throws {
    var pool = try TestPool()
    pool.test.now = try #require(Date(iso8601Text: "2024-02-0\(day)T09:09:09Z"))
    expect(try pool.prove().status, equals: 200)
  }

  @Test func aBlockIsGoodOnce() throws {
    var pool = try TestPool()
    let answer = try Self.challenge(&pool)
    expect(pool.respond("PASSWORD_VERIFIER", answer).status, equals: 200)
    expect(pool.respond("PASSWORD_VERIFIER", answer).cognitoError, equals: Self.refused)
    var wrong = try Self.challenge(&pool)
    let right = wrong
    wrong["PASSWORD_CLAIM_SIGNATURE"] = "AAAA"
    expect(pool.respond("PASSWORD_VERIFIER", wrong).cognitoError, equals: Self.refused)
    expect(pool.respond("PASSWORD_VERIFIER", right).cognitoError, equals: Self.refused)
  }

  @Test func aBlockOfAnotherExchangeIsRefused() throws {
    var pool = try TestPool()
    var one = try Self.challenge(&pool)
    let other = try Self.challenge(&pool)
    one["PASSWORD_CLAIM_SECRET_BLOCK"] = other["PASSWORD_CLAIM_SECRET_BLOCK"]
    expect(pool.respond("PASSWORD_VERIFIER", one).cognitoError, equals: Self.refused)
  }

  @Test func aBlockMustBeThatOfItsSession() throws {
    var pool = try TestPool()
    let proof = SRPClient()
    let values = [
      "USERNAME": "alice", "SRP_A": proof.value.hexadecimalText,
      "PREFERRED_CHALLENGE": "PASSWORD_SRP",
    ]
    let (one, other) = (pool.start("USER_AUTH", values), pool.start("USER_AUTH", values))
    // The signature is over the right block; only the block that is sent is another one's.
    var answer = try proof.answer(one, password: TestPool.password, at: pool.test.now)
    answer["PASSWORD_CLAIM_SECRET_BLOCK"] = other.parameter("SECRET_BLOCK")
    expect(
      pool.respond("PASSWORD_VERIFIER", answer, session: one.session).cognitoError,
      equals: Self.refused)
    answer["PASSWORD_CLAIM_SECRET_BLOCK"] = one.parameter("SECRET_BLOCK")
    expect(
      pool.respond("PASSWORD_VERIFIER", answer, session: other.session).cognitoError,
      equals: Self.refused)
  }

  @Test func aBlockAges() throws {
    var pool = try TestPool()
    let answer = try Self.challenge(&pool)
    pool.test.now += 181
    expect(pool.respond("PASSWORD_VERIFIER", answer).cognitoError, equals: Self.refused)
  }

  @Test func aBlockBelongsToItsUserAndClient() throws {
    var pool = try TestPool()
    try pool.set("bob", ["Password": "Sandbox-1", "Status": "CONFIRMED"])
    var answer = try Self.challenge(&pool)
    answer["USERNAME"] = "bob"
    expect(pool.respond("PASSWORD_VERIFIER", answer).cognitoError, equals: Self.refused)
    answer = try Self.challenge(&pool)
    answer["SECRET_HASH"] = AppClient.hash(
      "alice", client: TestPool.secretClient, secret: SandboxSeed.userPoolClientSecret)
    expect(
      pool.respond("PASSWORD_VERIFIER", answer, client: TestPool.secretClient).cognitoError,
      equals: Self.refused)
  }

  @Test(arguments: ["", "0", "00", "xyz", SRPGroup.prime.hexadecimalText])
  func aPublicValueThatProvesNothingIsRefused(_ value: String) throws {
    var pool = try TestPool()
    let reply = pool.start("USER_SRP_AUTH", ["USERNAME": "alice", "SRP_A": value])
    expect(
      reply.cognitoError, equals: "InvalidParameterException: SRP_A is not a valid public value.")
    expect(
      pool.start("USER_SRP_AUTH", ["USERNAME": "alice"]).cognitoError,
      equals: "InvalidParameterException: Missing required parameter SRP_A")
  }

  @Test func theLockoutDoubles() throws {
    var pool = try TestPool()
    for _ in 0..<5 { expect(pool.enter("alice", "wrong").cognitoError, equals: Self.refused) }
    let locked = "NotAuthorizedException: Password attempts exceeded"
    expect(pool.enter().cognitoError, equals: locked)
    // What is tried meanwhile does not count.
    for _ in 0..<5 { expect(pool.enter("alice", "wrong").cognitoError, equals: locked) }
    pool.test.now += 1
    expect(pool.enter("alice", "wrong").cognitoError, equals: Self.refused)
    pool.test.now += 1
    expect(try pool.prove().cognitoError, equals: locked)
    pool.test.now += 1
    expect(pool.enter().status, equals: 200)
    // A right password ends it.
    expect(pool.enter("alice", "wrong").cognitoError, equals: Self.refused)
    expect(pool.enter().status, equals: 200)
  }
}
