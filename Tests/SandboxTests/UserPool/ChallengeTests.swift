import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// Codes, choices and custom challenges, and the handles of all.
struct ChallengeTests {
  static let expired =
    "NotAuthorizedException: Invalid session for the user, session is expired."
  static let used =
    "NotAuthorizedException: Invalid session for the user, session can only be used once."
  static let foreign = "NotAuthorizedException: Invalid session for the user."

  // MARK: Codes

  static func withFactors(_ factors: [String], preferred: String? = nil) throws -> TestPool {
    var pool = try TestPool()
    var changes: [String: JSON] = [
      "Mfa": .array(factors.map { .string($0) }),
      "Attributes": ["phone_number": "+15555550100", "phone_number_verified": "true"],
      "SoftwareToken": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
    ]
    if let preferred { changes["PreferredMfa"] = .string(preferred) }
    try pool.set("alice", changes)
    return pool
  }

  @Test(arguments: [
    ("SMS_MFA", "SMS", "+*******0100"), ("EMAIL_OTP", "EMAIL", "a***@e***"),
  ])
  func aCodeIsSentAndAskedFor(_ factor: String, _ medium: String, _ place: String) throws {
    var pool = try Self.withFactors([factor])
    let reply = try pool.prove()
    expect(reply.challenge, equals: factor)
    expect(reply.parameter("CODE_DELIVERY_DELIVERY_MEDIUM"), equals: medium)
    expect(reply.parameter("CODE_DELIVERY_DESTINATION"), equals: place)
    expect(reply.parameter("USERNAME") == nil)
    let code = try pool.code()
    expect(code.count, equals: 6)
    let wrong = String(code.reversed()) == code ? "12345x" : String(code.reversed())
    for _ in 0..<6 {
      let answer = ["USERNAME": "alice", "\(factor)_CODE": wrong]
      expect(
        pool.respond(factor, answer, session: reply.session).cognitoError,
        equals: "CodeMismatchException: Invalid code received for user")
    }
    let answer = ["USERNAME": "alice", "\(factor)_CODE": code]
    _ = try Tokens(pool.respond(factor, answer, session: reply.session))
    expect(pool.respond(factor, answer, session: reply.session).cognitoError, equals: Self.used)
  }

  @Test func aPoolMayEndASignInAfterSoManyWrongCodes() throws {
    var pool = try Self.withFactors(["SMS_MFA"])
    try pool.control("", ["CodeMisses": 2])
    let reply = pool.enter()
    for _ in 0..<2 {
      let wrong = ["USERNAME": "alice", "SMS_MFA_CODE": "x"]
      expect(
        pool.respond("SMS_MFA", wrong, session: reply.session).cognitoError,
        equals: "CodeMismatchException: Invalid code received for user")
    }
    let answer = ["USERNAME": "alice", "SMS_MFA_CODE": try pool.code()]
    expect(pool.respond("SMS_MFA", answer, session: reply.session).cognitoError, equals: Self.used)
  }

  @Test func aSessionIsOneClientsUsersAndChallenges() throws {
    var pool = try Self.withFactors(["SMS_MFA"])
    try pool.set("bob", ["Password": "Sandbox-1", "Status": "CONFIRMED"])
    let session = try #require(pool.enter().session)
    expect((20...4096).contains(session.count))
    let code = try pool.code()
    let answer = ["USERNAME": "alice", "SMS_MFA_CODE": code]
    var other = answer
    other["USERNAME"] = "bob"
    expect(pool.respond("SMS_MFA", other, session: session).cognitoError, equals: Self.foreign)
    other = answer
    other["SECRET_HASH"] = AppClient.hash(
      "alice", client: TestPool.secretClient, secret: SandboxSeed.userPoolClientSecret)
    expect(
      pool.respond("SMS_MFA", other, session: session, client: TestPool.secretClient).cognitoError,
      equals: Self.foreign)
    expect(
      pool.respond("EMAIL_OTP", ["USERNAME": "alice", "EMAIL_OTP_CODE": code], session: session)
        .cognitoError, equals: Self.foreign)
    expect(
      pool.respond("SMS_MFA", answer).cognitoError,
      equals: "InvalidParameterException: Missing required parameter Session")
    let changed = String(session.dropLast()) + (session.hasSuffix("A") ? "B" : "A")
    expect(pool.respond("SMS_MFA", answer, session: changed).cognitoError, equals: Self.foreign)
    expect(pool.respond("SMS_MFA", answer, session: session).status, equals: 200)
  }

  @Test func aSessionAges() throws {
    var pool = try Self.withFactors(["SMS_MFA"])
    let session = pool.enter().session
    let answer = ["USERNAME": "alice", "SMS_MFA_CODE": try pool.code()]
    pool.test.now += 180
    expect(pool.respond("SMS_MFA", answer, session: session).cognitoError, equals: Self.expired)
  }

