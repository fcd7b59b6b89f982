import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Logins that a client brings are linked for good. Another person's account is not linked without a
/// word of its user.
struct AnotherPersonTests {
  private static let google = "accounts.google.com"
  private static let facebook = "graph.facebook.com"
  private static let okta = "idp.example.com"

  private static let withoutBackend = """
    [profile default]
    identity_pool_id = \(FakeUpstreams.pool)
    cognito_endpoint = http://127.0.0.1:4599

    """

  private static func token(_ subject: String) -> String {
    SampleJWT.text(
      #"{"iss":"https://accounts.google.com","sub":"\#(subject)","email":"\#(subject)@x"}"#)
  }

  private func login(_ logins: [(String, String)], _ more: String = "") -> String {
    let members = logins.map { #""\#($0.0)":"\#($0.1)""# }.joined(separator: ",")
    return #"{"op":"login","logins":{\#(members)}\#(more)}"#
  }

  /// Google's p1 and another provider's are held.
  private func fixture() throws -> ServiceFixture {
    let fixture = try ServiceFixture(Self.withoutBackend)
    let logins = [(Self.google, Self.token("p1")), (Self.okta, Self.token("o1"))]
    expect(try fixture.ask(login(logins)).state, equals: "signedIn")
    return fixture
  }

  /// What Cognito got since then.
  private func sent(_ fixture: ServiceFixture, after count: Int) -> [JSONValue] {
    fixture.host.http.requests.dropFirst(count).compactMap { $0.json?["Logins"] }
  }

  @Test func anotherSubjectOfAHeldProviderIsLinkedAfterAWord() throws {
    let fixture = try fixture()
    let identity = try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text
    let before = fixture.host.http.requests.count
    let asked = try fixture.ask(login([(Self.google, Self.token("p2"))]))
    let challenge = asked["Challenge"]
    expect(challenge?["Step"]?.text, equals: "confirm", "\(asked)")
    expect(challenge?["Parameters"]?["Subject"]?.text, equals: "p2")
    expect(challenge?["Parameters"]?["Username"]?.text, equals: "p2@x")
    expect(challenge?["Parameters"]?["Issuer"]?.text, equals: "https://accounts.google.com")
    expect(challenge?["Parameters"]?["LinksTo"]?.text, equals: identity)
    expect(sent(fixture, after: before).isEmpty)
    let reply = try fixture.ask(asked.response("confirm", "true"))
    expect(reply.state, equals: "signedIn", "\(reply)")
    expect(reply["Subject"]?.text, equals: "p2")
    expect(sent(fixture, after: before).last?[Self.google]?.text, equals: Self.token("p2"))
    expect(sent(fixture, after: before).last?[Self.okta]?.text, equals: Self.token("o1"))
  }

  @Test func withoutTheWordNothingChanges() throws {
    let fixture = try fixture()
    let before = fixture.host.http.requests.count
    let asked = try fixture.ask(login([(Self.google, Self.token("p2"))]))
    expect(try fixture.ask(asked.response("confirm", "false")).errorCode, equals: "InvalidRequest")
    let handle = asked.handle ?? ""
    expect(
      try fixture.ask(#"{"op":"respond","handle":"\#(handle)","cancel":true}"#).state,
      equals: "signedIn")
    expect(try fixture.ask(#"{"op":"identity"}"#)["Subject"]?.text, equals: "p1")
    expect(sent(fixture, after: before).isEmpty)
    expect(try fixture.ask(asked.response("confirm", "true")).errorCode, equals: "UnknownChallenge")
  }

  /// A login that is held when the answer comes is the one of which the user was asked.
  @Test(arguments: [
    #"{"op":"logout"}"#, #"{"op":"clear","what":"identity"}"#,
    #"{"op":"login","logins":{"a.example":"t"}}"#,
  ])
  func whatChangesTheLoginsEndsTheQuestion(_ line: String) throws {
    let fixture = try fixture()
    let asked = try fixture.ask(login([(Self.google, Self.token("p2"))]))
    expect(asked.handle != nil)
    _ = try fixture.ask(line)
    expect(try fixture.ask(asked.response("confirm", "true")).errorCode, equals: "UnknownChallenge")
  }

  @Test func eachOfSeveralIsAskedFor() throws {
    let fixture = try fixture()
    let both = [(Self.google, Self.token("p2")), (Self.okta, Self.token("o2"))]
    expect(try fixture.ask(login(both + [("third.example.com", Self.token("t1"))])).handle != nil)
    let asked = try fixture.ask(login(both + [("third.example.com", Self.token("t1"))]))
    let next = try fixture.ask(asked.response("confirm", "true"))
    expect(next["Challenge"]?["Parameters"]?["Subject"]?.text, equals: "o2", "\(next)")
    expect(try fixture.ask(next.response("confirm", "true")).state, equals: "signedIn")
  }

  @Test func nobodyIsAskedWhereNobodyCouldBeTakenForAnother() throws {
    let fixture = try fixture()
    for logins in [
      // A new token of the same person, another provider, and nobody's logins beside it.
      [(Self.google, SampleJWT.text(#"{"sub":"p1","n":2}"#))],
      [("third.example.com", Self.token("t1"))],
      [
        (Self.google, Self.token("p2")), (Self.okta, Self.token("o2")),
        ("third.example.com", Self.token("t2")),
      ],
    ] {
      let reply = try fixture.ask(login(logins))
      expect(reply.state == "signedIn" && reply.handle == nil, "\(reply)")
    }
    let alone = try fixture.ask(login([(Self.google, Self.token("p3"))], #","alone":true"#))
    expect(alone.state == "signedIn" && alone.handle == nil, "\(alone)")
  }

  @Test func besideASignInAtAPoolTheyAreAskedForToo() throws {
    let (fixture, _) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    expect(try fixture.ask(login([(Self.google, Self.token("p1"))])).handle == nil)
    let asked = try fixture.ask(login([(Self.google, Self.token("p2"))]))
    expect(asked["Challenge"]?["Step"]?.text, equals: "confirm", "\(asked)")
    expect(try fixture.ask(asked.response("confirm", "true")).state, equals: "signedIn")
  }

  // MARK: Tokens without a subject

  /// Cognito answers for the identity's own logins alone.
  private func refuse(_ token: String, _ fixture: ServiceFixture) {
    let usual = fixture.host.http.answer
    fixture.host.http.answer = { request in
      let logins = request.json?["Logins"]
      guard request.operation == "GetCredentialsForIdentity",
        logins?[Self.facebook]?.text == token, logins?[Self.google] == nil
      else { return usual(request) }
      return .reply(
        400,
        #"{"__type":"NotAuthorizedException","message":"Logins don't match. Please include at "#
          + #"least one valid login for this identity or identity pool."}"#)
    }
  }

  private func fixtureWithFacebook() throws -> ServiceFixture {
    let fixture = try ServiceFixture(Self.withoutBackend)
    _ = try fixture.ask(login([(Self.google, Self.token("p1")), (Self.facebook, "opaque-1")]))
    return fixture
  }

  /// Nobody can read whose it is, so Cognito is asked, with nothing beside it that it could be linked to.
  @Test func aTokenWithoutASubjectGoesToCognitoByItselfFirst() throws {
    let fixture = try fixtureWithFacebook()
    let before = fixture.host.http.requests.count
    expect(try fixture.ask(login([(Self.facebook, "opaque-2")])).state, equals: "signedIn")
    let logins = sent(fixture, after: before)
    expect(logins.count, equals: 2)
    expect(logins.first?[Self.facebook]?.text, equals: "opaque-2")
    expect(logins.first?[Self.google] == nil)
    expect(logins.last?[Self.google]?.text, equals: Self.token("p1"))
  }

  @Test func oneThatIsNotTheIdentitysIsNotLinked() throws {
    let fixture = try fixtureWithFacebook()
    refuse("opaque-2", fixture)
    let identity = try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text
    let before = fixture.host.http.requests.count
    let reply = try fixture.ask(login([(Self.facebook, "opaque-2")]))
    expect(reply.errorCode, equals: "SignInFailed", "\(reply)")
    expect(reply.errorMessage?.contains(Self.facebook) == true)
    expect(sent(fixture, after: before).count, equals: 1)
    expect(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text, equals: identity)
    fixture.advance(by: .seconds(60))
    _ = try fixture.ask(#"{"refresh":true}"#)
    expect(sent(fixture, after: before).last?[Self.facebook]?.text, equals: "opaque-1")
  }

  @Test func besideASignInAtAPoolTheyGoByThemselvesToo() throws {
    let (fixture, _) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    _ = try fixture.ask(login([(Self.facebook, "opaque-1")]))
    let before = fixture.host.http.requests.count
    expect(try fixture.ask(login([(Self.facebook, "opaque-2")])).state, equals: "signedIn")
    let logins = sent(fixture, after: before)
    expect(logins.count, equals: 2, "\(logins)")
    guard case .object(let first)? = logins.first, case .object(let last)? = logins.last else {
      throw InvalidInput(field: "Logins", reason: "are missing")
    }
    expect(first.map(\.key), equals: [Self.facebook])
    expect(last.count, equals: 2)
  }
}
