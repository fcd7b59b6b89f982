import CredCore
import TestSupport
import Testing

struct RequestTests {
  static func parse(_ line: String) throws(RequestError) -> Request {
    try Request.parse(Array(line.utf8))
  }

  @Test func anEmptyObjectAsksForTheDefaultCredentials() throws {
    let request = try Self.parse("{}")
    expect(request, equals: Request(operation: .get(GetRequest())))
    guard case .get(let get) = request.operation else { return }
    expect(get.profile, equals: "default")
    expect(get.wait, equals: .seconds(5))
    expect(get.minTTL == nil)
    expect(!get.refresh)
  }

  @Test(
    arguments: [
      (
        #"{"op":"get","profile":"w.o-r_K1","min_ttl":900,"refresh":true,"wait":0.25}"#,
        .get(
          GetRequest(
            profile: "w.o-r_K1", minTTL: .seconds(900), refresh: true, wait: .milliseconds(250)))
      ),
      (#"{"profile":"work"}"#, .get(GetRequest(profile: "work"))),
      (#"{"user":"jos\u00e9"}"#, .get(GetRequest(user: "jos\u{E9}"))),
      (#"{"user":"1000"}"#, .get(GetRequest(user: "1000"))),
      (#"{"wait":300}"#, .get(GetRequest(wait: .seconds(300)))),
      (#"{"wait":0}"#, .get(GetRequest(wait: .zero))),
      (
        #"{"op":"token","profile":"work","min_ttl":1.5,"wait":1e1}"#,
        .token(TokenRequest(profile: "work", minTTL: .milliseconds(1500), wait: .seconds(10)))
      ),
      (#"{"op":"identity"}"#, .identity(profile: "default")),
      (#"{"op":"logout","profile":"p"}"#, .logout(LogoutRequest(profile: "p"))),
      (
        #"{"op":"logout","revoke":false}"#,
        .logout(LogoutRequest(revoke: false))
      ),
      (#"{"op":"logout","global":true}"#, .logout(LogoutRequest(global: true))),
      (
        #"{"op":"logout","global":true,"sso":true}"#,
        .logout(LogoutRequest(global: true, sso: true))
      ),
      (#"{"op":"clear","what":"credentials"}"#, .clear(profile: "default", .credentials)),
      (#"{"op":"clear","what":"identity","profile":"p"}"#, .clear(profile: "p", .identity)),
      (#"{"op":"release","profile":"p"}"#, .release(profile: "p")),
      (#"{"op":"status"}"#, .status(StatusRequest())),
      (#"{"op":"status","all":true}"#, .status(StatusRequest(all: true))),
      (#"{"op":"status","profiles":true}"#, .status(StatusRequest(profiles: true))),
      (
        #"{"op":"status","limit":1000,"after":"7/a.b"}"#,
        .status(StatusRequest(limit: 1000, after: SessionCursor(uid: 7, profile: "a.b")))
      ),
      (#"{"op":"watch"}"#, .watch(profile: nil)),
      (#"{"op":"watch","profile":"p"}"#, .watch(profile: "p")),
      ("{\"op\":\"ping\"}\r", .ping),
    ] as [(String, CredCore.Operation)])
  func readsEveryOperation(line: String, operation: CredCore.Operation) throws {
    expect(try Self.parse(line), equals: Request(operation: operation))
    expect(operation.isFreeOfSecrets)
  }

  @Test(
    arguments: [
      ("[]", .invalidRequest, #"a request must be an object such as {"op":"get"}"#),
      (
        #"{"op":"get" "wait":1}"#, .invalidRequest,
        "line is not valid JSON at byte 12: expected ',' or '}'"
      ),
      (
        #"{"profle":"x"}"#, .invalidRequest,
        #"unknown key "profle" at byte 1, did you mean "profile"?"#
      ),
      (#"{"op":"ping", "zzzzzzzz":1}"#, .invalidRequest, #"unknown key "zzzzzzzz" at byte 14"#),
      (
        #"{"op":"identity","wait":1}"#, .invalidRequest,
        #"key "wait" at byte 17 does not belong to "identity""#
      ),
      (
        #"{"password":"p"}"#, .invalidRequest,
        #"key "password" at byte 1 does not belong to "get""#
      ),
      (#"{"op":"gte"}"#, .unknownOperation, #"unknown operation "gte", did you mean "get"?"#),
      (#"{"op":"destroy"}"#, .unknownOperation, #"unknown operation "destroy""#),
      (#"{"op":7}"#, .invalidRequest, #""op" must be a string"#),
      (#"{"profile":null}"#, .invalidRequest, #""profile" must be a string"#),
      (#"{"wait":301}"#, .invalidRequest, #""wait" must be a number from 0 to 300"#),
      (#"{"wait":-0.1}"#, .invalidRequest, #""wait" must be a number from 0 to 300"#),
      (#"{"wait":"5"}"#, .invalidRequest, #""wait" must be a number from 0 to 300"#),
      (#"{"wait":1e999}"#, .invalidRequest, #""wait" must be a number from 0 to 300"#),
      (#"{"min_ttl":43201}"#, .invalidRequest, #""min_ttl" must be a number from 0 to 43200"#),
      (#"{"refresh":1}"#, .invalidRequest, #""refresh" must be true or false"#),
      (#"{"op":"status","all":"yes"}"#, .invalidRequest, #""all" must be true or false"#),
      (
        #"{"op":"clear"}"#, .invalidRequest,
        #""what" must be "credentials" or "identity""#
      ),
      (
        #"{"op":"clear","what":"all"}"#, .invalidRequest,
        #""what" must be "credentials" or "identity""#
      ),
      (
        #"{"profile":"a/b"}"#, .unknownProfile,
        #""a/b" cannot be a profile's name, which is 1 to 64 letters, digits, dots, hyphens "#
          + "and underscores"
      ),
    ] as [(String, ProtocolErrorCode, String)])
  func namesTheProblem(line: String, code: ProtocolErrorCode, message: String) {
    let failure = #expect(throws: RequestError.self) { try Self.parse(line) }
    expect(failure?.error == ProtocolError(code, message) && failure?.id == nil)
  }

  @Test(arguments: ["", "é", "a b", "a\u{0}", "../x"])
  func refusesAnInvalidProfileName(name: String) {
    expect(!name.isProfileName)
  }

  @Test func profileNamesHaveAtMost64Letters() {
    expect(String(repeating: "a", count: 64).isProfileName)
    expect(!String(repeating: "a", count: 65).isProfileName)
  }
}

struct RequestIDTests {
  @Test func anIDIsAStringOrANumber() throws {
    expect(try RequestTests.parse(#"{"id":7}"#).id, equals: RequestID(7))
    expect(try RequestTests.parse(#"{"id":"a\"b"}"#).id, equals: RequestID("a\"b"))
    expect(try RequestTests.parse(#"{"id":1.50e3}"#).id?.json, equals: Array("1.50e3".utf8))
  }

  @Test(arguments: ["null", "true", "[]", "{}"])
  func nothingElseIsAnID(json: String) {
    let message = #""id" must be a string or a number of at most 256 bytes"#
    let failure = #expect(throws: RequestError.self) { try RequestTests.parse("{\"id\":\(json)}") }
    expect(failure?.error == ProtocolError(.invalidRequest, message) && failure?.id == nil)
  }

  @Test func anIDIsAtMost256Bytes() throws {
    let digits = String(repeating: "1", count: 256)
    expect(try RequestTests.parse("{\"id\":\(digits)}").id?.json, equals: Array(digits.utf8))
    expect(try RequestTests.parse("{\"id\":\"\(digits)\"}").id, equals: RequestID(digits))
    #expect(throws: RequestError.self) { try RequestTests.parse("{\"id\":\(digits)1}") }
    #expect(throws: RequestError.self) { try RequestTests.parse("{\"id\":\"\(digits)1\"}") }
  }

  @Test(arguments: [
    (#"{"op":"respond","handle":"no handle","answers":{}}"#, "respond"), (#"{"x":1}"#, "get"),
    (#"{"op":"x"}"#, nil), (#"{"op":7}"#, nil), ("[]", nil), ("", nil),
  ])
  func anErrorNamesItsOperation(line: String, name: String?) {
    let failure = #expect(throws: RequestError.self) { try RequestTests.parse(line) }
    expect(failure?.operation, equals: name)
  }

  @Test func anErrorCarriesTheIDItCouldRead() {
    #expect(
      throws: RequestError(
        ProtocolError(.unknownOperation, #"unknown operation "x""#), id: RequestID(3))
    ) {
      try RequestTests.parse(#"{"op":"x","id":3}"#)
    }
  }
}
