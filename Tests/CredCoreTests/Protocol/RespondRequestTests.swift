import SeededRandom
import TestSupport
import Testing

@testable import CredCore

struct RespondRequestTests {
  private static let handle = "00112233445566778899aabbccddeeff"

  private func respond(_ members: String, handle: String = handle) throws -> RespondRequest? {
    let request = try RequestTests.parse(
      #"{"op":"respond","handle":"\#(handle)",\#(members)}"#)
    expect(!request.operation.isFreeOfSecrets)
    guard case .respond(let respond) = request.operation else { return nil }
    return respond
  }

  private func refusal(_ members: String, handle: String = handle) -> ProtocolError? {
    do {
      _ = try respond(members, handle: handle)
      return nil
    } catch {
      return (error as? RequestError)?.error
    }
  }

  @Test func readsAnswers() throws {
    let known = try #require(ChallengeHandle(Self.handle))
    expect(
      try respond(#""answers":{"code":" 12 "}"#),
      equals: RespondRequest(
        known, .answers(ChallengeAnswers([.init(name: "code", value: Secret(" 12 "))]))))
    expect(
      try respond(#""answers":{"password":"p","attributes":{"given_name":"A"}}"#),
      equals: RespondRequest(
        known,
        .answers(
          ChallengeAnswers(
            [.init(name: "password", value: Secret("p"))],
            attributes: [.init(name: "given_name", value: Secret("A"))]))))
    let metadata = try respond(#""answers":{"code":"1"},"client_metadata":{"t":"x"}"#)?.metadata
    expect(metadata, equals: try ClientMetadata([("t", Secret("x"))]))
  }

  @Test func aConfirmationIsAWordOfJSONOrAText() throws {
    let known = try #require(ChallengeHandle(Self.handle))
    for (given, read) in [("true", "true"), ("false", "false"), (#""true""#, "true")] {
      expect(
        try respond(#""answers":{"confirm":\#(given)}"#),
        equals: RespondRequest(
          known, .answers(ChallengeAnswers([.init(name: "confirm", value: Secret(read))]))))
    }
    // Only this answer may be one.
    expect(refusal(#""answers":{"code":true}"#)?.code, equals: .invalidRequest)
  }

  @Test func readsAWaitAndACancel() throws {
    let known = try #require(ChallengeHandle(Self.handle))
    expect(try respond(#""wait":2.5"#), equals: RespondRequest(known, .wait(.milliseconds(2500))))
    expect(try respond(#""cancel":true"#), equals: RespondRequest(known, .cancel))
  }

  @Test(arguments: [
    #""answers":{}, "wait":1"#, #""id":1"#, #""cancel":false"#, #""cancel":1"#, #""wait":301"#,
    #""answers":[]"#, #""answers":{"code":1}"#, #""answers":{"attributes":"x"}"#,
    #""answers":{"attributes":{"a":1}}"#, #""answers":{"code":"1"},"client_metadata":{"a":1}"#,
    #""answers":{"code":"1"},"client_metadata":[]"#, #""answers":{"code":"1"},"profile":"x""#,
    #""answers":{"a":"","b":"","c":"","d":"","e":"","f":"","g":"","h":"","i":""}"#,
  ])
  func refusesWhatIsNoAnswer(_ members: String) {
    expect(refusal(members)?.code, equals: .invalidRequest, "\(members)")
  }

  /// Nobody learns from the answer what a handle looks like.
  @Test(arguments: [
    "", "0", "00112233445566778899AABBCCDDEEFF", "00112233445566778899aabbccddeef",
    "00112233445566778899aabbccddeeffa", "0011223344556677-899aabbccddeeff", "ж",
  ])
  func aTextThatIsNoHandleIsAnUnknownOne(_ handle: String) {
    expect(refusal(#""cancel":true"#, handle: handle), equals: .unknownChallenge)
  }

  @Test func aHandleReadsAsItWasWritten() {
    var random = SeededGenerator(seed: 7)
    var seen: Set<ChallengeHandle> = []
    for _ in 0..<1000 {
      let handle = ChallengeHandle(using: &random)
      expect(ChallengeHandle(handle.text), equals: handle)
      seen.insert(handle)
    }
    expect(seen.count, equals: 1000)
    struct Zero: RandomNumberGenerator { func next() -> UInt64 { 0 } }
    var zero = Zero()
    expect(ChallengeHandle(using: &zero).text, equals: String(repeating: "0", count: 32))
    expect("\(ChallengeHandle(using: &random))", equals: "<secret>")
  }

  @Test func theLongestAnswerOfATriggerFitsInALine() throws {
    let long = String(repeating: "x", count: Limits.UserPool.answerBytes)
    expect(try respond(#""answers":{"answer":"\#(long)"}"#) != nil)
  }

  // MARK: login

  private func login(_ members: String) throws -> LoginRequest? {
    guard case .login(let login) = try RequestTests.parse(#"{"op":"login",\#(members)}"#).operation
    else { return nil }
    return login
  }

  @Test func readsANameAlone() throws {
    expect(try login(#""username":"alice""#), equals: LoginRequest(signIn: .username("alice")))
    #expect(throws: RequestError.self) { try self.login(#""username":"""#) }
    #expect(throws: RequestError.self) { try self.login(#""username":"a","logins":{"a":"t"}"#) }
    #expect(throws: RequestError.self) { try self.login(#""password":"p""#) }
  }

  @Test func readsWhatIsForTriggers() throws {
    let login = try #require(
      try login(
        #""username":"alice","password":"p","client_metadata":{"a":"1"},"validation_data":{"b":"2"}"#
      ))
    expect(login.metadata, equals: try ClientMetadata([("a", Secret("1"))]))
    expect(login.validationData, equals: try ClientMetadata([("b", Secret("2"))]))
    #expect(throws: RequestError.self) {
      try self.login(#""username":"a","client_metadata":{"a":"1"},"validation_data":{"a":"2"}"#)
    }
  }
}
