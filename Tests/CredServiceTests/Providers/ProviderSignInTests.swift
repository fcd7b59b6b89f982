import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Sign-ins by browser, in virtual time.
struct ProviderSignInTests {
  // MARK: Browser

  @Test func aBrowserSignsInAndCredentialsFollow() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    let asked = try fixture.ask(FakeProvider.login)
    let challenge = asked["Challenge"]
    expect(asked.state, equals: "signedOut")
    expect(challenge?["Step"]?.text, equals: "browser")
    expect(challenge?["Parameters"]?["RedirectUri"]?.text, equals: "http://127.0.0.1:4711/okta")
    expect(challenge?["ExpiresIn"]?.integer, equals: 600)
    let reply = try fixture.ask(
      asked.response("response", "\"\(provider.browse(asked))\""))
    expect(reply.state, equals: "signedIn", "\(reply)")
    expect(reply["SignedInBy"]?.text, equals: "oidc")
    expect(reply["Username"]?.text, equals: "alice")
    expect(reply["Subject"]?.text, equals: "s-alice")
    expect(try fixture.ask().accessKeyID != nil)
    expect(provider.forms.first?["redirect_uri"], equals: "http://127.0.0.1:4711/okta")
    expect(provider.forms.first?["code_verifier"]?.utf8.count, equals: 43)
    expect(fixture.service.openSignIns, equals: 0)
  }

  /// Zitadel and others give tokens that are for a project too.
  @Test func aSecondAudienceIsTakenWhereItIsTrusted() throws {
    for (keys, isTaken) in [("", false), ("trusted_audiences = project-2 project-1", true)] {
      let (fixture, provider) = try ServiceFixture.ofProvider(
        Configured.provider(backend: keys))
      provider.moreAudiences = ["project-1"]
      provider.moreClaims = #","azp":"client-1""#
      let reply = try fixture.signInAtProvider(provider)
      guard isTaken else {
        expect(reply.errorCode, equals: "TokenRejected")
        let message = reply.errorMessage ?? ""
        expect(message.contains("trusted_audiences") && message.contains("project-1"), "\(reply)")
        continue
      }
      expect(reply.state, equals: "signedIn", "\(reply)")
      fixture.advance(by: .seconds(3601))
      expect(try fixture.ask(#"{"wait":60}"#).accessKeyID != nil)
      // Who asks for the token stays the client.
      provider.moreClaims = #","azp":"project-1""#
      fixture.advance(by: .seconds(3601))
      expect(try fixture.ask(#"{"wait":1}"#).errorCode, equals: "TokenRejected")
    }
  }

  @Test func aGetThatWaitsGoesOnWhenTheBrowserIsDone() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    let waiting = fixture.connect()
    waiting.send(#"{"wait":100}"#)
    _ = try fixture.signInAtProvider(provider)
    expect(try waiting.next().accessKeyID != nil)
  }

  @Test func anotherSignInsResponseLeavesTheChallenge() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    let asked = try fixture.ask(FakeProvider.login)
    let good = provider.browse(asked)
    for stray in ["code=code-1&state=other", "", "\(good)&state=x"] {
      let reply = try fixture.ask(asked.response("response", "\"\(stray)\""))
      expect(reply.errorCode, equals: "InvalidRequest")
      expect(reply["Error"]?["Handle"]?.text, equals: asked["Challenge"]?["Handle"]?.text)
    }
    expect(provider.forms.isEmpty)
    expect(try fixture.ask(asked.response("response", "\"\(good)\"")).state, equals: "signedIn")
  }

  /// Sign-in CSRF: mallory's response does not sign alice in as mallory.
  @Test func anotherUsersResponseSignsNobodyIn() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    let mallory = try fixture.ask(FakeProvider.login, uid: 1001)
    let alice = try fixture.ask(FakeProvider.login)
    let stolen = provider.browse(mallory)
    expect(
      try fixture.ask(alice.response("response", "\"\(stolen)\"")).errorCode,
      equals: "InvalidRequest")
    // A handle of another user is none.
    let foreign = try fixture.ask(mallory.response("response", "\"\(stolen)\""))
    expect(foreign.errorCode, equals: "UnknownChallenge")
    expect(provider.forms.isEmpty)
  }

  @Test func aRefusedCodeEndsTheSignIn() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    let asked = try fixture.ask(FakeProvider.login)
    let response = asked.response("response", "\"\(provider.browse(asked, code: "wrong"))\"")
    let reply = try fixture.ask(response)
    expect(reply.errorCode, equals: "SignInFailed")
    expect(reply["Error"]?["Reason"]?.text, equals: "InvalidGrant")
    expect(try fixture.ask(response).errorCode, equals: "UnknownChallenge")
    expect(fixture.service.openSignIns, equals: 0)
  }

  @Test func aRedirectURIOfSomebodyElseIsRefused() throws {
    let (fixture, _) = try ServiceFixture.ofProvider()
    for uri in ["http://127.0.0.1:4711/other", "https://evil.example/", "http://localhost:1/okta"] {
      let line = #"{"op":"login","browser":{"redirect_uri":"\#(uri)"}}"#
      expect(try fixture.ask(line).errorCode, equals: "InvalidRequest")
    }
    for browser in [
      #"{"scopes":["openid","admin"]}"#, #"{"scopes":["offline_access"]}"#, #"{"prompt":"none"}"#,
      #"{"identity_provider":"Okta"}"#, #"{"state":"mine"}"#, "7",
    ] {
      let reply = try fixture.ask(#"{"op":"login","browser":\#(browser)}"#)
      expect(reply.errorCode, equals: "InvalidRequest", "\(browser): \(reply)")
    }
  }

  @Test func aChallengeEndsAfterTenMinutes() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    let asked = try fixture.ask(FakeProvider.login)
    fixture.advance(by: .seconds(601))
    let reply = try fixture.ask(asked.response("response", "\"\(provider.browse(asked))\""))
    expect(reply.errorCode, equals: "UnknownChallenge")
    expect(fixture.service.openSignIns, equals: 0)
  }

  // MARK: Whose account

  @Test func anotherPersonReplacesASessionOnlyAfterAWord() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    _ = try fixture.signInAtProvider(provider)
    let before = try fixture.ask().accessKeyID
    provider.user = "bob"
    let asked = try fixture.signInAtProvider(provider)
    expect(asked["Challenge"]?["Step"]?.text, equals: "confirm", "\(asked)")
    expect(asked["Challenge"]?["Parameters"]?["Username"]?.text, equals: "bob")
    expect(asked["Challenge"]?["Parameters"]?["Replaces"]?.text, equals: "alice")
    // Nothing has changed so far.
    expect(try fixture.ask().accessKeyID, equals: before)
    expect(try fixture.ask(#"{"op":"identity"}"#)["Username"]?.text, equals: "alice")
    expect(try fixture.ask(asked.response("confirm", "false")).errorCode, equals: "InvalidRequest")
    let reply = try fixture.ask(asked.response("confirm", "true"))
    expect(reply.state, equals: "signedIn")
    expect(reply["Username"]?.text, equals: "bob")
  }

  @Test func aUserSignsInWithTheOwnAccountAlone() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider(
      Configured.provider(backend: "require.email = {user}@example.com"))
    provider.user = "mallory"
    let refused = try fixture.signInAtProvider(provider)
    expect(refused.errorCode, equals: "SignInFailed")
    expect(refused.errorMessage?.contains("email") == true)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
  }

  // MARK: Ways in

  @Test func aClientLearnsHowToSignIn() throws {
    let (fixture, _) = try ServiceFixture.ofProvider()
    let reply = try fixture.ask(#"{"op":"status","profiles":true}"#)
    let signIn = reply["Profiles"]?[0]?["SignIn"]
    let means = ["browser", "paste", "device", "logins"].map { JSONValue.string(Secret($0)) }
    expect(signIn?["Means"], equals: .array(means))
    expect(
      signIn?["RedirectUris"], equals: .array([.string(Secret("http://127.0.0.1/okta"))]))
  }

  @Test func aPasswordIsNoWayIn() throws {
    let (fixture, _) = try ServiceFixture.ofProvider()
    expect(
      try fixture.ask(#"{"op":"login","username":"a","password":"b"}"#).errorCode,
      equals: "InvalidRequest")
    expect(try fixture.ask(#"{"op":"login"}"#).errorCode, equals: "SignInRequired")
    let own = #"{"op":"login","logins":{"login.example.com":"token"}}"#
    expect(try fixture.ask(own).errorCode, equals: "InvalidRequest")
  }
}
