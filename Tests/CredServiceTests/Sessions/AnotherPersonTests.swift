import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Logins that a client brings are linked for good. Another person's account is not linked without a
/// word of its user.
struct AnotherPersonTests: ProviderLoginTesting {
  /// Google's p1 and another provider's are held.
  private func fixture() throws -> ServiceFixture {
    let fixture = try ServiceFixture(Self.withoutBackend)
    let logins = [(Self.google, Self.token("p1")), (Self.okta, Self.token("o1"))]
    expect(try fixture.ask(login(logins)).state, equals: "signedIn")
    return fixture
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

  /// A sign-in under way ends as the next one begins, and the logins from before it are held again.
  @Test func aSignInUnderWayHidesNobody() throws {
    let fixture = try fixture()
    fixture.host.upstreams.delays["GetId"] = .seconds(9)
    fixture.host.upstreams.delays["GetCredentialsForIdentity"] = .seconds(9)
    let slow = fixture.connect()
    slow.send(login([(Self.google, Self.token("p9"))], #","alone":true"#))
    expect(slow.isWaiting)
    let asked = try fixture.ask(login([(Self.google, Self.token("p2"))]))
    expect(asked["Challenge"]?["Parameters"]?["Subject"]?.text, equals: "p2", "\(asked)")
  }

  /// Cognito may have linked the first one before its answer was lost, or before the second one came.
  @Test(arguments: ["lost", "under way", "killed"])
  func aLoginThatWasSentMayBeLinked(_ fate: String) throws {
    let fixture = try ServiceFixture(Self.withoutBackend)
    expect(try fixture.ask(login([(Self.okta, Self.token("o1"))])).state, equals: "signedIn")
    let first = login([(Self.google, Self.token("p1"))])
    let exchange = "GetCredentialsForIdentity"
    let client = fixture.connect()
    switch fate {
    case "lost":
      fixture.host.upstreams.faults[exchange] = .failure(.reset)
      expect(try fixture.ask(first).errorCode, equals: "CognitoUnavailable")
      fixture.host.upstreams.faults = [:]
      fixture.advance(by: .seconds(60))
    case "killed":
      fixture.host.upstreams.faults[exchange] = .hang
      client.send(first)
      try fixture.restart(Self.withoutBackend)
      fixture.host.upstreams.faults = [:]
    default:
      fixture.host.upstreams.delays[exchange] = .seconds(1)
      client.send(first)
    }
    let asked = try fixture.ask(login([(Self.google, Self.token("p2"))]))
    expect(asked["Challenge"]?["Parameters"]?["Subject"]?.text, equals: "p2", "\(asked)")
    // The same person brings it again.
    let same = try fixture.ask(first)
    expect(same.state == "signedIn" && same.handle == nil, "\(same)")
  }

  /// It is linked to nothing, so nobody is asked because of it.
  @Test func aLoginThatCognitoRefusedIsForgotten() throws {
    let fixture = try ServiceFixture(Self.withoutBackend)
    expect(try fixture.ask(login([(Self.okta, Self.token("o1"))])).state, equals: "signedIn")
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
      400,
      #"{"__type":"NotAuthorizedException","message":"Invalid login token. Token expired: 1 >= 0"}"#
    )
    expect(try fixture.ask(login([(Self.google, Self.token("p1"))])).errorCode != nil)
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(60))
    let reply = try fixture.ask(login([(Self.google, Self.token("p2"))]))
    expect(reply.state == "signedIn" && reply.handle == nil, "\(reply)")
  }

  /// The answer is about the logins of now.
  @Test func whatWouldBeAskedOtherwiseEndsTheQuestion() throws {
    let fixture = try fixture()
    let session = try #require(
      fixture.service.sessions[SessionKey(uid: 1000, profile: "default")])
    let asked = try fixture.ask(login([(Self.google, Self.token("p2"))]))
    var ids = CallIDs()
    var random = SystemRandomNumberGenerator()
    _ = session.machine.handle(
      .cleared(.identity), now: fixture.now, callIDs: &ids, random: &random)
    expect(try fixture.ask(asked.response("confirm", "true")).errorCode, equals: "UnknownChallenge")
  }