  @Test func anAppsCodeIsGoodOnceAndForAStepEachWay() throws {
    var pool = try Self.withFactors(["SOFTWARE_TOKEN_MFA"])
    let secret = try #require(Base32.bytes("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"))
    func answer(_ step: Int) -> [String: String] {
      let now = TimeBasedCode.step(at: pool.test.now)
      let code = TimeBasedCode.code(secret: secret, step: now + step)
      return ["USERNAME": "alice", "SOFTWARE_TOKEN_MFA_CODE": code]
    }
    let name = "SOFTWARE_TOKEN_MFA"
    var session = pool.enter().session
    for step in [-2, 2] {
      expect(
        pool.respond(name, answer(step), session: session).cognitoError,
        equals: "CodeMismatchException: Invalid code received for user")
    }
    expect(pool.respond(name, answer(-1), session: session).status, equals: 200)
    session = pool.enter().session
    expect(
      pool.respond(name, answer(-1), session: session).cognitoError,
      equals: "ExpiredCodeException: Your software token has already been used once.")
    expect(pool.respond(name, answer(1), session: session).status, equals: 200)
    session = pool.enter().session
    // An older one than the latest is not taken either.
    expect(
      pool.respond(name, answer(0), session: session).cognitoError,
      equals: "ExpiredCodeException: Your software token has already been used once.")
  }

  // MARK: Choices

  @Test func aUserChoosesAmongFactors() throws {
    var pool = try Self.withFactors(["SMS_MFA", "SOFTWARE_TOKEN_MFA"])
    let reply = pool.enter()
    expect(reply.challenge, equals: "SELECT_MFA_TYPE")
    expect(reply.parameter("MFAS_CAN_CHOOSE"), equals: #"["SMS_MFA","SOFTWARE_TOKEN_MFA"]"#)
    let wrong = ["USERNAME": "alice", "ANSWER": "EMAIL_OTP"]
    expect(pool.respond("SELECT_MFA_TYPE", wrong, session: reply.session).status, equals: 400)
    let next = pool.respond(
      "SELECT_MFA_TYPE", ["USERNAME": "alice", "ANSWER": "SMS_MFA"], session: reply.session)
    expect(next.challenge == "SMS_MFA" && next.session != reply.session)
  }

  @Test func aPreferredFactorIsNotAskedFor() throws {
    var pool = try Self.withFactors(
      ["SMS_MFA", "SOFTWARE_TOKEN_MFA"], preferred: "SOFTWARE_TOKEN_MFA")
    expect(pool.enter().challenge, equals: "SOFTWARE_TOKEN_MFA")
  }

  // MARK: Custom challenges

  @Test(arguments: [false, true])
  func aCustomChallengeMayFailAndGoOn(_ withProof: Bool) throws {
    var pool = try TestPool([
      "CustomChallenges": [
        ["Parameters": ["question": "2 + 2"], "Answer": "4"],
        ["Parameters": ["question": "and one"], "Answer": "5"],
      ]
    ])
    var reply: HTTPReply
    if withProof {
      let proof = SRPClient()
      let values = [
        "USERNAME": "alice", "SRP_A": proof.value.hexadecimalText, "CHALLENGE_NAME": "SRP_A",
      ]
      let start = pool.start("CUSTOM_AUTH", values)
      let answer = try proof.answer(start, password: TestPool.password, at: pool.test.now)
      expect(start.session != nil)
      expect(pool.respond("PASSWORD_VERIFIER", answer).status, equals: 400)
      reply = pool.respond("PASSWORD_VERIFIER", answer, session: start.session)
    } else {
      reply = pool.start("CUSTOM_AUTH", ["USERNAME": "alice"])
    }
    expect(reply.challenge, equals: "CUSTOM_CHALLENGE")
    expect(reply.parameter("question"), equals: "2 + 2")
    let old = reply.session
    let wrong = ["USERNAME": "alice", "ANSWER": "5"]
    reply = pool.respond("CUSTOM_CHALLENGE", wrong, session: old)
    expect(reply.challenge == "CUSTOM_CHALLENGE" && reply.session != old)
    expect(pool.respond("CUSTOM_CHALLENGE", wrong, session: old).cognitoError, equals: Self.used)
    let right = ["USERNAME": "alice", "ANSWER": "4"]
    reply = pool.respond("CUSTOM_CHALLENGE", right, session: reply.session)
    expect(reply.parameter("question"), equals: "and one")
    _ = try Tokens(pool.respond("CUSTOM_CHALLENGE", wrong, session: reply.session))
  }

  @Test func aCustomChallengeEndsAfterThreeWrongAnswers() throws {
    var pool = try TestPool()
    var reply = pool.start("CUSTOM_AUTH", ["USERNAME": "alice"])
    for _ in 0..<3 {
      reply = pool.respond(
        "CUSTOM_CHALLENGE", ["USERNAME": "alice", "ANSWER": "no"], session: reply.session)
    }
    expect(reply.cognitoError, equals: ProofTests.refused)
  }

  @Test func anUnknownChallengeIsRefused() throws {
    var pool = try TestPool()
    for name in ["WEB_AUTHN", "ADMIN_NO_SRP_AUTH", "NONSENSE"] {
      let reply = pool.respond(
        name, ["USERNAME": "alice"], session: String(repeating: "s", count: 30))
      expect(
        reply.cognitoError,
        equals: "InvalidParameterException: The challenge \(name) is not supported.")
    }
  }
}
