import CredCore
import Testing

@Suite struct RequestIDTests {
  @Test func anIDIsAStringOrANumber() throws {
    #expect(try RequestTests.parse(#"{"id":7}"#).id == RequestID(7))
    #expect(try RequestTests.parse(#"{"id":"a\"b"}"#).id == RequestID("a\"b"))
    #expect(try RequestTests.parse(#"{"id":1.50e3}"#).id?.json == Array("1.50e3".utf8))
  }

  @Test(arguments: ["null", "true", "[]", "{}"])
  func nothingElseIsAnID(json: String) {
    let message = #""id" must be a string or a number of at most 256 bytes"#
    #expect(throws: RequestError(ProtocolError(.invalidRequest, message))) {
      try RequestTests.parse("{\"id\":\(json)}")
    }
  }

  @Test func anIDIsAtMost256Bytes() throws {
    let digits = String(repeating: "1", count: 256)
    #expect(try RequestTests.parse("{\"id\":\(digits)}").id?.json == Array(digits.utf8))
    #expect(try RequestTests.parse("{\"id\":\"\(digits)\"}").id == RequestID(digits))
    #expect(throws: RequestError.self) { try RequestTests.parse("{\"id\":\(digits)1}") }
    #expect(throws: RequestError.self) { try RequestTests.parse("{\"id\":\"\(digits)1\"}") }
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
