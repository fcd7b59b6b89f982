import TestSupport
import Testing

@testable import CredCore

/// Files that editors and tools have written.
struct FileTextTests {
  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  private func read(_ text: FileText, _ content: [UInt8]) throws -> String? {
    try text.read(Secret(content), "/etc/token", as: "bearer_token_file").exposedText()
  }

  @Test func aByteOrderMarkIsNoPartOfAText() throws {
    expect(try read(.line, Self.mark + Array("token\r\n".utf8)), equals: "token")
    expect(try read(.lines, Self.mark + Array("[a]\nb = c\n".utf8)), equals: "[a]\nb = c\n")
    // One alone is one; a second is a character of the text.
    expect(try read(.lines, Self.mark + Self.mark + [0x61]), equals: "\u{FEFF}a")
    expect(try read(.lines, [0x61] + Self.mark), equals: "a\u{FEFF}")
  }

  @Test func whatStandsAroundALineIsNoPartOfIt() throws {
    for text in ["token", "token\n", "token\r\n", "\n token \t\n\n"] {
      expect(try read(.line, Array(text.utf8)), equals: "token")
    }
    expect(try read(.lines, Array(" a\n".utf8)), equals: " a\n")
  }

  @Test(
    arguments: [
      (.line, "", "is empty"), (.line, "\u{FEFF}", "is empty"),
      (.line, "\n", "holds nothing but white space"),
      (.line, " \r\n\t", "holds nothing but white space"),
      (.line, "one\ntwo", "has more than one line"),
      (.line, "one\rtwo\n", "has more than one line"),
      (.line, "one\n\ntwo\n", "has more than one line"),
      (.line, "t\0o\0", "holds a NUL byte: save it as UTF-8"),
      (.lines, "a\0b", "holds a NUL byte: save it as UTF-8"),
      (.line, "one", nil), (.lines, "", nil), (.lines, "one\ntwo\n", nil),
    ] as [(FileText, String, String?)])
  func whatIsNoLineIsSaid(_ text: FileText, _ content: String, _ fault: String?) {
    expect(text.fault(in: Secret(content)), equals: fault)
    guard let fault else { return }
    let error = #expect(throws: InvalidInput.self) { try read(text, Array(content.utf8)) }
    expect(error?.description, equals: "bearer_token_file /etc/token \(fault)")
  }

  @Test func keysWithAPassphraseAreKnown() {
    for text in [
      "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII",
      "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n",
    ] {
      expect(Secret(text).holdsEncryptedKey && Secret(text).holdsPEM("PRIVATE KEY"))
    }
    for text in ["-----BEGIN PRIVATE KEY-----\nMII", "-----BEGIN CERTIFICATE-----\nENCRYPTED"] {
      expect(!Secret(text).holdsEncryptedKey)
    }
    expect(!Secret("-----BEGIN CERTIFICATE-----").holdsPEM("PRIVATE KEY"))
  }

  // MARK: Replies and outputs

  private func failure(_ body: [UInt8]) -> String? {
    let failure = #expect(throws: UpstreamFailure.self) {
      try JSONReply.object(Secret(body), limit: 1000, from: .backend("corp"))
    }
    return failure?.message
  }

  @Test func jsonOfOthersMayBeginWithAByteOrderMark() throws {
    let body = Secret(Self.mark + Array(#"{"a":"b"}"#.utf8))
    let object = try JSONReply.object(body, limit: 1000, from: .backend("corp"))
    expect(object["a"]?.text, equals: "b")
    // A request has none.
    #expect(throws: JSONError.self) { try JSONValue.parse(body.bytes) }
    let page = HTTPReply(status: 200, body: Secret(Self.mark + Array("<!DOCTYPE html>".utf8)))
    expect(page.looksLikeHTML)
    let output = #"{"Version":1,"AccessKeyId":"AKIAEXAMPLE","SecretAccessKey":"s"}"#
    let keys = try DeveloperCredentials(processOutput: Secret(Self.mark + Array(output.utf8)))
    expect(keys.signer.accessKeyID, equals: "AKIAEXAMPLE")
  }

  @Test func aCompressedReplyHasWordsOfItsOwn() {
    expect(failure([0x1F, 0x8B, 8, 0, 0])?.contains("is compressed by gzip") == true)
    let reply = HTTPReply(status: 200, body: Secret([0x1F, 0x8B, 8, 0, 0]))
    let ofSTS = #expect(throws: UpstreamFailure.self) { try STS.credentials(from: reply) }
    expect(ofSTS?.message.contains("is compressed by gzip") == true)
  }

  @Test func aKeyThatIsThereTwiceHasWordsOfItsOwn() {
    let message = failure(Array(#"{"Token":"hush-1","Token":"hush-2"}"#.utf8))
    expect(
      message?.contains("has an object with a key twice, at byte 18") == true, "\(message ?? "")")
    expect(message?.contains("hush") == false)
    expect(failure(Array("{".utf8))?.contains("is no JSON at byte 1") == true)
  }
}
