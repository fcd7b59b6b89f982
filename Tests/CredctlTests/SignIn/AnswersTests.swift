import CredCore
import CredctlKit
import TestSupport
import Testing

struct AnswersTests {
  @Test func onlyWhatIsNoSecretStandsOnTheCommandLine() throws {
    expect(try AnswerSource("choice=SMS_MFA").origin, equals: .value("SMS_MFA"))
    expect(try AnswerSource("name=my phone").origin, equals: .value("my phone"))
    expect(try AnswerSource("confirm=true").origin, equals: .value("true"))
    expect(try AnswerSource("code=-").origin, equals: .standardInput)
    expect(try AnswerSource("password=@/a=b").origin, equals: .file("/a=b"))
    let attribute = try AnswerSource("attributes.name=@f")
    expect(attribute.isAttribute && attribute.name == "name" && attribute.origin == .file("f"))
    for wrong in ["code=123456", "password=x", "attributes.name=Carol", "code", "=-", "code=@"] {
      let failure = #expect(throws: Failure.self) { try AnswerSource(wrong) }
      expect(failure?.status, equals: .usage)
      expect(failure?.message.contains("123456") == false)
    }
  }

  @Test func eachAnswerIsGivenOnceAndOneOnStandardInput() throws {
    expect(try AnswerSource.list(["password=-", "attributes.password=@f"]).count, equals: 2)
    #expect(throws: Failure.self) { try AnswerSource.list(["code=-", "code=@f"]) }
    #expect(throws: Failure.self) { try AnswerSource.list(["code=-", "password=-"]) }
  }

  @Test func answersAreReadAsJSONAndWritten() throws {
    let answers = try Answers(
      json: Array(#"{"password":"a\"b","attributes":{"email":"a@b.c"}}"#.utf8))
    var request = RequestLine(operation: "respond")
    request.add(answers)
    expect(
      String(decoding: request.finished(), as: UTF8.self),
      equals: #"{"op":"respond","answers":{"password":"a\"b","attributes":{"email":"a@b.c"}}}"#
        + "\n")
    for wrong in ["", "[]", #"{"a":1}"#, #"{"attributes":{"a":1}}"#] {
      let failure = #expect(throws: Failure.self) { try Answers(json: Array(wrong.utf8)) }
      expect(failure?.status, equals: .dataError)
    }
  }
}
