import CredCore
import TestSupport
import Testing

struct IdentityIDTests {
  @Test func readsIDs() throws {
    expect(try Samples.pool.region, equals: "us-east-1")
    expect(try Samples.pool.description, equals: Samples.poolText)
    expect(try IdentityID("eu-west-1:0a-f").region, equals: "eu-west-1")
  }

  @Test(arguments: [
    "", ":", "us-east-1", "us-east-1:", ":11111111", "us-east-1:ABC", "us-east-1:1 1",
    "us-east-1:11111111-2222-3333-4444-5555555555550000000000", "us/east:11", "us-east-1:1:1",
    "us-east-1:1\n", "üs-east-1:11",
  ])
  func refuses(text: String) {
    #expect(throws: InvalidInput.self) { try IdentityPoolID(text) }
    #expect(throws: InvalidInput.self) { try IdentityID(text) }
  }

  @Test(arguments: ["US-EAST-1:11", "us_east_1:11", "1:11", "us-:11"])
  func aPoolsRegionMustFitAHostName(text: String) throws {
    _ = try IdentityID(text)
    #expect(throws: InvalidInput.self) { try IdentityPoolID(text) }
  }
}

struct DeveloperTokenTests {
  @Test func readsTheClaims() throws {
    let token = try DeveloperToken(
      Secret(
        Samples.jwt(
          #"{"aud":"\#(Samples.poolText)","exp":1767323945.5,"é":"?>"}"#)))
    expect(token.expiration, equals: WallTime(milliseconds: 1_767_323_945_500))
    expect(token.audience, equals: Samples.poolText)
  }

  @Test(arguments: [
    "moto-token", "a.b.c", "..", "eyJ.e30.", "eyJ.e30=.x", "a.b.c.d", "a.W10.c",
    Samples.jwt("{"), Samples.jwt(#"{"exp":"soon"}"#), Samples.jwt(#"{"exp":1e300}"#),
    Samples.jwt(#"{"exp":-1}"#), Samples.jwt(#"{"exp":0}"#), Samples.jwt(#"{"exp":null}"#),
    Samples.jwt(#"{"exp":1767323945000}"#),
  ])
  func aClaimThatIsNoTimeIsIgnored(text: String) throws {
    let token = try DeveloperToken(Secret(text))
    expect(token.expiration == nil)
    expect(token.token.exposedText(), equals: text)
  }

  @Test func limits() throws {
    #expect(throws: InvalidInput.self) { try DeveloperToken(Secret("")) }
    #expect(throws: InvalidInput.self) {
      try DeveloperToken(Secret(String(repeating: "a", count: 50_001)))
    }
    _ = try DeveloperToken(Secret(String(repeating: "a", count: 50_000)))
  }
}

struct LoginsMapTests {
  @Test func replacesPerProviderAndKeepsItsOrder() throws {
    var logins = try LoginsMap([("b", Secret("1")), ("a", Secret("2"))])
    try logins.set("b", token: Secret("3"))
    expect(logins.logins.map(\.provider), equals: ["b", "a"])
    expect(logins["b"], equals: Secret("3"))
    logins.remove("b")
    expect(logins.logins.map(\.provider), equals: ["a"])
  }

  @Test func takesAtMostTenLogins() throws {
    var logins = try LoginsMap((0..<10).map { ("p\($0)", Secret("t")) })
    try logins.set("p3", token: Secret("other"))
    #expect(throws: InvalidInput.self) { try logins.set("p10", token: Secret("t")) }
  }

  @Test(arguments: [
    ("", "t"), ("https://accounts.google.com", "t"), ("a b", "t"), ("a\n", "t"), ("p", ""),
    (String(repeating: "p", count: 129), "t"), ("p", String(repeating: "t", count: 50_001)),
  ])
  func refuses(provider: String, token: String) {
    #expect(throws: InvalidInput.self) { try LoginsMap([(provider, Secret(token))]) }
  }

  @Test func refusesAProviderTwice() {
    #expect(throws: InvalidInput.self) { try LoginsMap([("p", Secret("1")), ("p", Secret("2"))]) }
  }

  @Test(arguments: [
    ("cognito-identity.amazonaws.com", true), ("cognito-identity-us-gov.amazonaws.com", true),
    ("cognito-identity.cn-north-1.amazonaws.com.cn", true),
    ("cognito-idp.us-east-1.amazonaws.com/us-east-1_abc", false), ("accounts.google.com", false),
  ])
  func recognisesADeveloperToken(provider: String, isOne: Bool) throws {
    expect(try LoginsMap([(provider, Secret("t"))]).holdsDeveloperToken, equals: isOne)
  }
}
