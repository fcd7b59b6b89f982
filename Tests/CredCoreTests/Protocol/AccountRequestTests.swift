import CredCore
import Testing

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
      return #expect(Bool(false), "\(account)")
    }
    #expect(request.profile == "default")
    #expect(signUp.username == "a" && signUp.password == Secret("p"))
    #expect(signUp.attributes.map(\.name) == ["Invitation"])
    #expect(!account.isFreeOfSecrets)
  }

  @Test(arguments: AccountAction.allCases.filter { $0 != .signUp })
  func knowsTheOtherActionsWithTheirKeys(_ action: AccountAction) throws {
    let account = try parse(
      #""action":"\#(action.rawValue)","code":"1","old_password":"o","names":["a"],"device":"d""#)
    #expect(account == .account(AccountRequest(input: .notOffered(action))))
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
    #expect(message(members) == expected)
  }

  @Test func anAttributeIsAShortText() {
    let start = #""action":"sign-up","username":"u","password":"p","attributes":"#
    #expect(message(start + #"{"a":5}"#)?.contains("at most 2048 bytes") == true)
    #expect(message(start + #"{"a b":"x"}"#)?.contains("printable") == true)
    let long = String(repeating: "x", count: 2049)
    #expect(message(start + "{\"a\":\"\(long)\"}")?.contains(long) == false)
  }

  @Test func aSignUpNamesNoMemberTwice() throws {
    let backend = HTTPBackend(name: "corp", hostToken: Secret("host"))
    let url = "https://auth.example.com/register"
    let plain = SignUp(username: "alice", password: Secret("p"))
    let request = try backend.signUpRequest(plain, url: url)
    #expect(Samples.body(request) == #"{"Username":"alice","Password":"p"}"#)
    #expect(Samples.header(request, "Authorization") == "Bearer host")
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
    #expect(failure?.code == code)
    #expect(failure?.message.contains("hunter2") == false)
  }

  @Test func aBackendMayWantAConfirmation() throws {
    let backend = HTTPBackend(name: "corp")
    let signUp = SignUp(username: "alice", password: Secret("p"))
    let plain = try backend.signUpResult(from: Samples.reply(201, ""), to: signUp)
    #expect(plain.isConfirmed && plain.delivery == nil)
    let body = #"{"Confirmed":false,"Delivery":{"Medium":"email","Destination":"a***@e***"}}"#
    let later = try backend.signUpResult(from: Samples.reply(200, body), to: signUp)
    #expect(!later.isConfirmed && later.delivery?.destination == "a***@e***")
  }
}
