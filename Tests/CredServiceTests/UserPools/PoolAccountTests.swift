import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// `account` at a user pool: what is sent, and what is said of it.
struct PoolAccountTests: PoolAccountTesting {
  @Test func theAccountIsReadWithATokenThatIsNotKept() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool()
    pool.faults["GetUser"] = [Self.user]
    let reply = try fixture.ask(line(#""get""#))
    expect(reply["Username"]?.text, equals: "alice")
    expect(reply["Attributes"]?["email"]?.text, equals: "a@example.com")
    expect(reply["Mfa"]?["Enabled"], equals: .array([.string(Secret("SMS_MFA"))]))
    expect(pool.operations, equals: ["GetTokensFromRefreshToken", "GetUser"])
    expect(fixture.service.sessions.values.first?.machine.state.providerSession?.accessToken == nil)
  }

  @Test func theRotatedTokenOfAnActionIsTheSessions() throws {
    let (fixture, pool) = try fixture()
    pool.rotates = true
    try fixture.signInAtPool()
    for _ in 0..<3 {
      pool.faults["GetUser"] = [Self.user]
      expect(try fixture.ask(line(#""get""#))["Username"] != nil)
    }
    let kept = fixture.service.sessions.values.first?.machine.state.providerSession?.refreshToken
    expect(kept, equals: Secret("refresh-3"))
  }

  @Test func aHeldAccessTokenIsUsedAndARevokedOneIsRenewedOnce() throws {
    let (fixture, pool) = try fixture(profile: "vend_tokens = access account\n")
    try fixture.signInAtPool()
    pool.faults["GetUser"] = [
      Self.user, FakePool.refusal("NotAuthorizedException", "Access Token has been revoked"),
      Self.user,
    ]
    fixture.advance(by: .seconds(1))
    expect(try fixture.ask(line(#""get""#))["Username"] != nil)
    expect(pool.operations, equals: ["GetUser"])
    expect(try fixture.ask(line(#""get""#))["Username"] != nil)
    expect(pool.operations, equals: ["GetUser", "GetUser", "GetTokensFromRefreshToken", "GetUser"])
    let revoked = FakePool.refusal("NotAuthorizedException", "Access Token has been revoked")
    pool.faults["GetUser"] = [revoked, revoked, revoked, revoked]
    expect(try fixture.ask(line(#""get""#)).errorCode, equals: "SignInRequired")
    expect(pool.faults["GetUser"]?.count, equals: 2)
  }

  @Test func onlyListedActionsAreDone() throws {
    let (fixture, pool) = try fixture("")
    try fixture.signInAtPool()
    for action in AccountAction.allCases
    where !UserPoolSettings.standardAccountActions.contains(action) {
      let reply = try fixture.ask(line(#""\#(action.rawValue)""# + keys(of: action)))
      expect(reply.errorCode, equals: "AccessDenied", "\(action)")
    }
    expect(pool.operations, equals: [])
  }

  @Test func textsForTriggersGoWhereTheBackendAllowsThem() throws {
    let signUp =
      #""sign-up","username":"u","password":"Password-1","client_metadata":{"a":"1"},"#
      + #""validation_data":{"b":"2"}"#
    let (refusing, none) = try fixture()
    let refused = try refusing.ask(line(signUp))
    expect(refused.errorCode, equals: "InvalidRequest")
    expect(refused.errorMessage?.contains("client_metadata = no") == true)
    expect(none.operations, equals: [])
    let (fixture, pool) = try fixture(Self.all + "client_metadata = yes\n")
    pool.faults["SignUp"] = [.reply(200, #"{"UserConfirmed":true,"UserSub":"s"}"#)]
    expect(try fixture.ask(line(signUp))["Confirmed"]?.bool, equals: true)
    expect(pool.bodies.last?["ClientMetadata"]?["a"]?.text, equals: "1")
    expect(pool.bodies.last?["ValidationData"]?[0]?["Value"]?.text, equals: "2")
    // What a trigger says does not repeat them.
    pool.faults["ConfirmSignUp"] = [
      FakePool.refusal("UserLambdaValidationException", "refused for Hush-hush-1")
    ]
    let confirm =
      #""confirm","username":"u","code":"1","client_metadata":{"reason":"Hush-hush-1"}"#
    let reply = try fixture.ask(line(confirm))
    expect(reply.errorCode != nil && !"\(reply)".contains("Hush-hush-1"), "\(reply)")
  }

  @Test func anActionOnTheOwnAccountNeedsASignIn() throws {
    let (fixture, pool) = try fixture()
    for action in AccountAction.allCases where action.isOwn {
      let reply = try fixture.ask(line(#""\#(action.rawValue)""# + keys(of: action)))
      expect(reply.errorCode, equals: "SignInRequired", "\(action)")
    }
    expect(pool.operations, equals: [])
  }

  @Test func whatIsNotAllowedIsInTheJournal() throws {
    let (fixture, _) = try fixture("account_actions = delete forgot-password\n")
    try fixture.signInAtPool(signedIn: fixture.host.clock.wallTime)
    fixture.advance(by: .seconds(15 * 60))
    let refusals = try [
      #""change-password","old_password":"Old-pass-1","password":"New-pass-1""#, #""delete""#,
    ].map { try fixture.ask(line($0)).errorCode }
    expect(refusals, equals: ["AccessDenied", "SignInRequired"])
    let entries = fixture.host.log.entries.filter {
      $0["message_id"] == JournalEvent.accountAction.rawValue
    }
    expect(entries.map { $0["action"] }, equals: ["change-password", "delete"])
    expect(entries.map { $0["code"] }, equals: refusals)
    expect(entries.allSatisfy { $0["username"] == "alice" && $0.message.contains("refused") })
    expect(entries.last?["reason"], equals: "ReauthenticationRequired")
  }

  @Test func noProgramFillsTheJournalWithActions() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool()
    for _ in 0..<50 {
      pool.faults["GetUser"] = [Self.user]
      _ = try fixture.ask(line(#""get""#))
    }
    let entries = fixture.host.log.entries.filter {
      $0["message_id"] == JournalEvent.accountAction.rawValue
    }
    expect((1...40).contains(entries.count))
  }

  /// It waits for nobody's sign-in: the next user may be another one.
  @Test func aSessionThatThePoolHasEndedIsSaidAtOnce() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool()
    pool.faults["GetTokensFromRefreshToken"] = [
      FakePool.refusal("NotAuthorizedException", "Refresh Token has been revoked")
    ]
    let start = fixture.now
    expect(try fixture.ask(line(#""get""#)).errorCode, equals: "SignInRequired")
    expect(fixture.now - start < .seconds(1))
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "tokensInvalid")
  }

  @Test func passwordsAndCodesAreInNoLogAndNoError() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool()
    // A code is sent without blanks, and may come back so.
    for (secret, sent) in [
      ("Hush-hush-1", "Hush-hush-1"), ("123987", "123987"), ("456 789", "456789"),
    ] {
      pool.faults["ChangePassword"] = [
        FakePool.refusal("InvalidPasswordException", "\(secret) is bad")
      ]
      pool.faults["VerifyUserAttribute"] = [
        FakePool.refusal("CodeMismatchException", "\(sent) is bad, \(secret)")
      ]
      for members in [
        #""change-password","old_password":"\#(secret)","password":"\#(secret)""#,
        #""verify-attribute","name":"email","code":"\#(secret)""#,
      ] {
        let reply = try fixture.ask(line(members))
        expect(reply.errorCode != nil && !"\(reply)".contains(secret))
        expect(!"\(reply)".contains(sent), "\(reply)")
        fixture.advance(by: .seconds(600))
      }
    }
    expect(!"\(fixture.host.log.entries)".contains("Hush-hush-1"))
    expect(!"\(fixture.host.log.entries)".contains("123987"))
  }

  /// However little time passes between two looks at the clock.
  @Test func aTokenThatHasJustComeIsNotRenewedAgain() throws {
    let (fixture, pool) = try fixture(profile: "vend_tokens = access account\n")
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(7200))
    fixture.host.clock.step = .nanoseconds(1)
    pool.faults["GetUser"] = Array(
      repeating: FakePool.refusal("NotAuthorizedException", "Access Token has expired"), count: 50)
    expect(try fixture.ask(line(#""get""#)).errorCode, equals: "SignInRequired")
    expect(pool.operations, equals: ["GetTokensFromRefreshToken", "GetUser"])
  }
}
