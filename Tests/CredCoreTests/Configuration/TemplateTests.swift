import TestSupport
import Testing

@testable import CredCore

/// Templates, and URLs with templates in them.
struct TemplateTests {
  @Test func expands() throws {
    let template = try Template("a{{{user}}}-{uid}@{host}")
    expect(try template.expand(user: "ann", uid: 1000, host: "h1"), equals: "a{ann}-1000@h1")
    expect(template.needsUserName)
    expect(
      template.parts,
      equals: [
        .literal("a{"), .placeholder(.user), .literal("}-"), .placeholder(.uid), .literal("@"),
        .placeholder(.host),
      ])
  }

  @Test func aUidWithoutANameNeedsNoUser() throws {
    let template = try Template("{uid}")
    expect(!template.needsUserName)
    expect(try template.expand(user: nil, uid: 7, host: "h"), equals: "7")
    #expect(throws: TemplateError.userNameNeeded) {
      try Template.user.expand(user: nil, uid: 7, host: "h")
    }
  }

  private static let claims = TokenClaims(
    of: Secret(
      SampleJWT.text(
        #"{"email":"ann@example.com","email_verified":true,"oid":"o-1","n":7,"a:b/c":"d"}"#)))

  @Test func claimsAreThoseOfTheIDToken() throws {
    let template = try Template("{user}={claim.email}.{claim.a:b/c}", takesClaims: true)
    expect(template.claims, equals: ["email", "a:b/c"])
    expect(template.text, equals: "{user}={claim.email}.{claim.a:b/c}")
    expect(
      try template.expand(user: "ann", uid: 7, host: "h", claims: Self.claims),
      equals: "ann=ann@example.com.d")
    #expect(throws: TemplateError.claimMissing("email")) {
      try template.expand(user: "ann", uid: 7, host: "h")
    }
  }

  /// A number is no text.
  @Test(arguments: ["n", "nobody"]) func aClaimWithoutATextIsMissing(_ name: String) throws {
    let template = try Template("{claim.\(name)}", takesClaims: true)
    #expect(throws: TemplateError.claimMissing(name)) {
      try template.expand(user: nil, uid: 7, host: "h", claims: Self.claims)
    }
  }

  @Test(arguments: ["email", "phone_number"], [false, true])
  func anAddressCountsOnlyIfItIsVerified(_ claim: String, _ isDenied: Bool) throws {
    let template = try Template("{claim.\(claim)}", takesClaims: true)
    let more = isDenied ? #","\#(claim)_verified":false"# : ""
    let text = #"{"\#(claim)":"ann@example.com"\#(more)}"#
    let claims = TokenClaims(of: Secret(SampleJWT.text(text)))
    #expect(throws: TemplateError.claimNotVerified(claim)) {
      try template.expand(user: nil, uid: 7, host: "h", claims: claims)
    }
  }

  @Test func onlyATemplateOfClaimsTakesThem() {
    #expect(throws: InvalidValue.self) { try Template("{claim.email}") }
    #expect(throws: InvalidValue.self) { try Template("{claim.}", takesClaims: true) }
  }

  @Test(arguments: [
    ("{usre}", "the placeholder '{usre}' is not known; did you mean '{user}'?"),
    ("{USER}", "the placeholder '{USER}' is not known; did you mean '{user}'?"),
    ("{}", "the placeholder '{}' is not known; known are {user}, {uid}, {host}"),
    ("a{user", "'{' has no '}'; a brace itself is written '{{'"),
    ("a}b", "'}' has no '{'; a brace itself is written '}}'"),
  ])
  func refusedTemplates(text: String, message: String) {
    #expect(throws: InvalidValue(message)) { try Template(text) }
  }

  @Test(arguments: [
    ("ann", "ann"), ("a-._~Z9", "a-._~Z9"), ("a/b?c#d", "a%2Fb%3Fc%23d"), ("a b+%", "a%20b%2B%25"),
    ("é", "%C3%A9"), ("a\r\n", "a%0D%0A"), ("a..b", "a..b"), ("EXAMPLE\\ann", "EXAMPLE%5Cann"),
  ])
  func valuesInURLsAreEncoded(user: String, encoded: String) throws {
    let url = try URLTemplate("https://h/t/{user}?u={user}&n={uid}")
    expect(
      try url.expand(user: user, uid: 1, host: "x"),
      equals: "https://h/t/\(encoded)?u=\(encoded)&n=1")
  }

  @Test(arguments: [
    ("https://h/{user}/token", ".."), ("https://h/{user}", "."), ("https://h/.{user}/x", "."),
    ("https://h/%2E{user}?x", "."),
  ])
  func aNameCannotClimbThePath(text: String, user: String) throws {
    let url = try URLTemplate(text)
    #expect(throws: TemplateError.dotSegment) { try url.expand(user: user, uid: 1, host: "x") }
  }

  @Test(arguments: [
    "https://{user}/x", "https://{host}.example.com/x", "{user}://h/", "https://h{user}/",
    "https://h:{uid}/", "http{user}://h/", "https:{user}//h/",
  ])
  func aNameCannotChooseTheHost(text: String) {
    #expect(throws: InvalidValue("placeholders belong in a URL's path or query only")) {
      try URLTemplate(text)
    }
  }
}