  /// An identity keeps the accounts that are linked to it, although their tokens end.
  @Test func aLoginThatHasEndedIsStillItsPersons() throws {
    let fixture = try ServiceFixture(Self.withoutBackend)
    let end = (fixture.host.clock.wallTime + .seconds(3600)).milliseconds / 1000
    let google = SampleJWT.text(#"{"sub":"p1","exp":\#(end)}"#)
    _ = try fixture.ask(login([(Self.google, google), (Self.facebook, "opaque-1")]))
    fixture.advance(by: .seconds(3660))
    _ = try fixture.ask()
    let asked = try fixture.ask(login([(Self.google, Self.token("p2"))]))
    expect(asked["Challenge"]?["Parameters"]?["Subject"]?.text, equals: "p2", "\(asked)")
    let same = try fixture.ask(login([(Self.google, Self.token("p1"))]))
    expect(same.state == "signedIn" && same.handle == nil, "\(same)")
  }

  /// Without an identity the question names the account beside which the login goes.
  @Test func withoutAnIdentityTheyAreAskedForToo() throws {
    let fixture = try fixtureWithoutIdentity([
      (Self.google, Self.token("p1")), (Self.okta, Self.token("o1")),
    ])
    let asked = try fixture.ask(login([(Self.google, Self.token("p2"))]))
    let parameters = asked["Challenge"]?["Parameters"]
    expect(parameters?["Subject"]?.text, equals: "p2", "\(asked)")
    expect(parameters?["LinksTo"]?.text, equals: Self.okta)
  }

  /// Nothing of the former person goes out, so nothing of it is linked or asked for.
  @Test func loginsOfOthersAloneBeginANewIdentity() throws {
    let fixture = try ServiceFixture(Self.withoutBackend)
    expect(try fixture.ask(login([(Self.google, Self.token("p1"))])).state, equals: "signedIn")
    fixture.host.upstreams.replaceIdentity(of: "logins")
    let before = fixture.host.http.requests.count
    let reply = try fixture.ask(login([(Self.google, Self.token("p2"))]))
    expect(reply.state == "signedIn" && reply.handle == nil, "\(reply)")
    let operations = fixture.host.http.requests.dropFirst(before).map(\.operation)
    expect(operations, equals: ["GetId", "GetCredentialsForIdentity"])
    expect(reply["IdentityId"]?.text, equals: fixture.host.upstreams.identity(of: "logins"))
  }

  /// The keys of one provider may be spelt in several ways.
  @Test(arguments: [
    ("Accounts.Google.com", "https://accounts.google.com", "accounts.google.com"),
    (
      "cognito-idp.us-east-1.amazonaws.com/us-east-1_AbCdEf123", "x",
      "issuer-cognito-idp.us-east-1.amazonaws.com/us-east-1_AbCdEf123"
    ),
    ("one.example.com", "https://one.example.com", "two.example.com"),
  ])
  func anotherSpellingHidesNobody(_ held: String, _ issuer: String, _ key: String) throws {
    let fixture = try ServiceFixture(Self.withoutBackend)
    func token(_ subject: String) -> String {
      SampleJWT.text(#"{"iss":"\#(issuer)","sub":"\#(subject)"}"#)
    }
    _ = try fixture.ask(login([(held, token("p1"))]))
    let asked = try fixture.ask(login([(key, token("p2"))]))
    expect(asked["Challenge"]?["Parameters"]?["Subject"]?.text, equals: "p2", "\(asked)")
    // Cognito checks the token for the key, whatever the token says of its issuer.
    let shown = issuer == "https://\(key)" ? issuer : key
    expect(asked["Challenge"]?["Parameters"]?["Issuer"]?.text, equals: shown)
    expect(try fixture.ask(login([(key, token("p1"))])).handle == nil)
  }

  /// Providers compare bytes.
  @Test func subjectsThatLookAlikeAreTwo() throws {
    let fixture = try ServiceFixture(Self.withoutBackend)
    _ = try fixture.ask(
      login([(Self.google, Self.token("\u{E9}")), (Self.okta, Self.token("o1"))]))
    expect(try fixture.ask(login([(Self.google, Self.token("e\u{301}"))])).handle != nil)
  }

  /// Cognito has ten places for a user's logins, and one of them is the profile's own.
  @Test func aLoginForWhichThereIsNoPlaceIsRefused() throws {
    let (fixture, _) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    func logins(_ numbers: Range<Int>) -> [(String, String)] {
      numbers.map { ("p\($0).example.com", Self.token("s")) }
    }
    expect(try fixture.ask(login(logins(0..<6))).state, equals: "signedIn")
    let reply = try fixture.ask(login(logins(5..<10)))
    expect(reply.errorCode, equals: "InvalidRequest", "\(reply)")
    expect(reply.errorMessage?.contains("at most 9") == true, "\(reply)")
    expect(try fixture.ask(login(logins(4..<9))).state, equals: "signedIn")
  }
}
