import TestSupport
import Testing

@testable import CredCore

struct AccountRequestTests {
  private func parse(_ members: String) throws(RequestError) -> CredCore.Operation {
    try Request.parse(Array("{\"op\":\"account\",\(members)}".utf8)).operation
  }

  private func message(_ members: String) -> String? {
    do throws(RequestError) {
      _ = try parse(members)
      return nil
    } catch {
      return error.error.message
    }
  }

  @Test func readsASignUp() throws {
    let account = try parse(
      #""action":"sign-up","username":"a","password":"p","attributes":{"Invitation":"i"}"#)
    guard case .account(let request) = account, case .signUp(let signUp) = request.input else {
      return expect(Bool(false), "\(account)")
    }
    expect(request.profile, equals: "default")
    expect(signUp.username == "a" && signUp.password == Secret("p"))
    expect(signUp.attributes.map(\.name), equals: ["Invitation"])
    expect(!account.isFreeOfSecrets)
  }

  @Test func everyActionTakesItsOwnKeys() throws {
    let device = "us-east-1_0123-abc"
    let session = "sso" + String(repeating: "a0b1c", count: 5)
    let rows: [(String, AccountInput)] = [
      (#""confirm","username":"a","code":"1 2""#, .confirm(username: "a", code: Secret("1 2"))),
      (#""resend","username":"a""#, .resend(username: "a")),
      (#""forgot-password","username":"a""#, .forgotPassword(username: "a")),
      (
        #""reset-password","username":"a","code":"1","password":"p""#,
        .resetPassword(username: "a", code: Secret("1"), password: Secret("p"))
      ),
      (#""get""#, .own(.get)), (#""delete""#, .own(.delete)),
      (
        #""change-password","old_password":"o","password":"p""#,
        .own(.changePassword(from: Secret("o"), to: Secret("p")))
      ),
      (
        #""set-attributes","attributes":{"email":"e"}"#,
        .own(.setAttributes([.init(name: "email", value: Secret("e"))]))
      ),
      (#""verify-attribute","name":"email""#, .own(.verifyAttribute("email", code: nil))),
      (
        #""verify-attribute","name":"email","code":"1""#,
        .own(.verifyAttribute("email", code: Secret("1")))
      ),
      (#""delete-attributes","names":["a","b"]"#, .own(.deleteAttributes(["a", "b"]))),
      (
        #""mfa","enabled":["SMS_MFA"],"preferred":"none""#,
        .own(.mfa(MFAChoice(enabled: [.sms], preferred: .some(nil))))
      ),
      (#""totp""#, .own(.totp(code: nil, name: nil))),
      (#""totp","code":"1","name":"n""#, .own(.totp(code: Secret("1"), name: "n"))),
      (#""devices","after":"x""#, .own(.devices(after: "x"))),
      (#""remember-device""#, .own(.rememberDevice(nil, true))),
      (
        #""remember-device","device":"\#(device)","remembered":false"#,
        .own(.rememberDevice(device, false))
      ),
      (#""forget-device","device":"\#(device)""#, .own(.forgetDevice(device))),
      (#""sessions","after":"x""#, .own(.sessions(after: "x"))),
      (
        #""end-session","session":"\#(session)""#,
        .own(.endSession(try TrackedSessionID(session)))
      ),
    ]
    for (members, input) in rows {
      let read = try parse(#""action":"# + members)
      expect(read, equals: .account(AccountRequest(input: input)), "\(members)")
    }
    let covered = Set(rows.map(\.1.action)).union([.signUp])
    expect(covered, equals: Set(AccountAction.allCases))
  }

  @Test(arguments: [
    #""mfa""#, #""mfa","enabled":["sms"]"#, #""mfa","enabled":[],"preferred":"SMS_MFA""#,
    #""totp","names":["a"]"#, #""forget-device","device":"x""#, #""delete-attributes","names":[]"#,
    #""set-attributes""#, #""verify-attribute""#, #""confirm","username":"a""#,
    #""change-password","password":"p""#, #""get","username":"a""#, #""totp","code":5"#,
    #""sessions","session":"x""#, #""sessions","after":5"#, #""end-session","session":5"#,
  ])
  func whatDoesNotFitTheActionIsRefused(_ members: String) {
    expect(message(#""action":"# + members) != nil)
  }

  @Test func textsForTriggersComeWithWhatRunsThem() throws {
    let metadata = try ClientMetadata([("a", Secret("1"))])
    let taken: [String: String] = [
      "sign-up": #","username":"u","password":"p""#, "confirm": #","username":"u","code":"1""#,
      "resend": #","username":"u""#, "forgot-password": #","username":"u""#,
      "reset-password": #","username":"u","code":"1","password":"p""#,
      "set-attributes": #","attributes":{"email":"e"}"#, "verify-attribute": #","name":"email""#,
    ]
    for action in AccountAction.allCases.map(\.rawValue) {
      let line = #""action":"\#(action)"\#(taken[action] ?? ""),"client_metadata":{"a":"1"}"#
      guard taken[action] != nil else {
        expect(message(line)?.contains("does not belong to action") == true, "\(action)")
        continue
      }
      guard case .account(let account) = try parse(line) else {
        return expect(Bool(false), "\(action)")
      }
      expect(account.metadata == metadata && account.validationData == nil, "\(action)")
      let validated = line + #","validation_data":{"b":"2"}"#
      expect(message(validated) == nil, equals: action == "sign-up", "\(action)")
    }
    // No trigger gets it: VerifyUserAttribute has no ClientMetadata.
    let verify = #""action":"verify-attribute","name":"email","code":"1""#
    expect(message(verify) == nil)
    expect(
      message(verify + #","client_metadata":{"a":"1"}"#)?.contains("no trigger gets it") == true)
    let twice = #","client_metadata":{"a":"1"},"validation_data":{"a":"2"}"#
    expect(
      message(#""action":"sign-up","username":"u","password":"p""# + twice)?
        .contains("must not have a name in common") == true)
  }

  @Test func aChoiceOfFactorsNamesWhatChangesAlone() throws {
    let user = try PoolUser(
      JSONValue.parse(
        Array(
          (#"{"Username":"u","PreferredMfaSetting":"SOFTWARE_TOKEN_MFA","#
            + #""UserMFASettingList":["SMS_MFA","SOFTWARE_TOKEN_MFA"]}"#).utf8)))
    func change(_ enabled: [MFAFactor]?, _ preferred: MFAFactor??) throws -> MFAPreference? {
      try MFAChoice(enabled: enabled, preferred: preferred).change(from: user)
    }
    expect(try change([.sms, .app], nil) == nil)
    expect(try change(nil, .some(.app)) == nil)
    expect(try change([.app], nil)?.enabled, equals: [.sms: false])
    expect(try change([], nil)?.enabled, equals: [.sms: false, .app: false])
    let other = try change(nil, .some(.sms))
    expect(other?.enabled == [.sms: true, .app: true] && other?.preferred == .sms)
    let none = try change(nil, .some(nil))
    expect(none?.enabled == [.app: true] && none?.preferred == nil)
    expect(try change(nil, .some(.email))?.enabled, equals: [.app: true, .email: true])
  }

  @Test(arguments: [
    (#""username":"u""#, #""account" needs "action", such as "sign-up""#),
    (#""action":"signup""#, #"unknown action "signup", did you mean "sign-up"?"#),
    (#""action":"sign-up","username":"u""#, #""password" must be 1 to 4096 bytes"#),
    (
      #""action":"sign-up","password":"p""#,
      #""username" must be 1 to 1024 characters without controls"#
    ),
    (
      #""action":"sign-up","username":"u","password":"p","code":"1""#,
      #"key "code" at byte 65 does not belong to action "sign-up""#
    ),
    (
      #""action":"sign-up","username":"u","password":"p","attributes":[]"#,
      #""attributes" must be an object of at most 50 texts"#
    ),
  ])
  func namesWhatIsWrong(members: String, expected: String) {
    expect(message(members), equals: expected)
  }

  /// Of another kind, too short, too long, with a large letter.
  @Test(arguments: [
    "abc" + String(repeating: "a", count: 25), "tkn" + String(repeating: "a", count: 24),
    "tkn" + String(repeating: "a", count: 26), "sso" + String(repeating: "A", count: 25), "",
  ])
  func whatIsNoSessionIsRefused(_ text: String) {
    expect(
      message(#""action":"end-session","session":"\#(text)""#),
      equals:
        #""session" is not tkn or sso and 25 small letters and digits: 'sessions' lists them"#)
  }

  @Test func toEndASessionNeedsItsName() {
    expect(
      message(#""action":"end-session""#),
      equals: #"action "end-session" needs "session": 'sessions' lists them"#)
  }

  @Test func anAttributeIsAShortText() {
    let start = #""action":"sign-up","username":"u","password":"p","attributes":"#
    expect(message(start + #"{"a":5}"#)?.contains("at most 2048 bytes") == true)
    expect(message(start + #"{"a b":"x"}"#)?.contains("printable") == true)
    let long = String(repeating: "x", count: 2049)
    expect(message(start + "{\"a\":\"\(long)\"}")?.contains(long) == false)
  }

  @Test func aSignUpNamesNoMemberTwice() throws {
    let backend = HTTPBackend(name: "corp", hostToken: Secret("host"))
    let url = "https://auth.example.com/register"
    let plain = SignUp(username: "alice", password: Secret("p"))
    let request = try backend.signUpRequest(plain, url: url)
    expect(Samples.body(request), equals: #"{"Username":"alice","Password":"p"}"#)
    expect(Samples.header(request, "Authorization"), equals: "Bearer host")
  }

  @Test(arguments: [
    (400, ProtocolErrorCode.accountRefused), (403, .accountRefused), (409, .accountRefused),
    (404, .backendRejected), (503, .backendUnavailable), (429, .throttled),
  ])
  func statusesOfASignUp(status: Int, code: ProtocolErrorCode) {
    let backend = HTTPBackend(name: "corp")
    let signUp = SignUp(username: "alice", password: Secret("hunter2-horse"))
    let reply = Samples.reply(status, #"{"Message":"hunter2-horse is too short"}"#)
    let failure = CredCoreTests.failure { () throws(UpstreamFailure) in
      _ = try backend.signUpResult(from: reply, to: signUp)
    }
    expect(failure?.code, equals: code)
    expect(failure?.message.contains("hunter2") == false)
  }

  @Test func aBackendMayWantAConfirmation() throws {
    let backend = HTTPBackend(name: "corp")
    let signUp = SignUp(username: "alice", password: Secret("p"))
    let plain = try backend.signUpResult(from: Samples.reply(201, ""), to: signUp)
    expect(plain.isConfirmed && plain.delivery == nil)
    let body = #"{"Confirmed":false,"Delivery":{"Medium":"email","Destination":"a***@e***"}}"#
    let later = try backend.signUpResult(from: Samples.reply(200, body), to: signUp)
    expect(!later.isConfirmed && later.delivery?.destination == "a***@e***")
    let bare = #"{"Delivery":{"Medium":"\u001b[2Jmail","Destination":"a\n\u001b]0;b"}}"#
    let clean = try backend.signUpResult(from: Samples.reply(200, bare), to: signUp)
    for text in [clean.delivery?.medium, clean.delivery?.destination] {
      expect(text?.unicodeScalars.allSatisfy { $0.value >= 0x20 } == true)
    }
    let long =
      #"{"Delivery":{"Medium":"email","Destination":"\#(String(repeating: "a", count: 9999))"}}"#
    let short = try backend.signUpResult(from: Samples.reply(200, long), to: signUp)
    expect((short.delivery?.destination.count ?? 0) < 1000)
  }
}
