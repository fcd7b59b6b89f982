import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// NEW_PASSWORD_REQUIRED, which a user meets whom an administrator made.
struct NewPasswordTests {
  static func invited() throws -> (pool: TestPool, reply: HTTPReply) {
    var pool = try TestPool(["RequiredAttributes": ["email", "given_name"]])
    try pool.set("dora", ["Password": "Invited-1", "Attributes": ["email": "d@e.fr"]])
    let reply = try pool.prove("dora", "Invited-1")
    return (pool, reply)
  }

  @Test func anInvitedUserSetsAPassword() throws {
    var (pool, reply) = try Self.invited()
    expect(reply.challenge, equals: "NEW_PASSWORD_REQUIRED")
    expect(reply.parameter("requiredAttributes"), equals: #"["userAttributes.given_name"]"#)
    expect(
      reply.parameter("userAttributes"), equals: #"{"email":"d@e.fr","email_verified":"false"}"#)
    let answer = [
      "USERNAME": "dora", "NEW_PASSWORD": "Dora-own-1", "userAttributes.given_name": "Dora",
    ]
    let done = pool.respond("NEW_PASSWORD_REQUIRED", answer, session: reply.session)
    let claims = try TokenIssuer.claims(in: Tokens(done).id)
    expect(claims["given_name"]?.text, equals: "Dora")
    expect(try pool.prove("dora", "Dora-own-1").status, equals: 200)
    expect(try pool.prove("dora", "Invited-1").cognitoError, equals: ProofTests.refused)
  }

  @Test(arguments: [
    (["NEW_PASSWORD": "short"], "InvalidPasswordException", "Password not long enough"),
    (["NEW_PASSWORD": "Dora-own-1"], "InvalidParameterException", "given_name missing"),
    (
      ["NEW_PASSWORD": "Dora-own-1", "userAttributes.email": "x@y.zz"],
      "InvalidParameterException", "Cannot modify an already provided email"
    ),
    (
      ["NEW_PASSWORD": "Dora-own-1", "userAttributes.email_verified": "true"],
      "InvalidParameterException", "Cannot modify"
    ),
    (
      ["NEW_PASSWORD": "Dora-own-1", "given_name": "D"], "InvalidParameterException",
      "no response given_name"
    ),
    ([:], "InvalidParameterException", "Missing required parameter NEW_PASSWORD"),
  ])
  func aNewPasswordThatDoesNotFitMayBeGivenAgain(
    _ values: [String: String], _ code: String, _ text: String
  ) throws {
    var (pool, reply) = try Self.invited()
    var answer = values
    answer["USERNAME"] = "dora"
    if code == "InvalidPasswordException" { answer["userAttributes.given_name"] = "D" }
    let refused = pool.respond("NEW_PASSWORD_REQUIRED", answer, session: reply.session)
    expect(refused.cognitoError.hasPrefix(code) && refused.cognitoError.contains(text))
    let good = [
      "USERNAME": "dora", "NEW_PASSWORD": "Dora-own-1", "userAttributes.given_name": "Dora",
    ]
    expect(pool.respond("NEW_PASSWORD_REQUIRED", good, session: reply.session).status, equals: 200)
  }

  @Test func anInvitationRunsOut() throws {
    var pool = try TestPool()
    try pool.set("dora", ["Password": "Invited-1"])
    pool.test.now += 7 * 86_400
    expect(
      try pool.prove("dora", "Invited-1").cognitoError,
      equals: "NotAuthorizedException: Temporary password has expired and must be reset by an "
        + "administrator.")
  }
}
