import TestSupport
import Testing

@testable import CredCore

/// A user's name is data in every request, whatever its characters.
struct TokenQueryTests {
  /// Names that would end a string, a line, a word or a path segment, or begin an escape.
  private static let names = [
    #"a"b"#, #"a\"#, #"a\",\"IdentityId\":\"x"#, "a\nb", "a\r\nX-Header: y",
    "a\u{1B}[2J",
    "a/../b", "../..", "%2e%2e", "a%00", "{user}", "{uid}", "$(id)", "`id`", "; rm -rf /", "-rf",
    "a b", "é", "e\u{301}", "\u{202E}a", "𝄞", #"","Logins":{"x":"y"}}"#,
  ]

  @Test(arguments: names)
  func aNameIsOnlyOneStringOfTheRequest(_ name: String) throws {
    var query = try Samples.query
    query.userIdentifier = name
    let backend = HTTPBackend(name: "corp")
    let url = TokenCallbackTests.url
    let request = try backend.tokenRequest(query, url: url)
    let plain = try backend.tokenRequest(Samples.query, url: url)
    // Neither the URL nor a header knows the name.
    expect(request.url, equals: plain.url)
    expect(request.headers.count, equals: plain.headers.count)
    let input = try #require(ExecBackend(name: "corp").standardInput(query).exposedText())
    // The command's input is one line.
    expect(input.utf8.filter { $0 == 0x0A }.count == 1 && input.utf8.last == 0x0A)
    for text in [Samples.body(request), input] {
      let value = try JSONValue.parse(Array(text.utf8), limits: Limits.Line.json)
      guard case .object(let members) = value else {
        Issue.record("no object: \(text)")
        continue
      }
      expect(
        members.map { $0.key },
        equals: [
          "IdentityPoolId", "DeveloperProviderName", "DeveloperUserIdentifier",
        ])
      expect(value["DeveloperUserIdentifier"]?.text?.utf8.elementsEqual(name.utf8) ?? false)
    }
  }
}
