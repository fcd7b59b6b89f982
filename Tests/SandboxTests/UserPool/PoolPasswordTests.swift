import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// Forgotten and changed passwords.
struct PoolPasswordTests {
  @Test func aForgottenPasswordIsReset() throws {
    var pool = try TestPool()
    for _ in 0..<5 { _ = pool.enter("alice", "wrong") }
    expect(pool.call("ForgotPassword", ["Username": "alice"]).status, equals: 200)
    var input: [String: JSON] = [
      "Username": "alice", "ConfirmationCode": "x", "Password": "Alice-new-1",
    ]
    expect(pool.call("ConfirmForgotPassword", input).cognitoError, equals: SignUpTests.wrongCode)
    input["ConfirmationCode"] = .string(try pool.code())
    expect(pool.call("ConfirmForgotPassword", input).status, equals: 200)
    expect(pool.call("ConfirmForgotPassword", input).cognitoError, equals: SignUpTests.expiredCode)
    expect(try pool.prove("alice", "Alice-new-1").status, equals: 200)
    expect(try pool.prove().cognitoError, equals: ProofTests.refused)
  }

  @Test func aResetCodeLastsAnHourAndIsSentFiveTimes() throws {
    var pool = try TestPool()
    for _ in 0..<5 {
      expect(pool.call("ForgotPassword", ["Username": "alice"]).status, equals: 200)
    }
    expect(
      pool.call("ForgotPassword", ["Username": "alice"]).cognitoError,
      equals: "LimitExceededException: Attempt limit exceeded, please try after some time.")
    let code = try pool.code()
    pool.test.now += 3600
    let input: [String: JSON] = [
      "Username": "alice", "ConfirmationCode": .string(code), "Password": "Alice-new-1",
    ]
    expect(pool.call("ConfirmForgotPassword", input).cognitoError, equals: SignUpTests.expiredCode)
    expect(pool.call("ForgotPassword", ["Username": "alice"]).status, equals: 200)
  }

  @Test func aUserWhomAnAdministratorResetMustReset() throws {
    var pool = try TestPool()
    try pool.set("alice", ["Status": "RESET_REQUIRED"])
    expect(try pool.prove().cognitoError, equals: ProofTests.refused)
    try pool.set(client: ["PreventUserExistenceErrors": false])
    expect(
      try pool.prove().cognitoError,
      equals: "PasswordResetRequiredException: Password reset required for the user")
    try pool.set("alice", ["Status": "CONFIRMED", "Disabled": true])
    expect(try pool.prove().cognitoError, equals: "NotAuthorizedException: User is disabled.")
    expect(try pool.prove("alice", "wrong").cognitoError, equals: ProofTests.refused)
  }

  @Test func aPasswordIsChangedWithTheOldOne() throws {
    var pool = try TestPool(["PasswordHistorySize": 2])
    let access = try pool.tokens().access
    func change(_ old: String, _ new: String) -> String {
      let input: [String: JSON] = [
        "PreviousPassword": .string(old), "ProposedPassword": .string(new),
      ]
      let reply = pool.call("ChangePassword", token: access, input)
      return reply.status == 200 ? "" : reply.cognitoError
    }
    expect(change("wrong", "Alice-new-1"), equals: ProofTests.refused)
    expect(change(TestPool.password, "short").hasPrefix("InvalidPasswordException"))
    expect(
      change(TestPool.password, TestPool.password).hasPrefix(
        "PasswordHistoryPolicyViolationException"))
    expect(change(TestPool.password, "Alice-new-1"), equals: "")
    expect(try pool.prove("alice", "Alice-new-1").status, equals: 200)
    expect(
      pool.call("ChangePassword", token: access, ["ProposedPassword": "Alice-new-2"]).cognitoError,
      equals: "InvalidParameterException: Missing required parameter PreviousPassword")
    for _ in 0..<4 { _ = change("wrong", "Alice-new-3") }
    expect(
      change("Alice-new-1", "Alice-new-3"),
      equals: "LimitExceededException: Attempt limit exceeded, please try after some time.")
  }

  @Test func noPasswordIsKept() throws {
    var pool = try TestPool()
    _ = pool.call("SignUp", SignUpTests.signUp("bob", "b@c.de", password: "Kept-n0where"))
    var text = ""
    dump(pool.test.sandbox.state.userPools, to: &text)
    expect(text.contains("bob") && !text.contains("Kept-n0where"))
  }
}
