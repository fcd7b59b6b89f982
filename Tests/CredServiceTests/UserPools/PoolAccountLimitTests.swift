import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Nobody guesses secrets, finds out who has an account, or sends messages without end by `account`.
struct PoolAccountLimitTests: PoolAccountTesting {
  @Test func aNewPasswordThatThePolicyRefusesIsNoGuess() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool()
    let change = line(#""change-password","old_password":"Right-pass1","password":"short""#)
    let refusal = FakePool.refusal("InvalidPasswordException", "Password not long enough")
    for _ in 0..<8 {
      pool.faults["ChangePassword"] = [refusal]
      expect(try fixture.ask(change).errorCode, equals: "AccountRefused")
    }
    pool.faults["ChangePassword"] = [Self.ok]
    expect(try fixture.ask(change).errorCode == nil)
  }

  @Test func aRightOldPasswordEndsTheCount() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool()
    let change = line(#""change-password","old_password":"Some-pass1","password":"Other-pass1""#)
    let wrong = FakePool.refusal("NotAuthorizedException", "Incorrect username or password.")
    for answers in [[wrong, wrong, Self.ok], [wrong, wrong, Self.ok]] {
      for answer in answers {
        pool.faults["ChangePassword"] = [answer]
        expect(try fixture.ask(change).errorCode != "TooManyRequests")
      }
    }
  }

  @Test func actionsBeforeASignInAreLimitedAndAudited() throws {
    let (fixture, pool) = try fixture()
    pool.faults["ForgotPassword"] = Array(repeating: Self.ok, count: 8)
    let forgot = line(#""forgot-password","username":"bob""#)
    for _ in 0..<3 { expect(try fixture.ask(forgot).errorCode == nil) }
    let refused = try fixture.ask(forgot)
    expect(refused.errorCode, equals: "TooManyRequests")
    expect(pool.bodies.count { $0["Username"]?.text == "bob" }, equals: 3)
    let entries = fixture.host.log.entries.filter {
      $0["message_id"] == JournalEvent.accountAction.rawValue
    }
    expect(entries.count == 4 && entries.allSatisfy { $0["username"] == "bob" })
    expect(entries.last?["code"], equals: "TooManyRequests")
  }

  @Test func aUsersOwnMessagesAreLimitedToo() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool()
    pool.faults["GetUserAttributeVerificationCode"] = [Self.ok, Self.ok, Self.ok, Self.ok]
    let verify = line(#""verify-attribute","name":"email""#)
    for _ in 0..<3 { expect(try fixture.ask(verify).errorCode == nil) }
    expect(try fixture.ask(verify).errorCode, equals: "TooManyRequests")
    expect(pool.operations.count { $0 == "GetUserAttributeVerificationCode" }, equals: 3)
  }

  @Test(arguments: [
    (#""verify-attribute","name":"email","code":"1""#, "VerifyUserAttribute"),
    (#""change-password","old_password":"Wrong-pass1","password":"Other-pass1""#, "ChangePassword"),
  ])
  func secretsAreNotGuessedHere(_ members: String, _ operation: String) throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool()
    let wrong = FakePool.refusal(
      operation == "ChangePassword" ? "NotAuthorizedException" : "CodeMismatchException",
      operation == "ChangePassword" ? "Incorrect username or password." : "no")
    pool.faults[operation] = Array(repeating: wrong, count: 100)
    var codes: [String?] = []
    for _ in 0..<20 { codes.append(try fixture.ask(line(members)).errorCode) }
    expect(codes.first == "AccountRefused" && codes.last == "TooManyRequests")
    expect(pool.operations.count { $0 == operation } < 10)
  }

  /// Whether there is such a user, and whether a code is right, is not told apart.
  @Test func unknownUsersReadLikeOthers() throws {
    for action in [
      #""confirm","username":"u","code":"1""#,
      #""reset-password","username":"u","code":"1","password":"Password-1""#,
    ] {
      var replies: [String] = []
      for error in [
        "UserNotFoundException", "NotAuthorizedException", "InvalidParameterException",
        "UserNotConfirmedException", "LimitExceededException", "TooManyFailedAttemptsException",
      ] {
        let (fixture, pool) = try fixture()
        let refusal = FakePool.refusal(error, "User does not exist.")
        for name in [
          "ConfirmSignUp", "ForgotPassword", "ResendConfirmationCode", "ConfirmForgotPassword",
        ] { pool.faults[name] = [refusal] }
        replies.append("\(try fixture.ask(line(action)))")
      }
      expect(replies.allSatisfy { $0 == replies[0] }, "\(action)")
      expect(replies[0].contains("AccountRefused"), "\(action)")
    }
  }

  /// A code that was sent reads like one that was not, whatever the reason. The pool is asked once, and
  /// for this name alone: it counts a question against the address. The journal knows the reason.
  @Test(arguments: ["forgot-password", "resend"])
  func codesThatAreAskedForTellNobodyWhoHasAnAccount(_ action: String) throws {
    let sent = FakeHTTP.Answer.reply(
      200,
      #"{"CodeDeliveryDetails":{"Destination":"a***@e***","DeliveryMedium":"EMAIL"}}"#)
    var replies: Set<String> = []
    for error in [
      nil, "UserNotFoundException", "NotAuthorizedException", "InvalidParameterException",
      "UserNotConfirmedException", "CodeDeliveryFailureException", "LimitExceededException",
      "UserLambdaValidationException", "UnexpectedLambdaException", "NewFangledException",
    ] {
      let (fixture, pool) = try fixture()
      let answer = error.map { FakePool.refusal($0, "Password attempts exceeded") } ?? sent
      pool.faults = ["ForgotPassword": [answer], "ResendConfirmationCode": [answer]]
      let reply = try fixture.ask(line(#""\#(action)","username":"u""#))
      expect(reply.errorCode == nil && reply["Delivery"] == nil, "\(reply)")
      expect(pool.bodies.map { $0["Username"]?.text }, equals: ["u"])
      replies.insert(reply.text)
      let entry = fixture.host.log.entries.last {
        $0["message_id"] == JournalEvent.accountAction.rawValue
      }
      expect(entry?["reason"], equals: error)
    }
    expect(replies.count, equals: 1, "\(replies)")
  }
}
