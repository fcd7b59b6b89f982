import CredCore
import Testing

@testable import CredService

/// `account` at a user pool: what is sent, what is limited, and who may do what.
struct PoolAccountTests {
  private static let all =
    "account_actions = " + AccountAction.allCases.map(\.rawValue).joined(separator: " ") + "\n"
  private static let user = FakeHTTP.Answer.reply(
    200,
    #"{"Username":"alice","UserAttributes":[{"Name":"email","Value":"a@example.com"}],"#
      + #""UserMFASettingList":["SMS_MFA"]}"#)
  private static let ok = FakeHTTP.Answer.reply(200, "{}")

  private func fixture(
    _ actions: String = all, profile: String = ""
  ) throws -> (ServiceFixture, FakePool) {
    try ServiceFixture.ofUserPool(Configured.userPool(profile: profile, backend: actions))
  }

  private func line(_ members: String) -> String { #"{"op":"account","action":"# + members + "}" }

  @Test func theAccountIsReadWithATokenThatIsNotKept() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool()
    pool.faults["GetUser"] = [Self.user]
    let reply = try fixture.ask(line(#""get""#))
    #expect(reply["Username"]?.text == "alice")
    #expect(reply["Attributes"]?["email"]?.text == "a@example.com")
    #expect(reply["Mfa"]?["Enabled"] == .array([.string(Secret("SMS_MFA"))]))
    #expect(pool.operations == ["GetTokensFromRefreshToken", "GetUser"])
    #expect(fixture.service.sessions.values.first?.machine.state.poolSession?.accessToken == nil)
  }

  @Test func theRotatedTokenOfAnActionIsTheSessions() throws {
    let (fixture, pool) = try fixture()
    pool.rotates = true
    try fixture.signInAtPool()
    for _ in 0..<3 {
      pool.faults["GetUser"] = [Self.user]
      #expect(try fixture.ask(line(#""get""#))["Username"] != nil)
    }
    let kept = fixture.service.sessions.values.first?.machine.state.poolSession?.refreshToken
    #expect(kept == Secret("refresh-3"))
  }

  @Test func aHeldAccessTokenIsUsedAndARevokedOneIsRenewedOnce() throws {
    let (fixture, pool) = try fixture(profile: "vend_tokens = account\n")
    try fixture.signInAtPool()
    pool.faults["GetUser"] = [
      Self.user, FakePool.refusal("NotAuthorizedException", "Access Token has been revoked"),
      Self.user,
    ]
    fixture.advance(by: .seconds(1))
    #expect(try fixture.ask(line(#""get""#))["Username"] != nil)
    #expect(pool.operations == ["GetUser"])
    #expect(try fixture.ask(line(#""get""#))["Username"] != nil)
    #expect(pool.operations == ["GetUser", "GetUser", "GetTokensFromRefreshToken", "GetUser"])
    let revoked = FakePool.refusal("NotAuthorizedException", "Access Token has been revoked")
    pool.faults["GetUser"] = [revoked, revoked, revoked, revoked]
    #expect(try fixture.ask(line(#""get""#)).errorCode == "SignInRequired")
    #expect(pool.faults["GetUser"]?.count == 2)
  }

  @Test func onlyListedActionsAreDone() throws {
    let (fixture, pool) = try fixture("")
    try fixture.signInAtPool()
    for action in AccountAction.allCases
    where !UserPoolSettings.standardAccountActions.contains(action) {
      let reply = try fixture.ask(line(#""\#(action.rawValue)""# + keys(of: action)))
      #expect(reply.errorCode == "AccessDenied", "\(action)")
    }
    #expect(pool.operations == [])
  }

  private func keys(of action: AccountAction) -> String {
    switch action {
    case .signUp: #","username":"u","password":"Password-1""#
    case .confirm: #","username":"u","code":"1""#
    case .resend, .forgotPassword: #","username":"u""#
    case .resetPassword: #","username":"u","code":"1","password":"Password-1""#
    case .changePassword: #","old_password":"Password-1","password":"Password-2""#
    case .setAttributes: #","attributes":{"email":"e@example.com"}"#
    case .verifyAttribute: #","name":"email""#
    case .deleteAttributes: #","names":["email"]"#
    case .mfa: #","enabled":[]"#
    case .get, .totp, .devices, .delete, .rememberDevice, .forgetDevice: ""
    }
  }

  @Test func anActionOnTheOwnAccountNeedsASignIn() throws {
    let (fixture, pool) = try fixture()
    for action in AccountAction.allCases where AccountInput.isOwn(action) {
      let reply = try fixture.ask(line(#""\#(action.rawValue)""# + keys(of: action)))
      #expect(reply.errorCode == "SignInRequired", "\(action)")
    }
    #expect(pool.operations == [])
  }

  @Test func whatChangesTheAccountWantsASignInOfAMomentAgo() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool(signedIn: fixture.host.clock.wallTime)
    fixture.advance(by: .seconds(15 * 60))
    for action in AccountAction.allCases where action.needsRecentSignIn {
      let reply = try fixture.ask(line(#""\#(action.rawValue)""# + keys(of: action)))
      #expect(reply.errorCode == "SignInRequired", "\(action)")
      #expect(reply["Error"]?["Reason"]?.text == "ReauthenticationRequired", "\(action)")
    }
    #expect(pool.operations == [])
  }

  @Test func actionsBeforeASignInAreLimitedAndAudited() throws {
    let (fixture, pool) = try fixture()
    pool.faults["ForgotPassword"] = [Self.ok, Self.ok, Self.ok, Self.ok]
    let forgot = line(#""forgot-password","username":"bob""#)
    for _ in 0..<3 { #expect(try fixture.ask(forgot).errorCode == nil) }
    let refused = try fixture.ask(forgot)
    #expect(refused.errorCode == "TooManyRequests")
    #expect(pool.operations.count == 3)
    let entries = fixture.host.log.entries.filter {
      $0["message_id"] == JournalEvent.accountAction.rawValue
    }
    #expect(entries.count == 3 && entries.allSatisfy { $0["username"] == "bob" })
  }

  @Test func aUsersOwnMessagesAreLimitedToo() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool()
    pool.faults["GetUserAttributeVerificationCode"] = [Self.ok, Self.ok, Self.ok, Self.ok]
    let verify = line(#""verify-attribute","name":"email""#)
    for _ in 0..<3 { #expect(try fixture.ask(verify).errorCode == nil) }
    #expect(try fixture.ask(verify).errorCode == "TooManyRequests")
    #expect(pool.operations.count { $0 == "GetUserAttributeVerificationCode" } == 3)
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
    #expect(codes.first == "AccountRefused" && codes.last == "TooManyRequests")
    #expect(pool.operations.count { $0 == operation } < 10)
  }

  /// Whether there is such a user, and whether a code is right, is not told apart.
  @Test func unknownUsersReadLikeOthers() throws {
    for action in [
      #""confirm","username":"u","code":"1""#, #""forgot-password","username":"u""#,
      #""resend","username":"u""#,
      #""reset-password","username":"u","code":"1","password":"Password-1""#,
    ] {
      var replies: [String] = []
      for error in [
        "UserNotFoundException", "NotAuthorizedException", "InvalidParameterException",
        "UserNotConfirmedException",
      ] {
        let (fixture, pool) = try fixture()
        let refusal = FakePool.refusal(error, "User does not exist.")
        for name in [
          "ConfirmSignUp", "ForgotPassword", "ResendConfirmationCode", "ConfirmForgotPassword",
        ] { pool.faults[name] = [refusal] }
        replies.append("\(try fixture.ask(line(action)))")
      }
      #expect(replies.allSatisfy { $0 == replies[0] }, "\(action)")
      #expect(replies[0].contains("AccountRefused"), "\(action)")
    }
  }

  /// It waits for nobody's sign-in: the next user may be another one.
  @Test func aSessionThatThePoolHasEndedIsSaidAtOnce() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool()
    pool.faults["GetTokensFromRefreshToken"] = [
      FakePool.refusal("NotAuthorizedException", "Refresh Token has been revoked")
    ]
    let start = fixture.now
    #expect(try fixture.ask(line(#""get""#)).errorCode == "SignInRequired")
    #expect(fixture.now - start < .seconds(1))
    #expect(try fixture.ask(#"{"op":"identity"}"#).state == "tokensInvalid")
  }

  @Test func aDeletedAccountEndsTheSession() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool(signedIn: fixture.host.clock.wallTime)
    pool.faults["DeleteUser"] = [.reply(200, "")]
    #expect(try fixture.ask(line(#""delete""#)).errorCode == nil)
    #expect(try fixture.ask(#"{"op":"identity"}"#).state == "signedOut")
  }

  @Test func passwordsAndCodesAreInNoLogAndNoError() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool()
    for secret in ["Hush-hush-1", "123987"] {
      pool.faults["ChangePassword"] = [
        FakePool.refusal("InvalidPasswordException", "\(secret) is bad")
      ]
      pool.faults["VerifyUserAttribute"] = [
        FakePool.refusal("CodeMismatchException", "\(secret) is bad")
      ]
      for members in [
        #""change-password","old_password":"\#(secret)","password":"\#(secret)""#,
        #""verify-attribute","name":"email","code":"\#(secret)""#,
      ] {
        let reply = try fixture.ask(line(members))
        #expect(reply.errorCode != nil && !"\(reply)".contains(secret))
        fixture.advance(by: .seconds(600))
      }
    }
    #expect(!"\(fixture.host.log.entries)".contains("Hush-hush-1"))
    #expect(!"\(fixture.host.log.entries)".contains("123987"))
  }
}

extension AccountInput {
  fileprivate static func isOwn(_ action: AccountAction) -> Bool {
    switch action {
    case .signUp, .confirm, .resend, .forgotPassword, .resetPassword: false
    default: action != .rememberDevice && action != .forgetDevice
    }
  }
}

/// `token` with the kinds of a user pool.
struct VendedTokenTests {
  private func fixture(_ profile: String) throws -> (ServiceFixture, FakePool) {
    let (fixture, pool) = try ServiceFixture.ofUserPool(Configured.userPool(profile: profile))
    try fixture.signInAtPool()
    return (fixture, pool)
  }

  private func token(_ fixture: ServiceFixture, _ kind: String?, _ more: String = "") throws
    -> Reply
  {
    let kind = kind.map { #","kind":"\#($0)""# } ?? ""
    return try fixture.ask(#"{"op":"token","wait":0\#(kind)\#(more)}"#)
  }

  @Test func withoutAWordNoTokenIsHandedOut() throws {
    let (fixture, _) = try fixture("")
    for kind in [nil, "id", "access"] {
      #expect(try token(fixture, kind).errorCode == "AccessDenied")
    }
    #expect(try token(fixture, "developer").errorCode == "InvalidRequest")
    #expect(try token(fixture, "refresh").errorCode == "InvalidRequest")
  }

  @Test func theFirstKindIsTheDefault() throws {
    let (fixture, pool) = try fixture("vend_tokens = id\n")
    let reply = try token(fixture, nil)
    #expect(reply["Token"]?.text?.hasPrefix("e30.") == true && reply["Expiration"] != nil)
    #expect(try token(fixture, "id")["Token"] == reply["Token"])
    #expect(try token(fixture, "access").errorCode == "AccessDenied")
    #expect(pool.operations == [])
  }

  @Test func aLoopBurnsNoRotation() throws {
    let (fixture, pool) = try fixture("vend_tokens = id\n")
    pool.rotates = true
    fixture.advance(by: .seconds(60))
    var tokens: Set<String> = []
    for _ in 0..<50 {
      let reply = try fixture.ask(#"{"op":"token","refresh":true,"wait":1}"#)
      if let text = reply["Token"]?.text { tokens.insert(text) }
    }
    #expect(!tokens.isEmpty && pool.operations.count <= 2)
  }

  @Test func manyWaitersShareOneRenewal() throws {
    let (fixture, pool) = try fixture("vend_tokens = id access account\n")
    fixture.advance(by: .seconds(7200))
    let clients = (0..<20).map { _ in fixture.connect() }
    for (number, client) in clients.enumerated() {
      client.send(#"{"op":"token","kind":"\#(number % 2 == 0 ? "id" : "access")"}"#)
    }
    fixture.advance(by: .seconds(1))
    for client in clients { #expect(try client.next()["Token"] != nil) }
    #expect(pool.operations == ["GetTokensFromRefreshToken"])
  }

  @Test func aTokenThatMayChangeTheAccountTakesTheWordForIt() throws {
    let scope = #","scope":"openid aws.cognito.signin.user.admin""#
    for (words, isGiven) in [("access", false), ("access account", true), ("account", true)] {
      let (fixture, pool) = try fixture("vend_tokens = \(words)\n")
      pool.moreAccessClaims = scope
      fixture.advance(by: .seconds(7200))
      let reply = try fixture.ask(#"{"op":"token","kind":"access"}"#)
      #expect((reply["Token"] != nil) == isGiven, "\(words)")
      if !isGiven { #expect(reply.errorCode == "AccessDenied") }
    }
  }

  @Test func aRefreshTokenIsNeverHandedOut() throws {
    let (fixture, _) = try fixture("vend_tokens = id access account\n")
    for kind in [nil, "id", "access"] {
      #expect(!"\(try token(fixture, kind))".contains("refresh-0"))
    }
  }
}
