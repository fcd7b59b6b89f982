import CredCore
import CredctlKit
import TestSupport
import Testing

/// What a person sees of a challenge, and what goes back.
struct QuestionTests {
  private static let handle = String(repeating: "5f", count: 16)

  static func challenge(
    _ step: String, _ parameters: String = "{}", name: String = "NAME", state: String = "signedOut"
  ) throws -> Challenge {
    let reply = try JSONValue.parse(
      Array(
        """
        {"Version":1,"Profile":"p","State":"\(state)","Challenge":{"Handle":"\(handle)",
        "Step":"\(step)","Name":"\(name)","Parameters":\(parameters),"Answers":[],"ExpiresIn":180}}
        """.utf8))
    return try #require(try Challenge(reply))
  }

  private func question(_ challenge: Challenge) throws -> Question {
    try Question(challenge, username: "alice", profile: "work")
  }

  @Test(arguments: [
    (#"{"Medium":"sms","Destination":"+*11"}"#, "Code that was sent by SMS to +*11: "),
    (
      #"{"Medium":"email","Destination":"a***@e***"}"#,
      "Code that was sent by e-mail to a***@e***: "
    ),
    (#"{"Medium":"email"}"#, "Code that was sent by e-mail: "),
    (
      #"{"Medium":"app","Destination":"my phone"}"#,
      "Code that the authenticator app shows (my phone): "
    ),
    (#"{"Medium":"pigeon"}"#, "Code that was sent: "),
  ])
  func saysWhereACodeWent(_ parameters: String, _ prompt: String) throws {
    let question = try question(Self.challenge("code", parameters))
    expect(question.items.map(\.prompt), equals: [prompt])
    expect(question.items.map(\.kind), equals: [.secret])
  }

  /// The codes of an app depend on the phone's time; those that are sent do not.
  @Test func theSecondWrongCodeOfAnAppAsksForTheClock() throws {
    let refused = Failure(
      .notPermitted, "backend 'staff' does not accept the code: check it and answer again (Wrong)")
    let clock =
      "backend 'staff' does not accept the code: check it and this phone's clock, and answer again (Wrong)"
    let app = try Self.challenge("code", #"{"Medium":"app"}"#)
    expect(refused.advisingClock(app, refused: 1).message, equals: refused.message)
    expect(refused.advisingClock(app, refused: 2).message, equals: clock)
    let setup = try Self.challenge(
      "totpSetup", #"{"Secret":"A","Uri":"otpauth://totp/a?secret=A"}"#)
    expect(refused.advisingClock(setup, refused: 3).message, equals: clock)
    let sms = try Self.challenge("code", #"{"Medium":"sms"}"#)
    expect(refused.advisingClock(sms, refused: 2).message, equals: refused.message)
  }

  @Test func textsOfThePoolCannotCommandATerminal() throws {
    let evil = #"x\u001b]0;y\u0007\u202e\nz"#
    for challenge in [
      try Self.challenge("code", #"{"Medium":"sms","Destination":"\#(evil)"}"#),
      try Self.challenge("custom", #"{"\#(evil)":"\#(evil)"}"#, name: evil),
      try Self.challenge("select", #"{"Choices":["\#(evil)","b"]}"#),
      try Self.challenge("newPassword", #"{"Required":["\#(evil)"]}"#),
      try Self.challenge("totpSetup", #"{"Secret":"\#(evil)","Uri":"\#(evil)"}"#),
    ] {
      let question = try question(challenge)
      for text in question.lines + question.items.map(\.prompt) + [challenge.unanswered.line] {
        let line = text.hasSuffix("\n") ? String(text.dropLast()) : text
        expect(!line.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{202E}" }, "\(text)")
      }
    }
  }

  @Test func asksForANewPasswordTwiceAndForAttributes() throws {
    let question = try question(
      Self.challenge("newPassword", #"{"Required":["email","given_name"],"Attributes":{}}"#))
    expect(question.items.map(\.kind), equals: [.newPassword, .line, .line])
    expect(question.items.map(\.name), equals: ["password", "email", "given_name"])
    expect(question.items.map(\.isAttribute), equals: [false, true, true])
  }

  @Test func takesAChoiceByNumberOrName() throws {
    let item = try #require(
      try question(Self.challenge("select", #"{"Choices":["SMS_MFA","X"]}"#)).items.first)
    expect(try item.answer(for: Secret(" 2\n")), equals: Secret("X"))
    expect(try item.answer(for: Secret("SMS_MFA\n")), equals: Secret("SMS_MFA"))
    for wrong in ["", "0", "3", "sms_mfa", "-1", "99999999999999999999"] {
      #expect(throws: Question.Item.Mistake.self) { try item.answer(for: Secret(wrong)) }
    }
  }

  @Test func takesYesAndNoForADevice() throws {
    let item = try #require(
      try question(Self.challenge("select", #"{"Choices":["yes","no"]}"#, name: "DEVICE"))
        .items.first)
    expect(try item.answer(for: Secret("Y\n")), equals: Secret("yes"))
    expect(try item.answer(for: Secret("no")), equals: Secret("no"))
    #expect(throws: Question.Item.Mistake.self) { try item.answer(for: Secret("maybe")) }
  }

  @Test func leavesAPasswordAsItIsTyped() throws {
    let item = try #require(try question(Self.challenge("password")).items.first)
    expect(try item.answer(for: Secret(" a b ")), equals: Secret(" a b "))
    #expect(throws: Question.Item.Mistake.self) { try item.answer(for: Secret("")) }
  }

  @Test func aStepOfANewerDaemonIsNamed() throws {
    let failure = #expect(throws: Failure.self) {
      try question(Self.challenge("dance"))
    }
    expect(failure?.status == .unavailable && failure?.message.contains("dance") == true)
  }

  @Test(arguments: [
    ("code", "{}", "code=-"), ("select", #"{"Choices":["A"]}"#, "choice=NAME"),
    ("newPassword", #"{"Required":["a b"]}"#, "password=- 'attributes.a b=@FILE'"),
    ("custom", "{}", "answer=-"), ("password", "{}", "password=-"), ("totpSetup", "{}", "code=-"),
  ])
  func withoutATerminalTheCommandIsNamed(
    _ step: String, _ parameters: String, _ answers: String
  ) throws {
    let failure = try Self.challenge(step, parameters).unanswered
    expect(failure.status, equals: .notPermitted)
    expect(failure.handle, equals: Self.handle)
    expect(
      failure.message.hasSuffix(
        "within 180 s answer with 'credctl respond \(Self.handle) \(answers)'"),
      "\(failure.message)")
  }

  @Test(arguments: [#""a;b""#, #""""#, "7", #""$(x)""#])
  func aHandleThatIsNoneIsRefused(_ handle: String) throws {
    let reply = try JSONValue.parse(
      Array(#"{"Challenge":{"Handle":\#(handle),"Step":"code"}}"#.utf8))
    #expect(throws: Failure.self) { try Challenge(reply) }
  }
}
